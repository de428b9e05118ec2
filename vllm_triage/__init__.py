"""Reads a vLLM log and names the root cause, the lines that prove it, and the fixes.

    >>> from vllm_triage import triage
    >>> report = triage("ValueError: No available memory for the cache blocks.")
    >>> report.cause
    'kv_cache_oom/no_cache_blocks'
    >>> print(report.evidence[0].line, report.fixes[0].change)  # doctest: +ELLIPSIS
    1 --gpu-memory-utilization ...

A log is a ``pathlib.Path``, a text, bytes, an open file or lines; ``atriage`` takes it within an event loop, ``Triage`` rules of your
own, ``explained`` explains an exception where it is raised. A ``Report`` prints as text, ``to_row()`` is a row of a table, ``to_json()``
what ``vllm-triage --format json`` prints. Importing this loads nothing but itself; each public name is loaded when it is first asked for.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .classifier import (
        Alternative,
        ContextLine,
        Corrected,
        Evidence,
        Filtered,
        Fix,
        Input,
        InputError,
        KnownFacts,
        Memory,
        Question,
        Report,
        RuleError,
        Stage,
        Startup,
        Story,
        Triage,
        TriageError,
        TriageHandler,
        Way,
        Withheld,
        atriage,
        explained,
        triage,
    )

    __version__: str

__all__ = [
    "Alternative", "ContextLine", "Corrected", "Evidence", "Filtered", "Fix", "Input", "InputError", "KnownFacts", "Memory", "Question", "Report", "RuleError", "Stage", "Startup", "Story", "Triage", "TriageError", "TriageHandler", "Way", "Withheld", "__version__", "atriage", "explained", "triage",
]  # fmt: skip

if not os.path.isdir(f"{__path__[0]}/classifier"):
    # In a checkout classifier/, corpus/, service/ and training/ stand beside this folder; a wheel has them inside it.
    __path__.append(os.path.dirname(__path__[0]))


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import classifier

    value = globals()[name] = getattr(classifier, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
