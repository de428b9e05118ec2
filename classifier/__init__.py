"""Bytes to report: reads a vLLM log and names the root cause. A pure library: no network, no global state but a cache."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .api import Triage, triage
    from .asynchronous import atriage
    from .errors import InputError, RuleError, TriageError
    from .in_process.explained import explained
    from .in_process.handler import TriageHandler
    from .question import Question
    from .report.known_facts import KnownFacts
    from .report.model import (
        Alternative,
        ContextLine,
        Corrected,
        Evidence,
        Filtered,
        Fix,
        Input,
        Memory,
        Report,
        Stage,
        Startup,
        Story,
        Way,
        Withheld,
    )

    __version__: str

__all__ = [
    "Alternative", "ContextLine", "Corrected", "Evidence", "Filtered", "Fix", "Input", "InputError", "KnownFacts", "Memory", "Question", "Report", "RuleError", "Stage", "Startup", "Story", "Triage", "TriageError", "TriageHandler", "Way", "Withheld", "__version__", "atriage", "explained", "triage",
]  # fmt: skip

_HOMES = {
    "triage": "api", "Triage": "api", "atriage": "asynchronous", "explained": "in_process.explained",
    "TriageHandler": "in_process.handler", "Question": "question", "InputError": "errors", "TriageError": "errors",
    "RuleError": "errors", "KnownFacts": "report.known_facts",
}  # fmt: skip
"""Modules of the public names; the others are parts of a report."""


def __getattr__(name: str) -> object:
    # Loaded on first use: the command line pays for what it uses.
    if name == "__version__":
        from .version import version

        return version()
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES.get(name, 'report.model')}", __name__), name)


def __dir__() -> list[str]:
    return __all__
