"""Bytes to report: reads a vLLM log and names the root cause. A pure library: no network, no global state but a cache."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .api import Triage, triage
    from .errors import InputError, RuleError, TriageError
    from .in_process.explained import explained
    from .in_process.handler import TriageHandler
    from .question import Question
    from .report.model import Report

    __version__: str

__all__ = [
    "InputError", "Question", "Report", "RuleError", "Triage", "TriageError", "TriageHandler", "__version__", "explained",
    "triage",
]  # fmt: skip

_HOMES = {
    "triage": "api",
    "explained": "in_process.explained",
    "TriageHandler": "in_process.handler",
    "Triage": "api",
    "Question": "question",
    "Report": "report.model",
    "InputError": "errors",
    "TriageError": "errors",
    "RuleError": "errors",
}


def __getattr__(name: str) -> object:
    # Loaded on first use: the command line pays for what it uses.
    if name == "__version__":
        from .version import version

        return version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
