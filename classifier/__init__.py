"""Bytes to report: reads a vLLM log and names the root cause. A pure library: no network, no global state but a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Triage
    from .errors import InputError, RuleError, TriageError
    from .report.model import Report, triage

__all__ = ["InputError", "Report", "RuleError", "Triage", "TriageError", "triage"]

_HOMES = {
    "triage": "report.model",
    "Report": "report.model",
    "Triage": "api",
    "InputError": "errors",
    "TriageError": "errors",
    "RuleError": "errors",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: the command line never pays for pydantic.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
