"""Intervals against published figures, and against what they promise."""

from __future__ import annotations

import random

import pytest

from vllm_triage.service.fleet.intervals import newcombe, wilson


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    # Newcombe (1998), Interval estimation for the single proportion, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_the_published_one(hits: int, total: int, low: float, high: float) -> None:
    """Four cases of the paper."""
    assert wilson(hits, total) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("first", "second", "grown", "low", "high"),
    # Newcombe (1998), Interval estimation for the difference, table II, method 10.
    [
        ((56, 70), (48, 80), 0.2000, 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.6000, 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.5714, 0.0582, 0.8062),
        ((5, 56), (0, 29), 0.0893, -0.0381, 0.1926),
        ((0, 10), (0, 20), 0.0, -0.1611, 0.2775),
        ((10, 10), (0, 10), 1.0, 0.6075, 1.0),
    ],
)
def test_newcombe_is_the_published_one(
    first: tuple[int, int], second: tuple[int, int], grown: float, low: float, high: float
) -> None:
    """The paper subtracts the second from the first."""
    assert newcombe(*second, *first) == pytest.approx((grown, low, high), abs=5e-5)


def test_nothing_counted_is_nothing_known() -> None:
    """No log tells no share."""
    assert wilson(0, 0) == (0.0, 1.0)


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Where nothing changed, fewer than one upgrade in ten is called a change."""
    seed = random.Random(7)
    missed = 0
    for _ in range(400):
        before, after = (sum(seed.random() < 0.1 for _ in range(60)) for _ in range(2))
        _, low, high = newcombe(before, 60, after, 60)
        missed += low > 0 or high < 0
    assert missed / 400 < 0.1
