"""Memory is given back after a storm."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from vllm_triage.service.http import memory


def looked(monkeypatch: pytest.MonkeyPatch, sizes: list[int], used: list[float]) -> list[str]:
    """Return what was done at looks with these sizes (before; at a look, and once more after it) and shares of a processor."""
    done: list[str] = []
    left, seconds, now = iter(sizes), iter(used), 0.0

    def processor() -> float:
        nonlocal now
        now += next(seconds)
        return now

    monkeypatch.setattr(memory, "resident", lambda: next(left))
    monkeypatch.setattr(memory, "trimmer", lambda: lambda _: done.append("trim"))
    monkeypatch.setattr("vllm_triage.service.http.memory.time.process_time", processor)
    with pytest.raises(RuntimeError):
        asyncio.run(memory.give_back(0, 10, lambda: done.append("rest")))
    assert [] == list(left)
    return done


def test_what_was_freed_is_given_back_once_the_process_has_grown(monkeypatch):
    """And not before: looking costs nothing, giving back a moment of everybody's time."""
    # After giving back the size is looked at twice.
    assert ["rest", "trim"] == looked(monkeypatch, [100, 105, 105, 110, 110, 111, 80, 80, 89, 89], [0] * 9)


def test_after_a_storm_all_is_given_back(monkeypatch):
    """In its middle, for it grows; and once more at its end, when it does not: what was in use then is free now."""
    assert ["trim", "rest", "trim"] == looked(
        monkeypatch, [100, 150, 140, 140, 145, 145, 141, 101, 101, 101, 101], [0, 1, 0, 1, 0, 0, 0, 0, 0]
    )


@pytest.mark.skipif(memory.trimmer() is None, reason="does not apply: no glibc")
def test_few_heaps_however_many_threads():
    """Threads that come later share those that are there."""
    code = """
import ctypes, re, tempfile, threading
from vllm_triage.service.http.memory import ARENAS, frugal

frugal()
libc, busy, ready = ctypes.CDLL(None), threading.Event(), threading.Barrier(9)
libc.malloc.restype = ctypes.c_void_p

def work():
    libc.malloc(1000)
    ready.wait()
    busy.wait()

for _ in range(8):
    threading.Thread(target=work).start()
ready.wait()
libc.fopen.restype = ctypes.c_void_p
with tempfile.NamedTemporaryFile() as told:
    file = ctypes.c_void_p(libc.fopen(told.name.encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
    heaps = len(re.findall(rb"<heap nr=", told.read()))
busy.set()
assert heaps <= ARENAS, heaps
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.skipif(memory.trimmer() is None, reason="does not apply: no glibc")
def test_the_system_says_how_much_it_is():
    assert 1 << 20 < memory.resident() < 1 << 40
