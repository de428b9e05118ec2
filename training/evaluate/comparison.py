"""Two ways to answer the same cases, held against each other case by case."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .score import Score, right
from .statistics import mcnemar


@dataclass(slots=True, frozen=True)
class Comparison:
    """Two ways on the same cases."""

    both: int
    first_alone: int
    second_alone: int
    neither: int
    first_wrong: int
    """Answers that name a failure which it is not."""
    second_wrong: int
    chance: float
    """Two-sided probability of so uneven a difference if both were equally good (McNemar's exact test)."""


def compare(first: Score, second: Score) -> Comparison:
    """Compare two ways case by case.

    Raises:
        ValueError: They did not answer the same cases.
    """
    if [case for case, _ in first.pairs] != [case for case, _ in second.pairs]:
        raise ValueError("the two did not answer the same cases")
    told = Counter((right(*one), right(*two)) for one, two in zip(first.pairs, second.pairs, strict=True))
    alone, other = told[True, False], told[False, True]
    return Comparison(
        told[True, True], alone, other, told[False, False], _wrongs(first), _wrongs(second), mcnemar(alone, other)
    )


def _wrongs(item: Score) -> int:
    return sum(answer.names and not right(case, answer) for case, answer in item.pairs)
