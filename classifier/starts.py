"""Every server start of a log with an answer of its own, one after the other: for who counts starts, not logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from ..corpus.records import Record, record
from .input.read import read_blocks
from .log_source import checked
from .masking.mask import mask_lines
from .report.model import Evidence, Report
from .report.shown import cut, one_line

if TYPE_CHECKING:
    from .incidents.session import Session
    from .incidents.types import Incident
    from .lines.types import Line
    from .log_source import Source
    from .question import Question

ENDING = 8
"""Last lines of a start that are kept."""


class Answers(Protocol):
    """Reads logs, and answers for single starts of them (``api.Triage``)."""

    def start(self, question: Question | None = None) -> Session:
        """Return an empty analysis."""

    def answer(
        self,
        session: Session,
        incidents: list[Incident],
        tail: list[Line],
        question: Question | None = None,
        part: bool = False,
    ) -> Report:
        """Return the answer for some starts."""


@record(frozen=True, slots=True)
class Start(Record):
    """One server start and what became of it."""

    report: Report
    """The answer, as if its lines were all of the log; lines are numbered as in the log."""
    number: int
    """1-based, in the order in which the starts were over."""
    first: int
    """Its first line."""
    last: int
    server: str
    """The container that printed it, where a log shows several servers; else empty."""
    begun: str
    """The first time stamp that was read of it, as printed; empty where none was."""
    ended: str
    """The last one."""
    ending: tuple[Evidence, ...]
    """Its last lines, masked; none where another start follows."""
    followed: bool
    """Whether another start of the same server follows in the log."""


def answer_starts(triage: Answers, source: Source, question: Question | None = None) -> Iterator[Start]:
    """Yield every server start of a log with its answer, in bounded memory however many there are.

    Args:
        triage: The rules.
        source: As for ``Triage.report``.
        question: What is asked of each.

    Raises:
        InputError: The source cannot be read, or is no log.
    """
    session, number = triage.start(question), 0
    for block in read_blocks(checked(source)):
        session.feed(block)
        for incident in session.take_over():
            number += 1
            yield _start(triage, session, incident, [], question, number)
    incidents = session.finish()
    ends = _last_ones(incidents)
    session.check()
    for incident in incidents:
        number += 1
        tail = incident.tail or session.tail() if id(incident) in ends else []
        yield _start(triage, session, incident, tail, question, number)


def _start(
    triage: Answers, session: Session, incident: Incident, tail: list[Line], question: Question | None, number: int
) -> Start:
    begun, ended = _times(incident, tail)
    first, last = incident.first, incident.last
    report = triage.answer(session, [incident], tail, question, part=True)
    if session.numbers is not None:
        first, last = session.numbers.original(first), session.numbers.original(last)
    lines = [line for line in tail if incident.first <= line.number <= incident.last]
    # All of them: what is a secret may show above what is kept.
    texts = mask_lines(one_line(line.raw or line.text) for line in lines)[-ENDING:]
    lines = lines[-ENDING:]
    numbers = [session.numbers.original(line.number) if session.numbers else line.number for line in lines]
    ending = tuple(
        Evidence(line=at, text=cut(text), process=line.process)
        for at, text, line in zip(numbers, texts, lines, strict=True)
    )
    return Start(report, number, first, last, incident.server, begun, ended, ending, not tail)


def _last_ones(incidents: Iterable[Incident]) -> set[int]:
    """Return the ids of each server's last start."""
    last = {incident.server: incident for incident in incidents}
    return {id(incident) for incident in last.values()}


def _times(incident: Incident, tail: list[Line]) -> tuple[str, str]:
    """Return the first and the last time stamp among the lines that were kept of a start."""
    kept = chain(incident.sites, incident.errors, (hit.line for hit in incident.hits), tail)
    stamps = [(line.number, line.time) for line in kept if line.time]
    stamps += [(span.line, span.time) for span in incident.stages if span.time]
    # The tail is the log's, and the line that began the next start was looked at in this one.
    stamps = [(number, time) for number, time in stamps if incident.first <= number <= incident.last]
    if not stamps:
        return "", ""
    return min(stamps)[1], max(stamps)[1]
