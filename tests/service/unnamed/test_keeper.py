"""One process at a time, a limit on its time, and nothing is worked out twice."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from vllm_triage.service.unnamed import keeper
from vllm_triage.service.unnamed.keeper import Keeper
from vllm_triage.service.wire import Unnamed

FOUND = '{"incidents": 3, "made": "2026-11-02T10:00:00Z"}'
NOTES = f"""
import pathlib, sys
with (pathlib.Path(sys.argv[1])).open("a") as file: file.write(sys.stdin.read() + "\\n")
print({FOUND!r})
"""


def run(*words: str, seconds: float = 60) -> Keeper:
    """Return a keeper whose process runs some Python."""
    return Keeper("sqlite:///x", ["mine"], (sys.executable, "-c", *words), seconds)


async def ask(keeper_: Keeper, *asked: tuple[str, str], wait: float = 60) -> list[Unnamed]:
    """Return what is found for tenants and marks, one after the other."""
    try:
        return [await keeper_.find(tenant, mark, wait) for tenant, mark in asked]
    finally:
        await keeper_.close()


def test_nothing_is_worked_out_twice(tmp_path: Path):
    """While the history is the same, and for a while after it has changed; each tenant has its own."""
    notes = tmp_path / "asked"
    found = asyncio.run(ask(run(NOTES, str(notes)), ("", "1"), ("", "1"), ("", "2"), ("a", "1")))

    assert [3, 3, 3, 3] == [one.incidents for one in found]
    assert [False] * 4 == [one.pending for one in found]
    asked = [json.loads(line) for line in notes.read_text().splitlines()]
    assert [{"url": "sqlite:///x", "rules": ["mine"], "tenant": tenant} for tenant in ("", "a")] == asked


def test_a_history_that_has_changed_is_worked_out_behind(tmp_path: Path, monkeypatch):
    """What is known is told meanwhile."""
    monkeypatch.setattr(keeper, "PAUSE", 0)
    monkeypatch.setattr(keeper, "SHARE", 0)
    notes = tmp_path / "asked"

    async def twice() -> list[Unnamed]:
        made = run(NOTES, str(notes))
        first = await made.find("", "1", 60)
        second = await made.find("", "2", 60)
        await asyncio.gather(*made._work.values())
        third = await made.find("", "2", 60)
        await made.close()
        return [first, second, third]

    found = asyncio.run(twice())

    assert [(3, False), (3, True), (3, False)] == [(one.incidents, one.pending) for one in found]
    assert 2 == len(notes.read_text().splitlines())


def test_who_cannot_wait_is_told_so(tmp_path: Path):
    """The process goes on; closing ends it."""
    [found] = asyncio.run(ask(run("import time; time.sleep(600)"), ("", "1"), wait=0))
    assert (None, True) == (found.made, found.pending)


@pytest.mark.parametrize(
    ("words", "seconds", "problem"),
    [
        ("import time; time.sleep(600)", 0.1, "It took longer than 0.1 seconds."),
        ("raise SystemExit(7)", 60, "The process that works it out has died; the log of the service says why."),
        ('print(\'{"problem": "The disk is full."}\')', 60, "The disk is full."),
    ],
)
def test_what_goes_wrong_is_told(words: str, seconds: float, problem: str):
    """And not tried again at once."""
    first, again = asyncio.run(ask(run(words, seconds=seconds), ("", "1"), ("", "1")))
    assert (problem, None, False) == (first.problem, first.made, first.pending)
    assert first is again


def test_what_was_known_stays_when_something_goes_wrong(tmp_path: Path, monkeypatch):
    """With the reason, until it goes well again."""
    monkeypatch.setattr(keeper, "PAUSE", 0)
    monkeypatch.setattr(keeper, "SHARE", 0)
    words = f"import pathlib, sys; p = pathlib.Path({str(tmp_path / 'once')!r}); p.exists() and sys.exit(1); p.touch(); print({FOUND!r})"

    async def twice() -> Unnamed:
        made = run(words)
        await made.find("", "1", 60)
        await made.find("", "2", 60)
        await asyncio.gather(*made._work.values())
        found = made._kept[""].found
        await made.close()
        return found

    found = asyncio.run(twice())
    assert 3 == found.incidents
    assert found.problem.startswith("The process that works it out has died")
