"""What goes between the service and the process that reads streams: JSON, one value on a line, in both directions."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...classifier.report.model import Report
from ...classifier.report.schema import report_of
from .entries import StreamName
from .streams import Verdict


def push(number: int, batches: Mapping[StreamName, bytes]) -> bytes:
    """Return lines of streams as the process reads them; ``number`` comes back when they are taken."""
    lines = [[*name, data.decode("utf-8", "replace")] for name, data in batches.items()]
    return json.dumps({"push": number, "streams": lines}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def read_push(line: bytes) -> tuple[int, list[tuple[StreamName, bytes]]]:
    """Return what ``push`` wrote."""
    told = json.loads(line)
    return told["push"], [(StreamName(*name), text.encode("utf-8", "replace")) for *name, text in told["streams"]]


def taken(number: int, streams: int) -> bytes:
    """Return the news that a push was taken, and how many streams there are."""
    return json.dumps({"taken": number, "streams": streams}).encode() + b"\n"


def verdict(found: Verdict) -> bytes:
    """Return a verdict as the service reads it."""
    told = {"kind": found.kind, "stream": list(found.stream), "report": found.report.to_dict()}
    return json.dumps(told, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"


def read_verdict(told: Mapping[str, object]) -> Verdict:
    """Return what ``verdict`` wrote, parsed."""
    stream, report = told["stream"], told["report"]
    found: Report = report_of(report)
    return Verdict(StreamName(*stream), told["kind"], found)  # type: ignore[misc, arg-type] # as it was written
