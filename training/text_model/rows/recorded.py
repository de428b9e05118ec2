"""Rows from recorded and written logs: the exceptions and lines that prove the fault, and what a healthy life prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ....classifier.incidents.types import Incident
from ....classifier.lines.types import Line, Trace
from ...examples.row import Row

WEIGHT, HEALTHY_WEIGHT = 1.5, 0.7
"""Weights of what proves a fault, and of what stands in healthy logs."""
FRAMES = 12
"""Innermost frames that are kept of an exception."""
Reading = Callable[[str], tuple[Incident, list[Trace], list[Line]]]
"""How a log is read: its last incident, and the exceptions and lines that it is judged by."""


@dataclass(slots=True, frozen=True)
class LabelledLog:
    """A whole log with its label."""

    text: str
    bucket: str
    group: str
    """Logs of one fault never stand on both sides of a split."""
    release: str = ""
    cause: str = ""
    also: tuple[str, ...] = ()
    """Buckets that are as fair an answer."""
    proof: frozenset[int] = frozenset()
    """Lines that prove the fault; where none are named, the first exception does."""
    id: str = ""


def recorded_logs(logs: Path) -> list[LabelledLog]:
    """Read the recorded logs of ``corpus/logs``, in the order of their index."""
    found = []
    with (logs / "recorded" / "index.jsonl").open(encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            path = logs / "recorded" / entry["file"]
            if path.exists():
                text = path.read_text(encoding="utf-8", errors="replace")
                cause = entry.get("verdict", "").partition("/")[2] if entry["bucket"] != "no_failure" else ""
                proof, also = frozenset(entry["evidence_lines"]), tuple(entry["also"])
                group = f"recorded/{entry['fault']}"
                found.append(
                    LabelledLog(text, entry["bucket"], group, entry["release"], cause, also, proof, entry["file"])
                )
    return found


def log_rows(logs: Iterable[LabelledLog], read: Reading, origin: str = "recorded") -> Iterator[Row]:
    """Yield the rows of whole logs."""
    for log in logs:
        incident, traces, beside = read(log.text)
        lines = log.text.splitlines()
        told = {number for trace in traces for number in range(trace.first, max(trace.last, trace.number) + 1)}
        alone = [line for line in beside if line.number not in told]
        telling, weight = traces, HEALTHY_WEIGHT
        if log.bucket != "no_failure":
            telling, alone = _telling(log, traces, alone)
            weight = WEIGHT
        texts = [*(printed(trace, lines) for trace in telling), *(line.raw or line.text for line in alone)]
        for count, text in enumerate(dict.fromkeys(text for text in texts if text), 1):
            share = weight if log.bucket == "no_failure" else weight / count
            yield Row(text, log.bucket, log.group, origin, log.release, incident.reached, round(share, 4), log.cause)


def _telling(log: LabelledLog, traces: list[Trace], beside: list[Line]) -> tuple[list[Trace], list[Line]]:
    """Return what proves a fault, the root first."""
    telling = [trace for trace in traces if log.proof & set(range(trace.first, trace.last + 1))]
    alone = [line for line in beside if line.number in log.proof]
    if telling or alone:
        return telling, alone
    return traces[:1], [] if traces else beside[:1]


def printed(trace: Trace, lines: list[str]) -> str:
    """Return an exception as the reader understood it: no prefixes, and nothing that others printed between."""
    if not trace.kind and not trace.frames:
        return lines[trace.number - 1] if 0 < trace.number <= len(lines) else ""
    shown = ["Traceback (most recent call last):"] if trace.frames else []
    for frame in trace.frames[-FRAMES:]:
        shown.append(
            f'  File "/opt/venv/lib/python3.12/site-packages/{frame.path}", line {frame.number}, in {frame.function}'
        )
        if frame.code:
            shown.append(f"    {frame.code[:160]}")
    if trace.kind:
        shown.append(f"{trace.kind}: {trace.message[:1500]}".rstrip(": "))
    return "\n".join(shown)
