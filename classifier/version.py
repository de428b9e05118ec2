"""The version of this package."""

# pathlib would cost more than this saves:
# ruff: noqa: PTH100, PTH120, PTH208

from __future__ import annotations

import os

_BEGIN, _END = "vllm_triage-", ".dist-info"


def version() -> str:
    """Return the installed version; one that says so where the package is not installed."""
    # Where the package lies beside its metadata, their folder bears the version; to ask for it would take ten times as long.
    beside = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = [name for name in _names(beside) if name.startswith(_BEGIN) and name.endswith(_END)]
    if len(found) == 1:
        return found[0][len(_BEGIN) : -len(_END)]
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("vllm-triage")
    except PackageNotFoundError:
        return "0 (not installed)"


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
