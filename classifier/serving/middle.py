"""Median and quartile: what is normal in a log, however far its outliers lie."""

from __future__ import annotations

from collections.abc import Iterable


def median(values: Iterable[float]) -> float:
    """Return the middle one of ``values``, or the mean of the middle two; 0 where there are none.

    (The module ``statistics`` takes longer to import than a whole answer should.)
    """
    ordered = sorted(values)
    middle = len(ordered) // 2
    if not ordered:
        return 0.0
    return float(ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def upper_quartile(values: Iterable[float]) -> float:
    """Return the value that a quarter of ``values`` are above; 0 where there are none."""
    ordered = sorted(values)
    return float(ordered[len(ordered) * 3 // 4]) if ordered else 0.0
