"""How an extra is added to the installation that runs: by where that came from, never by a name that a registry may not have."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

NAME = "vllm-triage"


def install(extra: str) -> str:
    """Return the command that adds an extra: by who installed this, from the checkout, repository or wheel that it is of (PEP 610)."""
    marks = {"pipx_metadata.json": "pipx install --force", "uv-receipt.toml": "uv tool install --force"}
    by = next((command for mark, command in marks.items() if (Path(sys.prefix) / mark).exists()), "pip install")
    try:
        told = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        told = {}
    url = str(told.get("url", ""))
    if "dir_info" in told:
        path = re.sub("%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), url.removeprefix("file://"))
        return f"{by} '{path}[{extra}]'"
    if url:
        kind = told.get("vcs_info", {}).get("vcs")
        return f"{by} '{NAME}[{extra}] @ {kind + '+' if kind else ''}{url}'"
    return f"pip install '.[{extra}]' in a checkout of {NAME}"
