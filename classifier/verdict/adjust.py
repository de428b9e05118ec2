"""Adjusts the verdict to the question: which failures count, the least confidence, the start command that the user gave.

The verdict is made with all rules before; a question never makes another cause of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from .decide import decide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..diagnosis import Diagnosis
    from ..incidents.types import Incident
    from ..lines.types import Line
    from ..question import Question
    from .answer import Known

LOOKED_BACK = 50
"""Starts of one server that are looked at for a failure that counts; a crash loop has thousands that are alike."""


def decide_as_asked(incidents: list[Incident], tail: list[Line], known: Known, question: Question) -> Diagnosis:
    """Return the diagnosis of a log from its incidents, as a question wants it.

    Args:
        incidents: Of all servers, those of the first server first.
        tail: The last lines of the first server.
        known: What decisions draw on.
        question: What counts, and what is known besides.
    """
    note = ""
    if question.command:
        from ..command.given import know_command

        note = know_command(incidents, question.command)
    found = decide(incidents, tail, known)
    if found.failed and (filtered := left_out(found, question)):
        other = _other_failure(incidents, tail, known, question)
        if other is None:
            found.filtered = filtered
        else:
            other.incidents = found.incidents
            other.notes.append(f"{_told(found)} is left out by {filtered[0]}; this is another failure in the log.")
            found = other
    if found.failed and not found.filtered and found.confidence < question.min_confidence:
        _withhold(found, question.min_confidence, known)
        found.filtered = left_out(found, question)
    if note:
        found.notes.append(note)
    return found


def left_out(found: Diagnosis, question: Question) -> tuple[str, tuple[str, ...]] | None:
    """Return by which filter a question leaves a failure out, and the filter's ids that say so; None where it counts."""
    names = (found.bucket, found.cause, found.rule)
    if ignored := tuple(name for name in question.ignore if name in names):
        return "ignore", ignored
    if question.only and not any(name in question.only for name in names):
        return "only", tuple(question.only)
    return None


def _other_failure(incidents: list[Incident], tail: list[Line], known: Known, question: Question) -> Diagnosis | None:
    """Return the surest failure that counts, of all servers, each walked back to its last start that did not fail."""
    servers: dict[str, list[Incident]] = {}
    for incident in incidents:
        servers.setdefault(incident.server, []).append(incident)
    found = [
        answer
        for own in servers.values()
        if (answer := next(_counting(own, own[-1].tail or tail, known, question), None)) is not None
    ]
    return max(found, key=lambda answer: (answer.decided_by == "rule", answer.confidence), default=None)


def _counting(own: list[Incident], tail: list[Line], known: Known, question: Question) -> Iterator[Diagnosis]:
    """Yield the failures of one server that count, the latest first."""
    for end in range(len(own), max(0, len(own) - LOOKED_BACK), -1):
        answer = decide(own[:end], tail if end == len(own) else [], known)
        if not answer.failed:
            return
        if not left_out(answer, question):
            yield answer


def _told(found: Diagnosis) -> str:
    return found.cause + (f" on line {found.evidence[0].line}" if found.evidence else "")


def _withhold(found: Diagnosis, least: float, known: Known) -> None:
    """Turn an answer that is less sure than asked for into 'unknown', the guess kept as the nearest candidate."""
    found.alternatives.insert(0, (found.bucket, found.confidence))
    found.notes.append(f"The best guess, {found.cause}, is below the confidence asked for ({least:g}).")
    bucket, cause = known.corpus.concluded_from("below_threshold")
    found.bucket, found.cause, found.decided_by, found.rule = bucket, f"{bucket}/{cause}", "none", ""
    found.title, found.fixes, found.corrected_command = "No answer with the confidence asked for", [], ""
    found.withheld = []
    found.summary = found.confirm = found.refute = ""
