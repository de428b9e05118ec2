"""Processes of this machine: each chunk once, whatever is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.service.batch.workers import killed_by_poison, killed_once, names
from vllm_triage.service.batch.chunks import chunked
from vllm_triage.service.batch.engines.interface import LOST
from vllm_triage.service.batch.engines.local import Here, Processes
from vllm_triage.service.batch.log import Chunk, Log

DRIVER = """\
import os, sys, time
from vllm_triage.service.batch.engines.local import Processes
from vllm_triage.service.batch.log import Log
from tests.service.batch.test_local import sleep
if __name__ == "__main__":
    for _ in Processes(2).run(sleep, [(Log("a"),), (Log("b"),)]):
        pass
"""


def sleep(_: Chunk) -> None:
    """Tell who works, and work for long."""
    os.write(1, f"{os.getpid()}\n".encode())
    time.sleep(60)


def chunks(*logs: str) -> list[Chunk]:
    """Return logs in chunks of two."""
    return list(chunked([Log(name) for name in logs], 2))


def flat(found: object) -> list[str]:
    """Return the names of all chunks, sorted."""
    return sorted(name for some in found for name in some)  # type: ignore[attr-defined]


def test_here_keeps_the_order() -> None:
    """One process needs no other."""
    assert list(Here().run(names, chunks("a", "b", "c"))) == [["a", "b"], ["c"]]


@pytest.mark.slow
def test_a_log_that_kills_its_worker_is_told_and_the_others_are_read() -> None:
    """Out of memory again and again: that log is given up, none beside it."""
    found = flat(Processes(2).run(killed_by_poison, chunks("a", "b", "c", "poison", "d", "e", "f")))
    assert found == ["a", "b", "c", "d", "e", "f", f"poison: {LOST}"]


@pytest.mark.slow
def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    """Whatever killed it: what it had is tried again."""
    wanted = ["a", "b", "c", str(tmp_path / "mark"), "d"]
    assert flat(Processes(2).run(killed_once, chunks(*wanted))) == sorted(wanted)


@pytest.mark.slow
def test_workers_end_with_their_parent() -> None:
    """A driver that is killed leaves no process behind."""
    driver = subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    worker = int(driver.stdout.readline())
    driver.kill()
    driver.wait()
    # The other ends of the pipe are closed when the last worker is gone.
    driver.stdout.read()
    driver.stdout.close()
    assert not Path(f"/proc/{worker}/cmdline").exists() or not Path(f"/proc/{worker}/cmdline").read_bytes()


def test_chunks_are_bounded_by_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large log is a chunk of its own; nothing is listed ahead."""
    monkeypatch.setattr("vllm_triage.service.batch.chunks.BYTES", 100)
    listed: list[str] = []

    def logs() -> object:
        for name, size in (("a", 10), ("b", 500), ("c", 60), ("d", 30), ("e", -1), ("f", 20)):
            listed.append(name)
            yield Log(name, size)

    made = chunked(logs(), 3)  # type: ignore[arg-type]
    assert [log.name for log in next(made)] == ["a"]
    assert listed == ["a", "b"]
    assert [[log.name for log in chunk] for chunk in made] == [["b"], ["c", "d", "e"], ["f"]]


def test_content_that_travels_bounds_a_chunk_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of archives go to the workers as they are: the driver must not hold much of them."""
    monkeypatch.setattr("vllm_triage.service.batch.chunks.INLINE", 100)
    made = chunked([Log("a", 60, data=b"x" * 60), Log("b", 5000), Log("c", 60, data=b"x" * 60)])
    assert [[log.name for log in chunk] for chunk in made] == [["a", "b"], ["c"]]
