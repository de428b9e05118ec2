"""Databases that are full, read-only, damaged, away: said in clear words, and over when it is over."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.service.history.reports import report
from vllm_triage.service.history import Filter, History, HistoryError
from vllm_triage.service.history.writes import Recorder, entry


@pytest.fixture
def small(sqlite, clock):
    """A history on SQLite."""
    history = History(sqlite, clock=clock)
    history.upgrade()
    yield history
    history.close()


def path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://root:hunter2@host/db", "mysql: the history is kept in sqlite or postgresql"),
        ("hunter2", "looks like sqlite:////var"),
        ("", "looks like sqlite:////var"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("sqlite:////proc/nowhere/h.db", "No such file|cannot be opened|not permitted"),
        ("postgresql://triage:hunter2@127.0.0.1:1/x", "no server answers there|cannot be reached"),
        ("postgres://triage:hunter2@127.0.0.1:1/x", "no server answers there|cannot be reached"),
    ],
)
def test_urls_that_are_of_no_use(url, words):
    """Passwords are not told."""
    with pytest.raises(HistoryError, match=words) as caught:
        History(url)

    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_database(sqlite):
    path(sqlite).parent.mkdir()
    path(sqlite).write_text("something else " * 1000)

    with pytest.raises(HistoryError, match="the file is not a SQLite database"):
        History(sqlite)


def test_a_full_disk(small):
    """Recording fails, reading goes on; and recording again once there is space."""
    kept = small.record(report(), service="before")
    with small._database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    big = report(summary="".join(map(chr, range(200, 20_000))))

    with pytest.raises(HistoryError, match="the disk is full"):
        small.record(big)
    assert [kept.id] == [incident.id for incident in small.incidents(Filter()).items]

    with small._database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert small.record(big).new


def test_a_read_only_database(small):
    """As SQLite says it of a file that must not be written to."""
    kept = small.record(report())
    with small._database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=ON")

    for call in (lambda: small.record(report()), lambda: small.once("k", 1), lambda: small.feedback(kept.id, "right")):
        with pytest.raises(HistoryError, match="read-only"):
            call()
    assert kept.id == small.incident(kept.id).incident.id


@pytest.fixture
def served(postgresql, clock):
    """A history on PostgreSQL."""
    history = History(postgresql, clock=clock)
    history.upgrade()
    yield history
    history.close()


def test_a_read_only_server(served):
    """A standby of PostgreSQL's."""
    with served._database.engine.connect() as connection:
        connection.execute(text("SET default_transaction_read_only = on"))
        connection.commit()

    with pytest.raises(HistoryError, match="primary"):
        served.record(report())


def test_another_process_holds_the_lock(small, sqlite, monkeypatch):
    """For longer than anybody waits."""
    with small._database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=20")
    holder = sqlite3.connect(path(sqlite), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(HistoryError, match="locked"):
        small.record(report())
    assert () == small.incidents(Filter()).items
    holder.execute("COMMIT")
    holder.close()

    assert small.record(report()).new


def test_a_damaged_file(small, sqlite):
    """Told as such; the service's other answers do not depend on it."""
    for number in range(50):
        small.record(report(), service=str(number))
    small.close()
    data = bytearray(path(sqlite).read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path(sqlite).write_bytes(data)

    with pytest.raises(HistoryError, match="damaged"):
        History(sqlite)


def test_a_server_that_cuts_its_connections(served, postgresql):
    """It was restarted, or a firewall forgot them: the next call takes a new one."""
    served.record(report())
    engine = create_engine(postgresql.replace("postgresql:", "postgresql+psycopg:"))
    others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    with engine.connect() as connection:
        connection.execute(text(f"SELECT pg_terminate_backend(pid) {others}"))
    engine.dispose()

    assert 2 == served.record(report()).occurrences


def test_one_entry_that_is_not_taken_does_not_fail_those_beside_it(history, clock):
    """They wait for one commit together; the broken one alone is told."""
    recorder = Recorder(history._database)
    entries = [entry(report(), service, [""], clock.now) for service in ("a", "b", "c")]
    entries[1].values["title"] = None
    recorder._write(entries)

    assert [True, False, True] == [each.done is not None for each in entries]
    assert isinstance(entries[1].failed, HistoryError)
    assert {"a", "c"} == {incident.service for incident in history.incidents(Filter()).items}


def test_locks_in_different_orders(history, clock):
    """Two writers whose batches hold the same incidents: no deadlock, whichever order they came in."""
    services = [str(number) for number in range(12)]
    failed: list[HistoryError] = []

    def work(order: list[str]) -> None:
        recorder = Recorder(history._database)
        for _ in range(8):
            entries = [entry(report(), service, [""], clock.now) for service in order]
            recorder._write(entries)
            failed.extend(each.failed for each in entries if each.failed)

    threads = [threading.Thread(target=work, args=(order,)) for order in (services, services[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == failed
    assert {16} == {incident.occurrences for incident in history.incidents(Filter()).items}


def test_a_file_that_is_moved_away(small, sqlite, tmp_path):
    """What is open is written nowhere: it would be acknowledged, and lost. A file that is brought back is taken again."""
    file, aside = path(sqlite), tmp_path / "aside.db"
    first = small.record(report(), service="before")
    file.rename(aside)
    for call in (lambda: small.record(report(), service="away"), small.ping, lambda: small.incidents(Filter())):
        with pytest.raises(HistoryError, match="bring it back") as caught:
            call()
        assert "the file was moved away or removed" == caught.value.reason
    assert not file.exists()

    aside.rename(file)
    again = small.record(report(), service="before")
    assert (first.id, 2) == (again.id, again.occurrences)
