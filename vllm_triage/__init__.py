"""Reads a vLLM log and names the root cause: ``from vllm_triage import triage``.

Importing this loads nothing but itself; each public name is loaded when it is first asked for.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .classifier import (
        InputError,
        Question,
        Report,
        RuleError,
        Triage,
        TriageError,
        TriageHandler,
        explained,
        triage,
    )

    __version__: str

__all__ = [
    "InputError", "Question", "Report", "RuleError", "Triage", "TriageError", "TriageHandler", "__version__", "explained",
    "triage",
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
