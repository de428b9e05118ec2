"""Several processes on one database; and processes that die."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.service.history.test_store import walk
from vllm_triage.service.history import Filter

WRITER = Path(__file__).with_name("writer.py")


def start(url: str, names: list[str], count: int, services: int) -> list[subprocess.Popen[str]]:
    """Start a writer for each name; all begin together."""
    words = [sys.executable, str(WRITER), url, str(count), str(services)]
    started = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in names]
    for process in started:
        assert process.stdout is not None
        assert "ready\n" == process.stdout.readline()
    for process, name in zip(started, names, strict=True):
        assert process.stdin is not None
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
    return started


def finish(started: list[subprocess.Popen[str]]) -> list[str]:
    """Return what the processes acknowledged: whole lines."""
    told = [line for process in started for line in process.communicate()[0].splitlines(keepends=True)]
    return [line.strip() for line in told if line.endswith("\n")]


def check(url: str) -> None:
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()
            assert [] == connection.execute("PRAGMA foreign_key_check").fetchall()
        connection.close()


@pytest.mark.slow
def test_writers_at_once_count_exactly(history, url):
    """The same few incidents in every process: each occurrence counts once, wherever it is counted."""
    acknowledged = Counter(finish(start(url, ["a", "b", "c"], 60, 5)))

    incidents = history.incidents(Filter()).items
    assert 180 == acknowledged.total()
    assert acknowledged == {incident.service: incident.occurrences for incident in incidents}
    assert 180 == sum(count.count for told in history.stats() for count in told.counts)
    check(url)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_writers_are_killed(history, url):
    """SIGKILL at any moment, again and again, of several at once: each incident that was said to be recorded is there."""
    acknowledged: list[str] = []
    for number in range(2):
        started = start(url, [f"{number}a", f"{number}b"], 0, 0)
        until = time.monotonic() + 60
        while len(walk(history, limit=500)) < 12 * (number + 1) and time.monotonic() < until:
            time.sleep(0.02)
        for process in started:
            process.send_signal(signal.SIGKILL)
        acknowledged += finish(started)
        assert [-signal.SIGKILL] * 2 == [process.returncode for process in started]
    found = walk(history, limit=500)

    assert 8 < len(acknowledged)
    assert set() == set(acknowledged) - set(found)
    assert len(found) == len(set(found))
    check(url)


@pytest.mark.slow
def test_one_claim_of_many_processes(history, url):
    """However many alerts come in at once: one process is the first."""
    code = f"""
from vllm_triage.service.history import History
history = History({url!r})
print(sum(history.once("alert", 3600)[0] for _ in range(40)))
history.close()
"""
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    firsts = sum(int(process.communicate()[0]) for process in started)

    assert 1 == firsts
    assert [0] * 2 == [process.returncode for process in started]
    # The clock of this history stands still, months before theirs: for it, their window is open.
    assert (False, 81) == history.once("alert", 3600)
