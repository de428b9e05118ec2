"""Where a model's config.json is: a file, a folder, or the hub's cache on this machine. Nothing is fetched."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from ..classifier.sizing.architecture import ConfigError

REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


def read_config(source: str) -> tuple[dict[str, Any], str]:
    """Return a model's configuration, and the name to start it by.

    Args:
        source: A file, a folder, ``ORG/NAME``, or ``-`` for standard input.

    Raises:
        ConfigError: There is none, or it cannot be read.
    """
    if not source:
        raise ConfigError("which model? A config.json, the folder that holds one, or ORG/NAME in the hub's cache")
    path, name = Path(source), ""
    if source != "-" and path.is_dir():
        path, name = path / "config.json", source
    elif source != "-" and not path.exists() and REPOSITORY.fullmatch(source):
        path, name = _cached(source), source
    try:
        config = json.loads(sys.stdin.read() if source == "-" else path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{path} holds no model config")
    return config, name or str(config.get("_name_or_path") or "") or "MODEL"


def _cached(repository: str) -> Path:
    """Return the newest config.json of a repository in the hub's cache."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    folder = hub / f"models--{repository.replace('/', '--')}" / "snapshots"
    found = sorted(folder.glob("*/config.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise ConfigError(
            f"{repository} is not in the hub's cache ({hub}): fetch its config.json from the model's page and name the file, "
            "or pipe it in (… | vllm-triage plan - --gpu NAME)"
        )
    return found[-1]
