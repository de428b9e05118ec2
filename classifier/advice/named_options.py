"""Options that a step names in passing: those that the log's release lacks are taken out of the sentence, or the step is left out."""

from __future__ import annotations

from ...corpus.records import replace
from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

_OPTION = LazyPattern(r"(?<![\w/.=-])--[A-Za-z][\w-]*\w")
_ITEM = LazyPattern(r"(?<![\w/.=-])(?P<name>--[A-Za-z][\w-]*\w)(?: \((?:up to|from|before|until) [^()]*\))?(?=,|$)")
_OF_OTHERS = LazyPattern(r"\b(?:docker|podman|torchrun|accelerate|ray start|pip install|hf download|git clone)\b")
"""Commands with options of their own."""


def as_named(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    """Return a step without the options that the release lacks, or None with the reason where nothing is left of it.

    Args:
        fix: As it holds otherwise; commands, flags and variables are tried elsewhere.
        situation: Of the failed start; where its log does not tell the release all steps hold.
    """
    if fix.kind != "step" or not situation.told or _OF_OTHERS.search(fix.change):
        return fix, ""
    missing = _missing(fix.change, situation.release)
    if not missing:
        return fix, ""
    clauses = [_listed(clause, missing) for clause in fix.change.split("; ")]
    left = [clause for clause in clauses if clause and not _missing(clause, situation.release)]
    if not left:
        return None, f"vLLM {situation.release} has no {missing[0]}"
    return replace(fix, change="; ".join(left)), ""


def _missing(text: str, release: str) -> list[str]:
    from ...corpus import options

    names = dict.fromkeys(_OPTION.findall(text))
    return [name for name in names if options.flag_of(name) is not None and options.exists(name, release) is False]


def _listed(clause: str, missing: list[str]) -> str:
    """Return a clause without the missing options of its list, and the rest of that list without the releases it is told for."""
    head, colon, tail = clause.partition(": ")
    items = [item.strip() for item in tail.split(", ")]
    if not colon or not all(_ITEM.fullmatch(item) for item in items):
        return clause
    names = [_OPTION.search(item)[0] for item in items]  # type: ignore[index]
    kept = [name for name in names if name not in missing]
    return f"{head}: {', '.join(kept)}" if kept else ""
