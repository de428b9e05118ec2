"""How a log reaches whoever reads it: wrapped by a container, cut to its end, mixed with another server's lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge

from vllm_triage.training.record.faults import READY

_STOPPING = re.compile(r"\[shutdown\]|Shutting down|shutdown complete")
LAST = 200
"""Lines that `docker logs --tail 200` leaves."""
BEGIN = datetime(2026, 11, 2, 9, 14, 3, 104882, UTC)


@dataclass(frozen=True)
class Line:
    """One line of a recording: its number (0: another server's), the milliseconds at which it arrived, its text."""

    number: int
    at: int
    text: str


Lines = list[Line]
Form = Callable[[Lines, Lines], Lines]
"""From a recording's lines, and those of another server, to what is read."""


def numbered(log: bytes, times: list[int]) -> Lines:
    """Return a recording's lines. A last line without an end has no arrival time of its own."""
    texts = log.decode("utf-8", "replace").split("\n")
    if not texts[-1]:
        texts.pop()
    last = times[-1] if times else 0
    return [
        Line(number, times[number - 1] if number <= len(times) else last, text) for number, text in enumerate(texts, 1)
    ]


def joined(lines: Lines) -> str:
    """Return the text of a form."""
    return "".join(f"{line.text}\n" for line in lines)


def docker(lines: Lines, _other: Lines) -> Lines:
    """Docker's json-file driver."""

    def wrap(line: Line) -> str:
        return json.dumps(
            {"log": f"{line.text}\n", "stream": "stderr", "time": f"{_clock(line):%Y-%m-%dT%H:%M:%S.%f}000Z"}
        )

    return _each(lines, wrap)


def compose(lines: Lines, _other: Lines) -> Lines:
    """Docker Compose: the service's name in front."""
    return _each(lines, lambda line: f"vllm-1  | {line.text}")


def kubernetes(lines: Lines, _other: Lines) -> Lines:
    """A Kubernetes node's file: the container runtime interface's format."""
    return _each(lines, lambda line: f"{_clock(line):%Y-%m-%dT%H:%M:%S.%f}113Z stderr F {line.text}")


def journald(lines: Lines, _other: Lines) -> Lines:
    """The journal in its short format."""
    return _each(lines, lambda line: f"{_clock(line):%b %d %H:%M:%S} gpu-a vllm[4127]: {line.text}")


def last_lines(lines: Lines, _other: Lines) -> Lines:
    """The end of the log; the start is gone."""
    return lines[-LAST:]


def interleaved(lines: Lines, other: Lines) -> Lines:
    """Two servers of one composition, line by line as they arrived; the other one is up, and answers requests."""
    end = lines[-1].at if lines else 0
    return _merged(lines, _serving(other, end))


def started_together(lines: Lines, other: Lines) -> Lines:
    """The same, and the other one is started at the same time, serves, and is stopped."""
    return _merged(lines, other)


FORMS: dict[str, Form] = {
    "as recorded": lambda lines, _other: lines,
    "docker": docker,
    "compose": compose,
    "kubernetes": kubernetes,
    "journald": journald,
    "last 200 lines": last_lines,
    "interleaved": interleaved,
    "started together": started_together,
}


def _merged(lines: Lines, other: Lines) -> Lines:
    ours = _each(lines, lambda line: f"vllm-a-1  | {line.text}")
    theirs = [Line(0, line.at, f"vllm-b-1  | {line.text}") for line in other]
    return list(merge(ours, theirs, key=lambda line: line.at))


def _serving(other: Lines, end: int) -> Lines:
    """Return what a server says at work, from start-up to stop, again and again until ``end``."""
    texts = [line.text for line in other]
    ready = next((place for place, text in enumerate(texts) if READY in text), len(other))
    stop = next((place for place, text in enumerate(texts) if _STOPPING.search(text)), len(other))
    work = other[ready + 1 : stop]
    if not work:
        return []
    begin, period = work[0].at, max(1000, work[-1].at - work[0].at)
    rounds = range(end // period + 1)
    return [Line(0, line.at - begin + turn * period, line.text) for turn in rounds for line in work]


def _each(lines: Lines, change: Callable[[Line], str]) -> Lines:
    return [Line(line.number, line.at, change(line)) for line in lines]


def _clock(line: Line) -> datetime:
    return BEGIN + timedelta(milliseconds=line.at)
