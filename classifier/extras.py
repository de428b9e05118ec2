"""How an extra is added to the installation that runs: by where that came from, never by a name that a registry may not have."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, distribution

NAME = "vllm-triage"


def install(extra: str) -> str:
    """Return the command that adds an extra: from the checkout, repository or wheel that was installed (PEP 610)."""
    try:
        told = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        told = {}
    url = str(told.get("url", ""))
    if "dir_info" in told:
        path = re.sub("%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), url.removeprefix("file://"))
        return f"pip install '{path}[{extra}]'"
    if url:
        kind = told.get("vcs_info", {}).get("vcs")
        return f"pip install '{NAME}[{extra}] @ {kind + '+' if kind else ''}{url}'"
    return f"pip install '.[{extra}]' in a checkout of {NAME}"
