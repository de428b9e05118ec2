"""Recording incidents and reading them, on both databases."""

from __future__ import annotations

import json
import re
import stat
import threading
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.history.reports import report
from vllm_triage.service.history import Filter, History, HistoryError, fingerprint
from vllm_triage.service.history.writes import KEPT
from vllm_triage.service.wire import BucketCounts, Count, Incidents, dumps, timestamp


def counted(bucket: str, *counts: Count) -> BucketCounts:
    """Return how often a bucket was seen."""
    return BucketCounts(bucket=bucket, counts=counts)


def walk(history: History, **asked) -> list[str]:
    """Return the services of all incidents, page by page: each incident of these tests has its own."""
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = history.incidents(Filter(cursor=cursor, **asked))
        found += [incident.service for incident in page.items]
        cursor = page.next
    return found


def test_the_first_log_of_a_failure_is_a_new_incident(history, clock):
    got = history.record(report(), service="chat", name="a.log")

    assert (True, 1, "chat", "a.log", None) == (got.new, got.occurrences, got.service, got.name, got.feedback)
    assert (clock.now, clock.now) == (got.first_seen, got.last_seen)
    assert ("acme/harbor-8b", "0.32.0", fingerprint(report())) == (got.model, got.vllm_version, got.fingerprint)


def test_the_same_failure_again_adds_an_occurrence(history, clock):
    first = history.record(report(), service="chat", name="a.log")
    again = clock.forward(hours=2)
    got = history.record(report("ValueError: the cache holds 77 tokens"), service="chat", name="b.log")

    assert (first.id, False, 2, first.first_seen, again, "b.log") == (
        got.id, got.new, got.occurrences, got.first_seen, got.last_seen, got.name,
    )  # fmt: skip
    assert 1 == len(history.incidents(Filter()).items)


def test_services_have_incidents_of_their_own(history):
    ids = {history.record(report(), service=service).id for service in ("", "chat", "search")}

    assert 3 == len(ids)


def test_ids_cannot_be_guessed(history):
    """They are links to share: 26 characters of 5 bits."""
    ids = [history.record(report(), service=str(number)).id for number in range(20)]

    assert 20 == len(set(ids))
    assert all(re.fullmatch("inc_[a-z2-7]{26}", found) for found in ids)


def test_the_latest_report_is_kept(history, clock):
    history.record(report(summary="old"))
    clock.forward(minutes=1)
    last = report(summary="new: ünïcödé \0", facts={"model": "half \ud800"})
    got = history.record(last)

    stored = history.incident(got.id)
    assert stored is not None
    assert (replace(last, facts={"model": "half ?"}), 2) == (stored.report, stored.incident.occurrences)


def test_a_log_that_comes_late_changes_the_first_time_only(history, clock):
    """Clocks of machines differ: what is older does not become the latest."""
    now = clock.now
    history.record(report(summary="newer"))
    clock.now = now - timedelta(hours=1)
    got = history.record(report(summary="older"))

    assert (now - timedelta(hours=1), now) == (got.first_seen, got.last_seen)
    assert "newer" == history.incident(got.id).report.summary


def test_the_latest_occurrences_are_kept_and_all_are_counted(history, clock):
    for number in range(1, KEPT + 8):
        got = history.record(report(), name=f"{number}.log")
        last = clock.now
        clock.forward(seconds=1)

    stored = history.incident(got.id)
    assert KEPT + 7 == stored.incident.occurrences
    assert list(range(KEPT + 7, 7, -1)) == [seen.id for seen in stored.occurrences]
    assert (f"{KEPT + 7}.log", last) == (stored.occurrences[0].name, stored.occurrences[0].at)


def test_labels_are_one_line_without_secrets_and_not_endless(history):
    token = "hf_" + "a" * 30
    got = history.record(report(), service=f" a\n\0b {token}\ud800", name="x" * 5000)

    assert ("a b <hf-token>?", "x" * 200) == (got.service, got.name)
    assert got.service == history.incident(got.id).incident.service


def test_what_is_not_there(history):
    assert (None, False) == (history.incident("inc_nothing"), history.remove("inc_nothing"))
    assert Incidents() == history.incidents(Filter())
    assert [] == history.stats()


