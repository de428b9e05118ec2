"""The sums by day are what the counts by hour add up to, whatever was written and removed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import func, select

from tests.service.history.reports import report
from vllm_triage.service.history import History, upgrade
from vllm_triage.service.history.tables import counts, totals


def summed(history: History) -> tuple[int, int]:
    """Return what the sums and the counts come to."""
    with history._database.reading() as connection:
        return (
            int(connection.execute(select(func.coalesce(func.sum(totals.c.count), 0))).scalar_one()),
            int(connection.execute(select(func.coalesce(func.sum(counts.c.count), 0))).scalar_one()),
        )


def by_hour(history: History, **asked: Any) -> dict[str, int]:
    """Return the occurrences of each bucket as the counts by hour tell them."""
    return {row.bucket: sum(count.count for count in row.counts) for row in history.stats(step="hour", **asked)}


def by_day(history: History, **asked: Any) -> dict[str, int]:
    return {row.bucket: sum(count.count for count in row.counts) for row in history.stats(step="day", **asked)}


def test_sums_go_along_with_what_is_written_and_removed(history, clock):
    """Of services and tenants apart."""
    kept = []
    for number in range(12):
        kept.append(history.record(report(), service=f"s{number % 3}", tenant=("", "acme")[number % 2]))
        clock.forward(hours=5)
    spans: tuple[dict[str, Any], ...] = (
        {},
        {"service": "s1"},
        {"tenant": "acme"},
        {"tenant": None},
        {"since": clock() - timedelta(days=1)},
    )
    for asked in spans:
        expected = by_hour(history, **asked)
        # A day begins at its begin.
        if "since" in asked:
            day = asked["since"].replace(hour=0, minute=0)
            expected = by_hour(history, since=day)
        assert expected == by_day(history, **asked)
    assert (12, 12) == summed(history)

    assert history.remove(kept[0].id)
    assert not history.remove(kept[1].id)
    assert history.remove(kept[1].id, tenant="acme")
    assert by_hour(history, tenant=None) == by_day(history, tenant=None)
    left, right = summed(history)
    assert (8, 8) == (left, right)


def test_sums_go_with_what_is_pruned(opened, clock):
    history = opened(retention_days=10, most_incidents=2)
    for number in range(5):
        history.record(report(), service=f"s{number}")
        clock.forward(minutes=1)
    history.prune()
    assert (2, 2) == summed(history)
    clock.forward(days=20)
    history.prune()
    assert (0, 0) == summed(history)


def test_a_part_of_a_day_is_counted_by_the_hour(history, clock):
    for _ in range(4):
        history.record(report())
        clock.forward(hours=1)
    until = clock() - timedelta(hours=2)
    assert by_hour(history, until=until) == by_day(history, until=until)
    assert 2 < sum(by_day(history).values())


def test_a_history_of_before_is_summed_up(history, clock):
    """By the upgrade from 0.1.0, from the counts."""
    for number in range(6):
        history.record(report(), service=f"s{number % 2}")
        clock.forward(hours=20)
    before = by_day(history), by_day(history, service="s0")
    with history._database.writing() as connection:
        upgrade.move(connection, "0001")
    history.upgrade()
    assert before == (by_day(history), by_day(history, service="s0"))
