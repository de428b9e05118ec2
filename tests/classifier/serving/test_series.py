"""Long rows of readings are kept in little memory, and in order."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.serving.series import FIRST, LAST, MIDDLE, Series


def series(count: int) -> Series[int]:
    found: Series[int] = Series()
    for number in range(count):
        found.add(number)
    return found


@given(st.integers(0, 5000))
def test_the_beginning_and_the_end_are_whole_and_the_rest_is_spread_evenly(count):
    kept = list(series(count))

    assert count == series(count).count
    assert kept == sorted(set(kept))
    assert len(kept) <= FIRST + MIDDLE + LAST
    assert list(range(min(count, FIRST))) == kept[:FIRST]
    assert (
        list(range(max(0, count - LAST), count)) == kept[-LAST:] if count > FIRST + LAST else kept == list(range(count))
    )
    middle = kept[FIRST:-LAST]
    steps = {later - earlier for earlier, later in pairwise(middle)}
    assert len(steps) <= 1


def test_a_copy_goes_its_own_way():
    whole = series(10)
    other = deepcopy(whole)

    other.add(99)

    assert ([*range(10)], [*range(10), 99], 11) == (list(whole), list(other), other.count)
