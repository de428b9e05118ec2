"""What happens to a log on its way to us moves no verdict, in sixteen ways; ``benchmarks/damage.py`` asks it of all logs."""

from __future__ import annotations

import pytest

from tests.damage import FORMS
from tests.damaged import least, sample, share

WAYS = list(dict.fromkeys(form.way for form in FORMS))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_the_verdict_stays(way: str) -> None:
    """In 97 of 100 logs; in 94 where lines are lost that did not prove it."""
    counts = sample()[way]

    assert sum(item.asked for item in counts) >= 40
    assert share(counts) >= least(counts), [(item.form.name, item.moved) for item in counts if item.moved]


@pytest.mark.slow
def test_no_damage_makes_a_failure_healthy() -> None:
    """Whatever was lost: nothing unexplained is 'no failure'."""
    moved = [(item.form.name, *miss) for counts in sample().values() for item in counts for miss in item.moved]

    assert [] == [miss for miss in moved if miss[3].startswith("no_failure") and not miss[2].startswith("no_failure")]
