"""Picks the periodic lines out of a log while it is read, in bounded memory and at next to no cost.

A small log is looked through whole. Of each block of a large one only the beginning is: a server prints its statistics
every few seconds, so that a stretch of each block shows how it did then. The end of the log is read whole again.
"""

from __future__ import annotations

from ..lines.tail import Tail
from ..patterns.lazy import LazyPattern
from .clock import Clock
from .series import Series
from .types import UNTOLD, Draft, End, Records, Sample
from .wording import DRAFTS, FRONT, LONGEST, STATISTICS, engine_of, read_draft, read_statistics

WHOLE = 2 << 20
"""Bytes of a start that are looked through whole."""
WHOLE_OF_LOG = 16 << 20
"""The same for all starts of a log together: a crash loop has thousands."""
STRETCH = 1 << 16
"""Bytes of each further block that are looked through."""
ENGINES = 32
"""Engines of one log that are told apart; lines of further ones are left out."""
ANSWERS = 50
"""Answered requests after the last line of statistics that are noted."""

_STAMPED = LazyPattern(rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?:\x1b\[[\d;]{0,8}m|\s){1,4}(\d\d-\d\d \d\d:\d\d:\d\d)")
_ANSWERED = LazyPattern(rb'"POST /\S{1,80} HTTP/1\.[01]" 200')


class Recorder:
    """Fed with the blocks of one server's log, in order."""

    __slots__ = ("_blocks", "_clock", "_drafts", "_engines", "_last", "_read", "_read_before")

    def __init__(self) -> None:
        self._clock = Clock()
        self._engines: dict[tuple[str, str], Series[Sample]] = {}
        self._drafts: Series[Draft] = Series()
        self._last = {STATISTICS: 0, DRAFTS: 0}
        self._blocks: list[tuple[bytes, int]] = []
        self._read = self._read_before = 0

    def read(self, data: bytes, number: int) -> None:
        """Read a block.

        Args:
            data: Whole lines.
            number: Number of the first.
        """
        whole = self._read < WHOLE and self._read_before < WHOLE_OF_LOG
        self._read += len(data)
        self._look(data, number, len(data) if whole else STRETCH)
        self._blocks = [*self._blocks[-1:], (data, number)]

    def cut(self, last: int) -> Records:
        """Return what belongs to the start that ends on line ``last``, and go on with the one after it."""
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
        self._read_before += self._read
        self._read = 0
        return records

    def finish(self, tail: Tail, last: int) -> Records:
        """Read the end of the log, which is line ``last``, and return what belongs to the last start."""
        for data, number in self._blocks:
            self._look(data, number, len(data))
        records = self._records(last)
        if records.lines or records.drafts:
            records.end = self._end(tail, last)
        return records

    def _records(self, last: int) -> Records:
        """Return what was kept up to a line, of the server that printed the latest of it."""
        kept = {key: [item for item in series if item.line <= last] for key, series in self._engines.items()}
        kept = {key: samples for key, samples in kept.items() if samples}
        drafts = [draft for draft in self._drafts if draft.line <= last]
        if not kept:
            return Records(drafts=drafts)
        # One that was started anew without a mark, or a second one: an engine is judged by the server that speaks last.
        speaks = max(kept, key=lambda key: kept[key][-1].line)[0]
        engines = {engine: samples for (process, engine), samples in kept.items() if process == speaks}
        return Records(engines, drafts, sum(self._engines[speaks, engine].count for engine in engines))

    def _look(self, data: bytes, number: int, until: int) -> None:
        """Read the periodic lines that begin before ``until`` and were not read yet."""
        for words in (STATISTICS, DRAFTS):
            at = data.find(words, 0, until)
            counted, line = 0, number
            while at >= 0:
                line += data.count(b"\n", counted, at)
                counted = at
                end = data.find(b"\n", at, at + LONGEST)
                end = at + LONGEST if end < 0 else end
                if line > self._last[words]:
                    self._note(words, data, at, end, line)
                at = data.find(words, end, until)

    def _note(self, words: bytes, data: bytes, at: int, end: int, line: int) -> None:
        first = max(0, at - FRONT)
        start = max(data.rfind(b"\n", first, at), data.rfind(b"\r", first, at)) + 1
        if not start and first:
            return  # deep in a long line: a prompt that quotes it
        front = data[start:at]
        if words == DRAFTS:
            draft = read_draft(data[start:end], line, self._clock.read(front))
            if draft is not None:
                self._last[words] = line
                self._drafts.add(draft)
            return
        sample = read_statistics(front, data[at:end], line, self._clock.read(front))
        if sample is None:
            return
        self._last[words] = line
        engine, process = engine_of(front)
        key = (process, engine)
        if key not in self._engines:
            if len(self._engines) >= ENGINES:
                return
            self._engines[key] = Series()
        self._engines[key].add(sample)

    def _end(self, tail: Tail, last: int) -> End:
        """Return how the log goes on after the last line of statistics."""
        data = tail.data
        at = data.rfind(STATISTICS)
        after = data if at < 0 else data[at:]
        first = tail.number + (0 if at < 0 else data.count(b"\n", 0, at))
        now = UNTOLD
        for stamp in _STAMPED.finditer(after):
            now = max(now, self._clock.read(stamp[1]))
        answered: list[int] = []
        for found in _ANSWERED.finditer(after):
            if len(answered) == ANSWERS:
                break
            answered.append(first + after.count(b"\n", 0, found.start()))
        return End(last, now, tuple(answered))
