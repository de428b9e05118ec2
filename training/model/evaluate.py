"""How well the model answers labelled logs with all rules silent, beside simpler ways to do the same."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...classifier.text_model import TextModel
from .dataset import read_units
from .fit import ABSTAINS

Guess = tuple[str, float]
BINS = 10


@dataclass(slots=True)
class Score:
    """Figures of one way to answer, on one file."""

    name: str
    failures: int = 0
    right: int = 0
    """Failures whose first bucket is the label, or as fair."""
    answered: int = 0
    answered_right: int = 0
    healthy: int = 0
    alarms: int = 0
    """Healthy logs that it would answer with a failure."""
    misses: list[str] = field(default_factory=list)
    bins: dict[int, list[float]] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """Share of failures answered rightly, whatever the probability."""
        return self.right / max(1, self.failures)

    @property
    def coverage(self) -> float:
        """Share of failures answered at the threshold."""
        return self.answered / max(1, self.failures)

    @property
    def precision(self) -> float:
        """Share of right answers at the threshold."""
        return self.answered_right / max(1, self.answered)

    @property
    def error(self) -> float:
        """Expected calibration error over the failures."""
        total = sum(len(values) // 2 for values in self.bins.values())
        gaps = (abs(sum(values[::2]) - sum(values[1::2])) for values in self.bins.values())
        return sum(gaps) / max(1, total)


def read_cases(path: Path) -> list[dict[str, Any]]:
    """Read labelled logs: JSON lines with ``text``, ``bucket`` and, where more is fair, ``also``."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def score(name: str, cases: Iterable[dict[str, Any]], guess: Callable[[str], Guess], threshold: float) -> Score:
    """Score one way to answer."""
    result = Score(name)
    for case in cases:
        bucket, chance = guess(case["text"])
        answered = chance >= threshold and bucket not in ABSTAINS
        if case["bucket"] in ABSTAINS:
            result.healthy += 1
            result.alarms += answered and bucket not in case.get("also", [])
            continue
        right = bucket in (case["bucket"], *case.get("also", []))
        result.failures += 1
        result.right += right
        result.answered += answered
        result.answered_right += answered and right
        result.bins.setdefault(min(BINS - 1, int(chance * BINS)), []).extend((chance, float(right)))
        if not right:
            result.misses.append(f"{case['bucket']} -> {bucket} {chance:.2f} {case['id']}")
    return result


def by_model(model: TextModel) -> Callable[[str], Guess]:
    """Return how the exported model answers."""

    def guess(text: str) -> Guess:
        parts = read_units(text)
        return model.together(parts)[0] if parts else ("unknown", 0.0)

    return guess


def interval(right: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    if not total:
        return 0.0, 1.0
    z, share = 1.96, right / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (middle - spread) / (1 + z * z / total), (middle + spread) / (1 + z * z / total)


def report(name: str, scores: list[Score]) -> list[str]:
    """Return the figures as the lines of a Markdown table."""
    lines = [f"| {name} | accepted | 95 % | answered | precision | alarms | ECE |", "|---|---|---|---|---|---|---|"]
    for item in scores:
        low, high = interval(item.right, item.failures)
        lines.append(
            f"| {item.name} | {item.accuracy:.3f} ({item.right}/{item.failures}) | {low:.2f}–{high:.2f} "
            f"| {item.coverage:.3f} "
            f"| {item.precision:.3f} | {item.alarms}/{item.healthy} | {item.error:.3f} |"
        )
    return lines


def confusions(item: Score, most: int = 12) -> list[str]:
    """Return the pairs of buckets that are confused most."""
    pairs = Counter(" ".join(miss.split(" ")[:3]) for miss in item.misses)
    return [f"{count} × {pair}" for pair, count in pairs.most_common(most)]
