"""How well one way answers labelled logs: counts, figures of each bucket, confusions, misses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ...classifier.errors import InputError
from ...classifier.verdict.conclude import GENERIC
from ..examples.labelled import Case, bucket_id
from .statistics import calibration_error

NO_BUCKET = ("unknown", "no_failure")
"""Answers, and labels, that name no failure."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(slots=True, frozen=True)
class Answer:
    """How one way answers one log."""

    bucket: str
    confidence: float
    first: str = ""
    """Likeliest bucket, also where the way would not say so; "" is ``bucket``."""
    decided_by: str = ""
    evidence: tuple[str, ...] = ()
    lines: frozenset[int] = frozenset()
    """Numbers of the evidence lines."""
    cause: str = ""

    @property
    def names(self) -> bool:
        """Whether it names a failure."""
        return self.bucket not in NO_BUCKET


Way = Callable[[Case], Answer]


@dataclass(slots=True)
class Bucket:
    """Figures of one bucket. A log answered with a bucket that is as fair counts as one of that bucket."""

    right: int = 0
    answered: int = 0
    labelled: int = 0

    @property
    def precision(self) -> float:
        """Share of the answers that are right."""
        return self.right / self.answered if self.answered else 0.0

    @property
    def recall(self) -> float:
        """Share of the logs that are answered so."""
        return self.right / self.labelled if self.labelled else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two."""
        return 2 * self.right / (self.answered + self.labelled) if self.right else 0.0


@dataclass(slots=True)
class Score:
    """How one way answered the cases. Failures are cases whose label names one; all others are quiet."""

    name: str
    pairs: list[tuple[Case, Answer]] = field(default_factory=list)

    @property
    def failures(self) -> list[tuple[Case, Answer]]:
        """Cases whose label names a failure."""
        return [pair for pair in self.pairs if pair[0].bucket not in NO_BUCKET]

    @property
    def quiet(self) -> list[tuple[Case, Answer]]:
        """Healthy logs, and logs of other software."""
        return [pair for pair in self.pairs if pair[0].bucket in NO_BUCKET]

    @property
    def accepted(self) -> int:
        """Failures answered with their label, or with what is as fair."""
        return sum(answer.bucket in case.fair for case, answer in self.failures)

    @property
    def unknown(self) -> int:
        """Failures answered ``unknown`` (where that is not fair)."""
        return sum(answer.bucket == "unknown" and "unknown" not in case.fair for case, answer in self.failures)

    @property
    def silent(self) -> int:
        """Failures answered ``no_failure`` (where that is not fair)."""
        return sum(answer.bucket == "no_failure" and "no_failure" not in case.fair for case, answer in self.failures)

    @property
    def wrong(self) -> int:
        """Failures answered with another failure."""
        return sum(answer.names and answer.bucket not in case.fair for case, answer in self.failures)

    @property
    def firsts(self) -> int:
        """Failures whose likeliest bucket is right, whether it was answered or not."""
        return sum((answer.first or answer.bucket) in case.fair for case, answer in self.failures)

    @property
    def alarms(self) -> int:
        """Healthy logs answered with a failure or ``unknown``, and logs of other software answered with a failure."""
        return sum(not right(case, answer) for case, answer in self.quiet)

    @property
    def right(self) -> int:
        """Cases answered as they should be: accepted failures, and quiet logs without an alarm."""
        return sum(right(case, answer) for case, answer in self.pairs)

    @property
    def named(self) -> list[tuple[float, bool]]:
        """Confidence of each answer that names a failure, and whether it was right."""
        return [(answer.confidence, right(case, answer)) for case, answer in self.pairs if answer.names]

    @property
    def error(self) -> float:
        """Expected calibration error of the answers that name a failure."""
        return calibration_error(self.named)

    def decided_by(self, how: str) -> tuple[int, int]:
        """Return how many answers that name a failure were decided by ``how``: (right, all)."""
        found = [right(case, answer) for case, answer in self.pairs if answer.names and answer.decided_by == how]
        return sum(found), len(found)

    def causes(self) -> tuple[int, int, int]:
        """Return of how many accepted failures, whose label has a cause, the cause was named: (rightly, at all, of)."""
        pairs = [
            (case.cause, answer.cause)
            for case, answer in self.failures
            if answer.bucket == case.bucket and case.cause and answer.cause
        ]
        named = [wanted == told for wanted, told in pairs if not told.endswith(f"/{GENERIC}")]
        return sum(named), len(named), len(pairs)

    def proved(self) -> tuple[int, int]:
        """Return how many accepted failures show a line that the label names: (shown, all that name one)."""
        told = [_shows(case, answer) for case, answer in self.failures if answer.bucket in case.fair and case.evidence]
        return sum(told), len(told)

    def buckets(self) -> dict[str, Bucket]:
        """Return the figures of every bucket that is a label or an answer."""
        found: dict[str, Bucket] = {}
        for case, answer in self.pairs:
            told = right(case, answer)
            truth = answer.bucket if told and answer.bucket in case.fair else bucket_id(case.bucket)
            found.setdefault(truth, Bucket()).labelled += 1
            found.setdefault(answer.bucket, Bucket()).answered += 1
            found[truth].right += answer.bucket == truth
        return dict(sorted(found.items()))

    def confusions(self) -> Counter[tuple[str, str]]:
        """Return how often each label was answered with each bucket, what is fair counted as the label itself."""
        return Counter(
            (bucket_id(case.bucket), bucket_id(case.bucket) if answer.bucket in case.fair else answer.bucket)
            for case, answer in self.pairs
        )

    def misses(self) -> list[tuple[Case, Answer]]:
        """Return what was not answered as it should be, by label."""
        return sorted((pair for pair in self.pairs if not right(*pair)), key=lambda pair: (pair[0].bucket, pair[0].id))


def right(case: Case, answer: Answer) -> bool:
    """Return whether a log is answered as it should be. Other software is answered rightly with either quiet answer."""
    if case.bucket == "unknown" and answer.bucket in NO_BUCKET:
        return True
    return answer.bucket in case.fair


def score(name: str, cases: Iterable[Case], way: Way) -> Score:
    """Let one way answer all cases."""
    return Score(name, [(case, way(case)) for case in cases])


def by_engine(triage: Any) -> Way:
    """Return how the engine answers, as the command does.

    Args:
        triage: A ``classifier.api.Triage``.
    """

    def way(case: Case) -> Answer:
        try:
            found = triage.report(case.source)
        except InputError as error:
            raise InputError(f"{case.where}: {error}") from None
        first = found.alternatives[0].bucket if found.bucket in NO_BUCKET and found.alternatives else ""
        lines = tuple(item.text for item in found.evidence)
        numbers = frozenset(item.line for item in found.evidence)
        return Answer(found.bucket, found.confidence, first, found.decided_by, lines, numbers, found.cause)

    return way


def _shows(case: Case, answer: Answer) -> bool:
    if case.lines & answer.lines:
        return True
    wanted = [" ".join(_COLOUR.sub("", text).split()) for text in case.evidence]
    lines = [text for line in answer.evidence if (text := " ".join(line.split()))]
    return any(want in line or line in want for want in wanted for line in lines)
