"""Statistics of answers: intervals of shares, calibration, and whether two ways differ by more than chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

BINS = 10


def interval(count: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    if not total:
        return 0.0, 1.0
    z, share = 1.959964, count / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, (middle - spread) / (1 + z * z / total)), min(1.0, (middle + spread) / (1 + z * z / total))


def bins(named: Iterable[tuple[float, bool]]) -> list[tuple[float, float, int]]:
    """Return mean confidence, share of right answers and count of each of ten equal bins that is not empty."""
    found: dict[int, list[tuple[float, bool]]] = {}
    for confidence, told in named:
        found.setdefault(min(BINS - 1, int(confidence * BINS)), []).append((confidence, told))
    return [
        (sum(item[0] for item in items) / len(items), sum(item[1] for item in items) / len(items), len(items))
        for _, items in sorted(found.items())
    ]


def calibration_error(named: Sequence[tuple[float, bool]]) -> float:
    """Return the expected calibration error: the gap between confidence and truth, over ten bins by their size."""
    return sum(count * abs(mean - share) for mean, share, count in bins(named)) / max(1, len(named))


def mcnemar(one: int, other: int) -> float:
    """Return the two-sided probability of so uneven a difference by chance (McNemar's exact test).

    Args:
        one: Cases that only the first way answers rightly.
        other: Cases that only the second does.
    """
    total = one + other
    if not total:
        return 1.0
    tail = sum(math.comb(total, count) for count in range(min(one, other) + 1))
    return min(1.0, 2 * tail / float(2**total))
