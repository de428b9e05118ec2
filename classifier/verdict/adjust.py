"""Adjusts the verdict to the question: which failures count, and the least confidence.

The verdict is made with all rules before; a question never makes another cause of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...corpus.records import replace
from .decide import decide
from .types import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incidents.types import Incident
    from ..lines.types import Line
    from ..question import Question
    from .known import Known

LOOKED_BACK = 50
"""Starts of one server that are looked at for a failure that counts; a crash loop has thousands that are alike."""


def adjust(verdict: Verdict, incidents: list[Incident], tail: list[Line], known: Known, question: Question) -> Verdict:
    """Return the verdict on a log as a question wants it.

    Args:
        verdict: On all of the log.
        incidents: Of all servers, those of the first server first.
        tail: The last lines of the first server.
        known: What decisions draw on.
        question: What counts.
    """
    if verdict.failed and (filtered := left_out(verdict, question)):
        other = _other_failure(incidents, tail, known, question)
        if other is None:
            verdict = replace(verdict, filtered=filtered)
        else:
            note = f"{_told(verdict)} is left out by {filtered[0]}; this is another failure in the log."
            verdict = replace(other, starts=verdict.starts, notes=(*other.notes, note))
    if verdict.failed and not verdict.filtered and verdict.confidence < question.min_confidence:
        verdict = _withheld(verdict, question.min_confidence, known)
        verdict = replace(verdict, filtered=left_out(verdict, question))
    return verdict


def left_out(verdict: Verdict, question: Question) -> tuple[str, tuple[str, ...]] | None:
    """Return by which filter a question leaves a failure out, and the filter's ids that say so; None where it counts."""
    names = (verdict.bucket, verdict.cause, verdict.rule)
    if ignored := tuple(name for name in question.ignore if name in names):
        return "ignore", ignored
    if question.only and not any(name in question.only for name in names):
        return "only", tuple(question.only)
    return None


def _other_failure(incidents: list[Incident], tail: list[Line], known: Known, question: Question) -> Verdict | None:
    """Return the surest failure that counts, of all servers, each walked back to its last start that did not fail."""
    servers: dict[str, list[Incident]] = {}
    for incident in incidents:
        servers.setdefault(incident.server, []).append(incident)
    found = [
        verdict
        for own in servers.values()
        if (verdict := next(_counting(own, own[-1].tail or tail, known, question), None)) is not None
    ]
    return max(found, key=lambda verdict: (verdict.decided_by == "rule", verdict.confidence), default=None)


def _counting(own: list[Incident], tail: list[Line], known: Known, question: Question) -> Iterator[Verdict]:
    """Yield the failures of one server that count, the latest first."""
    for end in range(len(own), max(0, len(own) - LOOKED_BACK), -1):
        verdict = decide(own[:end], tail if end == len(own) else [], known)
        if not verdict.failed:
            return
        if not left_out(verdict, question):
            yield verdict


def _told(verdict: Verdict) -> str:
    return verdict.cause + (f" on line {verdict.evidence[0].line}" if verdict.evidence else "")


def _withheld(verdict: Verdict, least: float, known: Known) -> Verdict:
    """Return 'unknown' for a verdict that is less sure than asked for, which is kept as the nearest candidate."""
    bucket, cause = known.corpus.concluded_from("below_threshold")
    note = f"The best guess, {verdict.cause}, is below the confidence asked for ({least:g})."
    return replace(
        verdict,
        bucket=bucket,
        cause=f"{bucket}/{cause}",
        decided_by="none",
        hit=None,
        title="No answer with the confidence asked for",
        summary="",
        confirm="",
        refute="",
        alternatives=((verdict.bucket, verdict.confidence), *verdict.alternatives),
        notes=(*verdict.notes, note),
    )
