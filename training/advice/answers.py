"""Advice with its grades: what an answer would show before its record is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...classifier.advice import advise
from ...classifier.advice.track_record import traits_of
from ...classifier.api import Triage
from ...classifier.input.read import read_blocks
from ...classifier.verdict.decide import decide
from .hidden import hidden
from .references import SHOWN, Referenced

NOT_HELD = frozenset({"unknown", "no_failure"})
"""Buckets that hide nothing: no rule decided."""


@dataclass(frozen=True)
class Graded:
    """A fix that would be shown."""

    traits: dict[str, float]
    grade: str
    shown: bool
    """Whether it is."""


@dataclass(frozen=True)
class Answered:
    """A log's answer with the grades of its fixes, the first ones that would be shown."""

    log: Referenced
    cause: str
    decided_by: str
    fixes: tuple[Graded, ...]

    @property
    def shown(self) -> list[str]:
        """Grades of the fixes that are shown, in order."""
        return [fix.grade for fix in self.fixes if fix.shown]


def answered(triage: Triage, log: Referenced) -> Answered:
    """Return the graded answer to a log."""
    session = triage.start()
    for block in read_blocks(log.text.encode("utf-8", "surrogateescape")):
        session.feed(block)
    known = triage._known(triage.question)  # noqa: SLF001 - what the workshop measures is within
    verdict = decide(session.finish(), session.tail(), known)
    fixes = advise(verdict, known, judged=False).fixes
    kept = {fix.change for fix in advise(verdict, known).fixes[:SHOWN]}
    graded = [
        Graded(traits_of(fix, place, verdict), log.grade(f"{fix.title} :: {fix.change}"), fix.change in kept)
        for place, fix in enumerate(fixes)
        if place < SHOWN or fix.change in kept
    ]
    return Answered(log, verdict.cause, verdict.decided_by, tuple(graded))


def in_sight(logs: Iterable[Referenced]) -> Iterator[Answered]:
    """Yield the answers with all rules in sight."""
    triage = Triage()
    for log in logs:
        yield answered(triage, log)


def held_out(plain: Sequence[Answered], least: int = 2) -> Iterator[Answered]:
    """Yield the answers where the cause of the plain answer was never written.

    Args:
        plain: With all rules in sight.
        least: Logs that a cause must have.
    """
    known = frozenset(Triage().corpus.causes())
    by_cause: dict[str, list[Answered]] = defaultdict(list)
    for one in plain:
        if one.cause.partition("/")[0] not in NOT_HELD:
            by_cause[one.cause].append(one)
    for cause, held in by_cause.items():
        if len(held) >= least:
            triage = hidden(cause if cause in known else cause.partition("/")[0])
            for one in held:
                yield answered(triage, one.log)