def test_a_removed_incident_is_gone_with_all_that_belongs_to_it(history):
    got = history.record(report())
    history.feedback(got.id, "right")

    assert history.remove(got.id)
    assert (None, [], []) == (history.incident(got.id), history.stats(), list(history.export()))
    assert history.record(report()).new


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["d", "c", "b", "a"]),
    ({"service": "b"}, ["b"]),
    ({"bucket": "port_in_use"}, ["b"]),
    ({"cause": "kv_cache_oom/context_exceeds_cache"}, ["d", "c", "a"]),
    ({"fingerprint": fingerprint(report())}, ["d", "c", "a"]),
    ({"fingerprint": fingerprint(report()), "service": "c"}, ["c"]),
    ({"since": datetime(2026, 3, 1, 12, 30, tzinfo=UTC)}, ["d", "c"]),
    ({"until": datetime(2026, 3, 1, 12, 30, tzinfo=UTC)}, ["b", "a"]),
    ({"q": "PORT taken"}, ["b"]),
    ({"q": "harbor"}, ["d", "c", "b", "a"]),
    ({"q": "100%_"}, ["c"]),
    ({"q": "%"}, ["c"]),
    ({"q": "\\"}, []),
]


def test_filters(history, clock):
    """Each alone, and words in any case; signs of LIKE are plain characters."""
    port = {"bucket": "port_in_use", "cause": "port_in_use/http_port_taken", "title": "The port is taken"}
    for service, other, name in (("a", {}, ""), ("b", port, ""), ("c", {}, "at 100%_.log"), ("d", {}, "")):
        history.record(report(**other), service=service, name=name)
        clock.forward(hours=1)

    assert FILTERS == [(asked, walk(history, **asked)) for asked, _ in FILTERS]


def test_pages_together_are_the_list(history, clock):
    """Also where many incidents have the same time."""
    for number in range(20):
        history.record(report(), service=f"{number:02}")
        if number % 5 == 4:
            clock.forward(seconds=1)
    expected = [f"{number:02}" for number in reversed(range(20))]

    for limit in (1, 3, 7, 20, 100):
        assert expected == walk(history, limit=limit)
        assert expected == walk(history, limit=limit, order="first_seen")


def test_a_walk_by_first_seen_is_complete_whatever_is_written_meanwhile(history, clock):
    """New incidents, ones that happen again, ones that go: what was there and stays comes once."""
    for number in range(12):
        history.record(report(), service=f"{number:02}")
        clock.forward(seconds=1)
    found, cursor, step = [], "", 0
    while cursor is not None:
        page = history.incidents(Filter(limit=3, cursor=cursor, order="first_seen"))
        found += [incident.service for incident in page.items]
        cursor, step = page.next, step + 1
        history.record(report(), service=f"new {step}")
        history.record(report(), service="02")
        history.remove(page.items[-1].id)
        clock.forward(seconds=1)

    assert [f"{number:02}" for number in reversed(range(12))] == found


def test_a_walk_by_last_seen_shows_nothing_twice(history, clock):
    """What happens again meanwhile moves to the front, where a new walk begins."""
    for number in range(9):
        history.record(report(), service=str(number))
        clock.forward(seconds=1)
    first = history.incidents(Filter(limit=4))
    history.record(report(), service="2")
    history.record(report(), service="8")
    rest = history.incidents(Filter(limit=10, cursor=first.next))

    assert list("8765") == [incident.service for incident in first.items]
    assert list("4310") == [incident.service for incident in rest.items]
    assert set("28") == {incident.service for incident in history.incidents(Filter(limit=2)).items}


def test_a_cursor_of_nobody(history):
    for cursor in ("x", "%%%", "bGFzdF9zZWVuOjE", "bGFzdF9zZWVuOng6eQ", "é", "a" * 5000):
        with pytest.raises(ValueError, match="cursor"):
            history.incidents(Filter(cursor=cursor))


def test_a_cursor_of_another_order(history):
    for service in "ab":
        history.record(report(), service=service)
    page = history.incidents(Filter(limit=1))

    with pytest.raises(ValueError, match="cursor"):
        history.incidents(Filter(cursor=page.next, order="first_seen"))


def test_a_filter_that_makes_no_sense(history):
    for asked in ({"limit": 0}, {"limit": 501}, {"order": "name"}):
        with pytest.raises(ValueError, match=next(iter(asked))):
            history.incidents(Filter(**asked))


