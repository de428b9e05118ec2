"""Published configs by name, read from ``configs/``."""

import json
from pathlib import Path

from vllm_triage.classifier.sizing.architecture import Architecture

FOLDER = Path(__file__).parent / "configs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def config(name):
    """Return a published config.json."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def model(name, **changes):
    """Return the architecture of a published config, some keys changed."""
    return Architecture(config(name) | changes)
