"""A search ends, whatever the text; and what it finds does not depend on what else the machine does."""

from __future__ import annotations

from typing import Any

import pytest
import regex

from vllm_triage.classifier.matching import bounded
from vllm_triage.classifier.matching.bounded import OWN, PATIENCE, TIMEOUT, TooSlowError, search


class Busy:
    """An expression that needs ``need`` seconds, in a process where other threads work ``others`` times as much.

    It counts time as ``regex`` does, all threads' together, and is the clock of its own thread.
    """

    def __init__(self, need: float, others: float = 0.0) -> None:
        self.need, self.others = need, others
        self.clock = 100.0
        self.limits: list[tuple[float, bool | None]] = []

    def search(self, text: str, timeout: float, concurrent: bool | None = None) -> Any:
        """Return a match after the seconds that are needed, or raise TimeoutError as ``regex`` does."""
        self.limits.append((timeout, concurrent))
        own = timeout / (1 + self.others)
        self.clock += min(own, self.need)
        if own < self.need:
            raise TimeoutError
        return regex.search("fault", text)

    def time(self) -> float:
        """Return the seconds that the thread has worked."""
        return self.clock


@pytest.fixture
def busy(monkeypatch):
    """Make an expression whose clock is the thread's."""

    def make(need: float, others: float = 0.0) -> Any:
        made = Busy(need, others)
        monkeypatch.setattr(bounded, "thread_time", made.time)
        return made

    return make


def test_a_quick_search_is_made_once(busy):
    """No clock is asked."""
    expression = busy(0.001)

    assert search(expression, "a fault")
    assert [(TIMEOUT, None)] == expression.limits


@pytest.mark.parametrize("others", [1, 3, 6])
def test_what_others_work_is_not_counted(busy, others):
    """Time runs out while other threads work; the search gets its own time all the same, without giving its lock away."""
    expression = busy(0.3, others)

    assert search(expression, "a fault")
    assert {False} == {concurrent for _, concurrent in expression.limits[1:]}


def test_a_search_that_takes_too_long_by_itself_is_given_up(busy):
    """After one more try, not after all of them."""
    expression = busy(60.0)

    with pytest.raises(TooSlowError):
        search(expression, "a fault")
    assert [TIMEOUT, PATIENCE[0]] == [limit for limit, _ in expression.limits]


def test_a_search_is_given_up_at_last_however_busy_the_machine_is(busy):
    """Hundreds of threads: bounded all the same."""
    expression = busy(60.0, others=500)

    with pytest.raises(TooSlowError):
        search(expression, "a fault")
    assert [TIMEOUT, *PATIENCE] == [limit for limit, _ in expression.limits]


def test_patience_is_enough_for_what_the_thread_may_work():
    """The first retry is long enough to tell; the later ones are for others' work."""
    assert TIMEOUT < OWN < PATIENCE[0]
    assert sorted(PATIENCE) == list(PATIENCE)


def test_a_real_expression_is_stopped(monkeypatch):
    """Backtracking without end, on half a kilobyte."""
    monkeypatch.setattr(bounded, "TIMEOUT", 0.01)
    monkeypatch.setattr(bounded, "PATIENCE", (0.02, 0.04, 0.08))
    monkeypatch.setattr(bounded, "OWN", 0.015)

    with pytest.raises(TooSlowError):
        search(regex.compile(r"(?:a|aa|aaa)+(?:a|aa)+(?:aa|aaa)+b"), "a" * 500)
