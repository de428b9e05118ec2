"""What is noted of the periodic lines of one server, in bounded memory: as they stand there, read only when they count."""

from __future__ import annotations

from typing import NamedTuple

from ..lines.tail import Tail
from ..patterns.lazy import LazyPattern
from .clock import Clock
from .marks import LONGEST, STATISTICS, UNTOLD
from .series import Series
from .types import Draft, End, Records, Sample
from .wording import read_draft, read_statistics

FRONT = 400
"""Bytes before the first words of a line that can be prefixes; what stands further behind is somebody's text."""
ENGINES = 16
"""Engines of one log that are told apart; lines of further ones are left out."""
NAME = 24
"""Bytes before a line's statistics in which the engine is named."""
ANSWERS = 50
"""Answered requests after the last line of statistics that are noted."""

_STAMPED = LazyPattern(rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?:\x1b\[[\d;]{0,8}m|\s){1,4}(\d\d-\d\d \d\d:\d\d:\d\d)")
_ANSWERED = LazyPattern(rb'"POST /\S{1,80} HTTP/1\.[01]" 200')


class Noted(NamedTuple):
    """A line as it stands in the log."""

    line: int
    front: bytes
    """What stands before its own words: prefixes, with the time, and the engine's name."""
    rest: bytes


class Notes:
    """The periodic lines of one server, of the start that is being read."""

    __slots__ = ("_drafts", "_engines")

    def __init__(self) -> None:
        self._engines: dict[tuple[bytes, bytes], Series[Noted]] = {}
        self._drafts: Series[Noted] = Series()

    def statistics(self, data: bytes, at: int, end: int, line: int) -> None:
        """Note the statistics that stand from ``at`` to ``end``, on line number ``line``."""
        start = _start(data, at)
        if start < 0:
            return
        front = data[start:at]
        key = (_process(front), _engine(front))
        series = self._engines.get(key)
        if series is None:
            if len(self._engines) >= ENGINES:
                return
            series = self._engines[key] = Series()
        series.add(Noted(line, front, data[at:end]))

    def draft(self, data: bytes, at: int, line: int) -> None:
        """Note a line that may be about speculative decoding, and holds ``at``."""
        if self._drafts and line <= self._drafts.last.line:
            return
        start = _start(data, at)
        end = data.find(b"\n", at, at + LONGEST)
        if start >= 0:
            self._drafts.add(Noted(line, data[start:at], data[at : end if end > 0 else at + LONGEST]))

    def cut(self, last: int) -> Records:
        """Return what belongs to the start that ends on line ``last``, and keep the rest for the one after it."""
        records = self._records(last)[0]
        engines, drafts = self._engines, self._drafts
        self._engines, self._drafts = {}, Series()
        for key, series in engines.items():
            for noted in series:
                if noted.line > last:
                    self._engines.setdefault(key, Series()).add(noted)
        for noted in drafts:
            if noted.line > last:
                self._drafts.add(noted)
        return records

    def finish(self, tail: Tail, last: int) -> Records:
        """Return what belongs to the last start, and how the log ends, which is line ``last``."""
        records, clock = self._records(last)
        if records.lines or records.drafts:
            records.end = _end(tail, last, clock)
        return records

    def _records(self, last: int) -> tuple[Records, Clock]:
        """Return what was noted up to a line, of the server that printed the latest of it, and its clock."""
        clock = Clock()
        kept = [(noted, key) for key, series in self._engines.items() for noted in series if noted.line <= last]
        kept.sort(key=_line)
        # One that was started anew without a mark, or a second one: an engine is judged by the server that speaks last.
        speaks = kept[-1][1][0] if kept else b""
        engines: dict[str, list[Sample]] = {}
        for noted, (process, engine) in kept:
            if process == speaks and (sample := read_statistics(*noted, clock.read(noted.front))) is not None:
                engines.setdefault(engine.decode("utf-8", "replace"), []).append(sample)
        drafts = [draft for noted in self._drafts if noted.line <= last and (draft := _draft(noted, clock)) is not None]
        seen = sum(series.count for (process, _), series in self._engines.items() if process == speaks)
        return Records(engines, drafts, seen if engines else 0), clock


def _draft(noted: Noted, clock: Clock) -> Draft | None:
    return read_draft(noted.front + noted.rest, noted.line, clock.read(noted.front))


def _line(item: tuple[Noted, tuple[bytes, bytes]]) -> int:
    return item[0].line


def _engine(front: bytes) -> bytes:
    """Return which engine a line is about: ``000``, or ``4 Engines Aggregated``; empty where it does not tell."""
    if not front.endswith(b": "):
        return b""
    words = front[-NAME:-2].rpartition(b" Engine ")
    if words[1]:
        return words[2]
    name = front[-NAME:-2].rpartition(b"] ")[2]
    return name if name.endswith(b"Aggregated") else b""


def _process(front: bytes) -> bytes:
    """Return the number of the process that printed a line; empty where it does not tell."""
    at = front.find(b"pid=")
    return front[at + 4 : front.find(b")", at)] if at >= 0 else b""


def _start(data: bytes, at: int) -> int:
    """Return where the line begins that holds ``at``; -1 where that is too far away: a prompt that quotes a log."""
    first = max(0, at - FRONT)
    start = max(data.rfind(b"\n", first, at), data.rfind(b"\r", first, at)) + 1
    return start if start or not first else -1


def _end(tail: Tail, last: int, clock: Clock) -> End:
    """Return how a log goes on after the last line of statistics."""
    data = tail.data
    at = max(0, data.rfind(STATISTICS))
    first, after = tail.number + data.count(b"\n", 0, at), data[at:]
    now = max((clock.read(stamp[1]) for stamp in _STAMPED.finditer(after)), default=UNTOLD)
    answered: list[int] = []
    for found in _ANSWERED.finditer(after):
        if len(answered) == ANSWERS:
            break
        answered.append(first + after.count(b"\n", 0, found.start()))
    return End(last, now, tuple(answered))
