"""Intervals for shares, and for the difference of two: Wilson's and Newcombe's, which hold for few and for rare cases too.

Newcombe, R. G. (1998): Interval estimation for the difference between independent proportions. Statistics in Medicine 17,
873-890, methods 3 and 10.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

SURE = 0.95
"""How often an interval is to hold the true value."""


def wilson(hits: int, total: int, sure: float = SURE) -> tuple[float, float]:
    """Return the interval of a share; (0, 1) where nothing was counted.

    Args:
        hits: Cases that count.
        total: All cases.
        sure: How often the interval is to hold the true share, in (0, 1).
    """
    if not total:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + sure) / 2)
    share, square = hits / total, z * z
    middle = share + square / (2 * total)
    reach = z * sqrt(share * (1 - share) / total + square / (4 * total * total))
    low, high = (middle - reach) / (1 + square / total), (middle + reach) / (1 + square / total)
    return (max(0.0, low) if hits else 0.0), (min(1.0, high) if hits < total else 1.0)


def newcombe(
    hits_before: int, before: int, hits_after: int, after: int, sure: float = SURE
) -> tuple[float, float, float]:
    """Return how much a share grew, and the interval of that: (difference, low, high).

    Args:
        hits_before: Cases that counted before.
        before: All cases before, at least one.
        hits_after: Cases that counted after.
        after: All cases after, at least one.
        sure: As for ``wilson``.
    """
    first, second = hits_before / before, hits_after / after
    low_1, high_1 = wilson(hits_before, before, sure)
    low_2, high_2 = wilson(hits_after, after, sure)
    grown = second - first
    low = grown - sqrt((second - low_2) ** 2 + (high_1 - first) ** 2)
    high = grown + sqrt((high_2 - second) ** 2 + (first - low_1) ** 2)
    return grown, max(-1.0, low), min(1.0, high)
