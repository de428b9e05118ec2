"""Stamps become seconds that can be subtracted, over midnight and over New Year."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.serving.clock import Clock
from vllm_triage.classifier.serving.marks import UNTOLD


@pytest.mark.parametrize(
    ("first", "second", "seconds"),
    [
        ("INFO 05-01 10:00:00 [x.py:1] ", "INFO 05-01 10:00:10 [x.py:1] ", 10),
        ("INFO 05-01 23:59:55 [x.py:1] ", "INFO 05-02 00:00:05 [x.py:1] ", 10),
        ("INFO 02-28 23:59:55 x.py:1] ", "INFO 03-01 00:00:05 x.py:1] ", 10),
        ("INFO 12-31 23:59:55 [x.py:1] ", "INFO 01-01 00:00:05 [x.py:1] ", 10),
        ("23:59:55 ", "00:00:05 ", 10),
        ("2026-05-01T08:00:00.123Z INFO 05-01 10:00:00 [x.py:1] ", "2026-05-01T08:00:10Z INFO 05-01 10:00:10 [x.py:1] ", 10),
        # Two processes may print in another order than they speak.
        ("INFO 05-01 10:00:10 [x.py:1] ", "INFO 05-01 10:00:09 [x.py:1] ", -1),
    ],
)  # fmt: skip
def test_differences_are_those_of_the_clock_on_the_wall(first, second, seconds):
    clock = Clock()

    before = clock.read(first.encode())

    assert seconds == clock.read(second.encode()) - before


@pytest.mark.parametrize("text", ["", "no stamp", "10.0.0.1:40000", "99:99:99", "INFO 13-45 10:00 x"])
def test_what_is_no_stamp_tells_no_time(text):
    assert UNTOLD == Clock().read(text.encode())


def test_a_stamp_without_a_date_is_of_another_clock():
    """The time zones may differ: no difference is better than a wrong one."""
    clock = Clock()
    clock.read(b"INFO 05-01 10:00:00 [x.py:1] ")

    assert UNTOLD == clock.read(b"12:00:10 ")
