"""The examples of the OpenAPI document: real logs of the corpus, and what the engine really answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ...classifier.api import shared
from ...corpus.store import HERE
from ..wire import IncidentRef, TriageAnswer
from .work.jobs import Answer, Job, Limits, answer

FOLDER = Path(HERE) / "logs" / "written"
NAME = "kv-cache-too-small.log"
INCIDENT = IncidentRef(
    id="inc_01K5EXAMPLE0000000000000000",
    fingerprint="3f9a1c0d5b7e2468",
    occurrences=3,
    first_seen=datetime(2025, 12, 30, 17, 2, 44, 120_000, UTC),
    last_seen=datetime(2026, 1, 1, 9, 15, 1, tzinfo=UTC),
    service="chat",
    new=False,
    url="/incidents/inc_01K5EXAMPLE0000000000000000",
)


@cache
def example_log(name: str = NAME) -> str:
    """Return a log of the corpus."""
    return (FOLDER / name).read_text("utf-8")


@cache
def example_answer(form: str = "json", name: str = NAME) -> Answer:
    """Return what the engine answers to it."""
    limits = Limits(1 << 30, 1 << 30)
    return answer(shared(), Job(form=form, name=name), example_log(name).encode(), limits)


def report_with_incident() -> TriageAnswer:
    """Return a whole answer of the API."""
    return TriageAnswer.of(example_answer().report, INCIDENT)


def part_of_log() -> str:
    """Return the lines of the example that decide."""
    return "\n".join(example_log().splitlines()[24:40]) + "\n"


def events() -> list[dict[str, object]]:
    """Return the events of a stream."""
    report = replace(TriageAnswer.of(example_answer().report, None), fixes=(), corrected=None, context=())
    progress = {"event": "progress", "lines": 20, "bytes": 3021, "reached": "weights"}
    return [progress, {"event": "report", "report": report}]
