"""What is different between two answers: whether a change cured, and what else it changed."""

from __future__ import annotations

from collections.abc import Iterator

from ..classifier.incidents.attempts import changed, spelled
from ..classifier.report.model import Node, Report
from ..corpus.records import record
from ..corpus.stages import STAGES

WIDTH = 160
"""Characters of a value that are told."""


@record(frozen=True, slots=True, kw_only=True)
class Side(Node):
    """One of the two answers, in short."""

    bucket: str
    cause: str
    confidence: float
    title: str
    reached: str
    """the stage that the start reached"""
    line: int = 0
    """of the log, that proves it; 0 where none does"""
    text: str = ""
    """of that line"""


@record(frozen=True, slots=True, kw_only=True)
class Change(Node):
    """Something that differs."""

    name: str
    """``--option`` of the start command, or the name of a fact"""
    before: str = ""
    """empty where the log does not tell"""
    after: str = ""


OTHERWISE = " The second was set otherwise: "
"""What stands in an outcome before values of the logs."""


@record(frozen=True, slots=True, kw_only=True)
class Comparison(Node):
    """Two answers side by side."""

    told: str
    """the outcome in a sentence, and what was set otherwise as between two attempts of one log"""
    same_cause: bool
    before: Side
    after: Side
    changes: tuple[Change, ...] = ()
    """arguments first, then facts and figures"""


def compare(before: Report, after: Report) -> Comparison:
    """Return what is different between two answers, the earlier one first."""
    difference = changed(before.facts, after.facts)
    return Comparison(
        told=_outcome(before, after) + (f"{OTHERWISE}{difference}." if difference else ""),
        same_cause=before.cause == after.cause,
        before=_side(before),
        after=_side(after),
        changes=tuple(_changes(before, after)),
    )


def _outcome(before: Report, after: Report) -> str:
    if not before.failed and not after.failed:
        return "Neither log shows a failure."
    if not after.failed:
        return f"The failure {before.cause} is gone: the second log shows none."
    if not before.failed:
        return f"The second log shows a failure that the first has not: {after.cause}."
    if before.cause == after.cause:
        return f"The same failure in both: {after.cause}."
    further = (
        STAGES.index(after.startup.reached) - STAGES.index(before.startup.reached) if _staged(before, after) else 0
    )
    how = "got further and " if further > 0 else "got less far and " if further < 0 else ""
    return f"Another failure: {before.cause} first; the second {how}failed with {after.cause}."


def _staged(*reports: Report) -> bool:
    return all(report.startup.reached in STAGES for report in reports)


def _side(report: Report) -> Side:
    proof = next((item for item in report.evidence if not item.mark), None)
    return Side(
        bucket=report.bucket,
        cause=report.cause,
        confidence=report.confidence,
        title=report.title,
        reached=report.startup.reached,
        line=proof.line if proof else 0,
        text=proof.text if proof else "",
    )


def _changes(before: Report, after: Report) -> Iterator[Change]:
    given = list(_differences(_arguments(before), _arguments(after), "--"))
    yield from given
    # A fact that an option set differs as the option does.
    names = {change.name[2:].replace("-", "_") for change in given}
    yield from (change for change in _differences(_figures(before), _figures(after)) if change.name not in names)


def _figures(report: Report) -> dict[str, object]:
    return {name: value for name, value in report.facts.items() if name != "arguments"}


def _arguments(report: Report) -> dict[str, object]:
    found = report.facts.get("arguments")
    return {str(name).replace("_", "-"): value for name, value in found.items()} if isinstance(found, dict) else {}


def _differences(before: dict[str, object], after: dict[str, object], prefix: str = "") -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name), after.get(name)
        if one != other:
            yield Change(name=f"{prefix}{name}", before=_told(one), after=_told(other))


def _told(value: object) -> str:
    text = "" if value is None else spelled(value)
    return text if len(text) <= WIDTH else text[:WIDTH] + "…"
