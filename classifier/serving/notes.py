"""What is noted of the periodic lines of one server, in bounded memory."""

from __future__ import annotations

from ..lines.tail import Tail
from ..patterns.lazy import LazyPattern
from .clock import Clock
from .recorder import STATISTICS
from .series import Series
from .types import UNTOLD, Draft, End, Records, Sample
from .wording import engine_of, read_draft, read_statistics

FRONT = 400
"""Bytes before the first words of a line that can be prefixes; what stands further behind is somebody's text."""
ENGINES = 32
"""Engines of one log that are told apart; lines of further ones are left out."""
ANSWERS = 50
"""Answered requests after the last line of statistics that are noted."""

_STAMPED = LazyPattern(rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?:\x1b\[[\d;]{0,8}m|\s){1,4}(\d\d-\d\d \d\d:\d\d:\d\d)")
_ANSWERED = LazyPattern(rb'"POST /\S{1,80} HTTP/1\.[01]" 200')


class Notes:
    """The periodic lines of one server, of the start that is being read."""

    __slots__ = ("_clock", "_drafts", "_engines")

    def __init__(self) -> None:
        self._clock = Clock()
        self._engines: dict[tuple[str, str], Series[Sample]] = {}
        self._drafts: Series[Draft] = Series()

    def statistics(self, data: bytes, at: int, end: int, line: int) -> None:
        """Note the statistics that begin at ``at``, on line number ``line``, unless they are only quoted there."""
        start = _start(data, at)
        if start < 0:
            return
        front = data[start:at]
        sample = read_statistics(front, data[at:end], line, self._clock.read(front))
        if sample is None:
            return
        engine, process = engine_of(front)
        key = (process, engine)
        if key not in self._engines:
            if len(self._engines) >= ENGINES:
                return
            self._engines[key] = Series()
        self._engines[key].add(sample)

    def draft(self, data: bytes, at: int, end: int, line: int) -> None:
        """Note what a line says of speculative decoding, if it says anything of it."""
        start = _start(data, at)
        if start < 0:
            return
        draft = read_draft(data[start:end], line, self._clock.read(data[start:at]))
        if draft is not None:
            self._drafts.add(draft)

    def cut(self, last: int) -> Records:
        """Return what belongs to the start that ends on line ``last``, and keep the rest for the one after it."""
        records = self._records(last)
        engines, drafts = self._engines, self._drafts
        self._engines, self._drafts = {}, Series()
        for key, samples in engines.items():
            for sample in samples:
                if sample.line > last:
                    self._engines.setdefault(key, Series()).add(sample)
        for draft in drafts:
            if draft.line > last:
                self._drafts.add(draft)
        return records

    def finish(self, tail: Tail, last: int) -> Records:
        """Return what belongs to the last start, and how the log ends, which is line ``last``."""
        records = self._records(last)
        if records.lines or records.drafts:
            records.end = self._end(tail, last)
        return records

    def _records(self, last: int) -> Records:
        """Return what was noted up to a line, of the server that printed the latest of it."""
        kept = {key: [item for item in series if item.line <= last] for key, series in self._engines.items()}
        kept = {key: samples for key, samples in kept.items() if samples}
        drafts = [draft for draft in self._drafts if draft.line <= last]
        if not kept:
            return Records(drafts=drafts)
        # One that was started anew without a mark, or a second one: an engine is judged by the server that speaks last.
        speaks = max(kept, key=lambda key: kept[key][-1].line)[0]
        engines = {engine: samples for (process, engine), samples in kept.items() if process == speaks}
        return Records(engines, drafts, sum(self._engines[speaks, engine].count for engine in engines))

    def _end(self, tail: Tail, last: int) -> End:
        data = tail.data
        at = max(0, data.rfind(STATISTICS))
        first, after = tail.number + data.count(b"\n", 0, at), data[at:]
        now = max((self._clock.read(stamp[1]) for stamp in _STAMPED.finditer(after)), default=UNTOLD)
        answered: list[int] = []
        for found in _ANSWERED.finditer(after):
            if len(answered) == ANSWERS:
                break
            answered.append(first + after.count(b"\n", 0, found.start()))
        return End(last, now, tuple(answered))


def _start(data: bytes, at: int) -> int:
    """Return where the line begins that holds ``at``; -1 where that is too far away: a prompt that quotes a log."""
    first = max(0, at - FRONT)
    start = max(data.rfind(b"\n", first, at), data.rfind(b"\r", first, at)) + 1
    return start if start or not first else -1
