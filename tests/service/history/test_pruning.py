"""What goes when it is too old or too much."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.service.history.reports import report
from vllm_triage.service.history import Filter
from vllm_triage.service.history import store as store_module
from vllm_triage.service.history.tables import claims, counts, occurrences


def services(history) -> set[str]:
    return {incident.service for incident in history.incidents(Filter(limit=500)).items}


def rows(history, table) -> int:
    with history._database.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def keys(history) -> set[str]:
    with history._database.reading() as connection:
        return set(connection.execute(select(claims.c.key)).scalars())


def test_incidents_that_were_not_seen_for_long_go(opened, clock):
    """With all that belongs to them; what was seen since stays, however old it is."""
    history = opened(retention_days=30)
    for service in ("gone", "back"):
        history.record(report(), service=service)
    clock.forward(days=29)
    history.record(report(), service="back")
    clock.forward(days=1, seconds=1)
    history.record(report(), service="new")

    assert 1 == history.prune()
    assert {"back", "new"} == services(history)
    assert 3 == rows(history, occurrences)
    # The count of thirty days ago went with its hour.
    assert 2 == rows(history, counts) == sum(count.count for told in history.stats() for count in told.counts)
    assert 0 == history.prune()


def test_without_limits_all_stays(opened, clock):
    history = opened(retention_days=0, most_incidents=0)
    history.record(report())
    clock.forward(days=20_000)

    assert (0, {""}) == (history.prune(), services(history))


def test_the_ones_seen_longest_ago_go_when_there_are_too_many(opened, clock, monkeypatch):
    """In steps, none of which holds others up for long."""
    monkeypatch.setattr("vllm_triage.service.history.pruning.STEP", 3)
    history = opened(most_incidents=4)
    for number in range(15):
        history.record(report(), service=str(number))
        clock.forward(seconds=1)
    history.record(report(), service="2")

    assert 11 == history.prune()
    assert {"2", "12", "13", "14"} == services(history)


def test_claims_that_are_over_go(history, clock):
    history.once("short", 10)
    history.once("long", 1000)
    clock.forward(seconds=10)
    history.prune()

    assert {"long", "history:clock"} == keys(history)
    assert (False, 2) == history.once("long", 1000)


def test_recording_prunes_by_itself(opened, clock, monkeypatch):
    """When many are new: beside the requests, in a thread that is gone when the history is closed."""
    monkeypatch.setattr(store_module, "GROWN", 10)
    history = opened(most_incidents=5)
    for number in range(10):
        history.record(report(), service=str(number))
        clock.forward(seconds=1)
    history._pruner.join(30)

    assert set("56789") == services(history)


def test_recording_prunes_once_an_hour(opened, clock):
    """Of all processes one."""
    one, other = opened(retention_days=1), opened(retention_days=1)
    one.record(report(), service="old")
    clock.forward(days=2)
    for history in (one, other):
        history._look_at = 0.0
        history.record(report(), service="new")
        history._pruner.join(30)

    assert {"new"} == services(one)
    assert (False, 3) == other.once("history:prune", 1)


def test_a_clock_that_jumps_ahead_costs_little(opened, clock, caplog):
    """Nothing goes that is younger by the clock as it was, however often somebody looks meanwhile; it is said, and counted."""
    removed: list[int] = []
    history = opened(retention_days=90, removed=removed.append)
    for day in range(80):
        history.record(report(), service=str(day))
        clock.forward(days=1)
    right = clock.now
    clock.forward(days=100)
    with caplog.at_level("INFO", "vllm_triage.history"):
        for _ in range(3):
            history._prune_quietly(grown=False)
            history._prune_quietly(grown=True)
            clock.forward(hours=1, seconds=1)
        said = [record.message for record in caplog.records]
        clock.now = right
        history._prune_quietly(grown=False)
    assert (80, []) == (len(services(history)), removed)
    assert any("the clock is ahead" in text for text in said)


def test_a_share_goes_at_a_time(opened, clock, monkeypatch, caplog):
    """Of a service that was away for long, or whose clock is wrong for days; what went is said, and counted."""
    monkeypatch.setattr("vllm_triage.service.history.pruning.STEP", 2)
    removed: list[int] = []
    history = opened(retention_days=1, removed=removed.append)
    for number in range(100):
        history.record(report(), service=str(number))
    for _ in range(2):
        clock.forward(days=2, seconds=1)
        with caplog.at_level("INFO", "vllm_triage.history"):
            history._prune_quietly(grown=False)
    assert ([10, 10], 80) == (removed, len(services(history)))
    assert 2 == sum("removed" in record.message for record in caplog.records)


def test_a_pruner_that_fails_harms_nobody(opened, monkeypatch):
    """The database may be away for a while."""
    history = opened()
    monkeypatch.setattr(history._database, "name", "x")
    history._look_at = 0.0
    history._closed.set()
    history._prune_quietly(grown=False)


@pytest.mark.slow
def test_the_file_shrinks(sqlite, clock):
    """Free pages are given back but for a quarter of the file."""
    history = store_module.History(sqlite, retention_days=1, clock=clock)
    history.upgrade()
    for number in range(300):
        history.record(report(summary=f"{number} " + "".join(map(chr, range(200, 2200)))), service=str(number))
    with history._database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    clock.forward(days=2)
    history.prune()
    with history._database.writing() as connection:
        left = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    history.close()

    assert 100 < pages
    assert left < pages / 5
    assert Path(sqlite.removeprefix("sqlite:///")).stat().st_size <= left * 4096


@pytest.mark.parametrize("days", [1, 365])
def test_retention_is_in_days(opened, clock, days):
    history = opened(retention_days=days)
    history.record(report())
    clock.now += timedelta(days=days)
    assert 0 == history.prune()
    clock.forward(seconds=1)
    assert 1 == history.prune()