def test_counts_by_hour_and_day(history, clock):
    port = report(bucket="port_in_use", cause="port_in_use/http_port_taken")
    for made, service in ((report(), "a"), (report(), "b"), (port, "a")):
        history.record(made, service=service)
    clock.forward(minutes=29, seconds=59)
    history.record(report(), service="a")
    clock.forward(seconds=1)
    history.record(report(), service="a")
    clock.forward(days=1)
    history.record(port, service="a")
    day, hour = datetime(2026, 3, 1, tzinfo=UTC), timedelta(hours=1)

    assert [
        counted("kv_cache_oom", Count(at=day + 10 * hour, count=3), Count(at=day + 11 * hour, count=1)),
        counted("port_in_use", Count(at=day + 10 * hour, count=1), Count(at=day + 35 * hour, count=1)),
    ] == history.stats()
    assert [
        counted("kv_cache_oom", Count(at=day, count=4)),
        counted("port_in_use", Count(at=day, count=1), Count(at=day + 24 * hour, count=1)),
    ] == history.stats(step="day")
    assert [counted("kv_cache_oom", Count(at=day + 10 * hour, count=1))] == history.stats(service="b")
    assert [counted("kv_cache_oom", Count(at=day + 11 * hour, count=1))] == history.stats(
        since=day + 11.5 * hour, until=day + 12 * hour
    )
    with pytest.raises(ValueError, match="step"):
        history.stats(step="week")


def test_one_claim_a_window(history, clock):
    """The first says so, the others how many there were; a new window begins when somebody comes after its end."""
    assert [(True, 1), (False, 2)] == [history.once("k" * 500, 60), history.once("k" * 500, 60)]
    assert (True, 1) == history.once("other", 60)
    clock.forward(seconds=59)
    assert (False, 3) == history.once("k" * 500, 60)
    clock.forward(seconds=1)
    assert [(True, 1), (False, 2)] == [history.once("k" * 500, 60), history.once("k" * 500, 60)]


def test_threads_record_together(history):
    """Nothing is lost, counted twice, or told of another's incident."""
    told: list[tuple[str, str, int]] = []

    def work(service: str) -> None:
        for _ in range(25):
            got = history.record(report(), service=service)
            told.append((service, got.service, got.occurrences))

    threads = [threading.Thread(target=work, args=(str(number % 4),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted((str(n), str(n), count) for n in range(4) for count in range(1, 51)) == sorted(told)


def test_a_closed_history(history):
    history.close()

    for call in (history.ping, lambda: history.record(report()), lambda: history.once("k", 1)):
        with pytest.raises(HistoryError, match="closed"):
            call()


def test_an_incident_is_told_as_json(history):
    got = history.record(report(), service="chat")

    assert {
        "id": got.id, "fingerprint": got.fingerprint, "bucket": "kv_cache_oom", "cause": "kv_cache_oom/context_exceeds_cache",
        "title": "The KV cache cannot hold one request of the full context", "confidence": 0.97, "decided_by": "rule",
        "service": "chat", "name": "", "vllm_version": "0.32.0", "model": "acme/harbor-8b", "occurrences": 1,
        "first_seen": "2026-03-01T10:30:00.000Z", "last_seen": "2026-03-01T10:30:00.000Z", "feedback": None,
        "state": "open", "muted_until": None, "assignee": "", "handled_by": "", "handled_at": None,
    } == json.loads(dumps(got))  # fmt: skip


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_timestamps_can_be_read_back(moment):
    assert abs(datetime.fromisoformat(timestamp(moment)) - moment) < timedelta(milliseconds=1)


def test_nobody_else_can_read_the_file(sqlite, clock):
    """Neither it nor the folder that was made for it, nor what SQLite puts beside it."""
    history = History(sqlite, clock=clock)
    history.upgrade()
    history.record(report())
    path = Path(sqlite.removeprefix("sqlite:///"))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert {"history.db": 0o600, "history.db-wal": 0o600, "history.db-shm": 0o600} == modes
    assert 0o700 == stat.S_IMODE(path.parent.stat().st_mode)
    history.close()


def test_whoever_writes_may_open_a_connection_to_read(tmp_path):
    """A thread that writes reads something by another connection: opening one waits for no writer, least of all for itself."""
    history = History(f"sqlite:///{tmp_path / 'h.db'}")
    history.upgrade()
    database = history._database
    with database.writing(), ExitStack() as readers:
        # More than stand ready.
        for _ in range(12):
            assert 1 == readers.enter_context(database.reading()).exec_driver_sql("SELECT 1").scalar_one()
