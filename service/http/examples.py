"""The examples of the OpenAPI document: real logs of the corpus, and what the engine really answers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ...corpus.store import HERE
from .work.jobs import Answer, Engines, Job, Limits, diagnose

FOLDER = Path(HERE) / "logs" / "written"
NAME = "kv-cache-too-small.log"
_SEEN = "2026-01-01T09:15:01.000Z"
INCIDENT = {
    "id": "inc_01K5EXAMPLE0000000000000000", "fingerprint": "3f9a1c0d5b7e2468", "occurrences": 3,
    "first_seen": "2025-12-30T17:02:44.120Z", "last_seen": _SEEN, "service": "chat", "new": False,
    "url": "/incidents/inc_01K5EXAMPLE0000000000000000",
}  # fmt: skip


@cache
def example_log(name: str = NAME) -> str:
    """Return a log of the corpus."""
    return (FOLDER / name).read_text("utf-8")


@cache
def example_answer(form: str = "json", name: str = NAME) -> Answer:
    """Return what the engine answers to it."""
    limits = Limits(1 << 30, 1 << 30)
    return diagnose(Engines(), Job(form=form, name=name), example_log(name).encode(), limits)


def report_with_incident() -> dict[str, Any]:
    """Return a whole answer of the API."""
    return {**example_answer().report, "incident": INCIDENT}


def part_of_log() -> str:
    """Return the lines of the example that decide."""
    return "\n".join(example_log().splitlines()[24:40]) + "\n"


def events() -> list[dict[str, Any]]:
    """Return the events of a stream."""
    report = {**example_answer().report, "fixes": [], "corrected": None, "context": [], "incident": None}
    progress = {"event": "progress", "lines": 20, "bytes": 3021, "reached": "weights"}
    return [progress, {"event": "report", "report": report}]
