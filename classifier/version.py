"""The version of this package."""

from __future__ import annotations


def version() -> str:
    """Return the installed version; one that says so where the package is not installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("vllm-triage")
    except PackageNotFoundError:
        return "0 (not installed)"
