"""The streams under way: each is read as it comes, and told of when its cause is certain or it has fallen silent.

To feed an analysis costs the same for a line as for a hundred, so lines gather for some seconds, unless one of them looks like
trouble. To look at the answer so far costs more; that waits until a stream has settled, or ten seconds have gone by.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ...classifier.errors import InputError
from ...classifier.incidents.not_vllm import is_ours
from ...classifier.input.decode import Cleaner
from ...classifier.input.read import Block
from ...classifier.question import Question
from ..live.announce import SETTLE, Announcement, Announcer
from .entries import StreamName

if TYPE_CHECKING:
    from ...classifier.api import Triage
    from ...classifier.incidents.session import Session
    from ...classifier.report.model import Report

GATHER = 5.0
"""Seconds for which lines gather."""
SOON = 0.5
"""The same where one of them looks like trouble."""
FULL = 1 << 16
"""Bytes that are fed at once, whatever their age."""
TROUBLE = (b"ERROR", b"Error", b"Traceback", b"Exception", b"CRITICAL", b"died", b"killed", b"terminated", b"refused")
LOOK_EVERY = 10.0
"""Seconds between two looks at a stream that goes on."""
SILENT = 300.0
"""Seconds after which a stream is taken to have ended: what was not certain so far is told as it stands."""
LOOKS = 20
"""Streams that are looked at before lines are taken again."""
LINE = 1 << 16
"""Bytes of a line that are read; the rest says nothing that a rule looks for."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict to report about a stream."""

    stream: StreamName
    kind: Literal["cause", "corrected", "withdrawn", "end"]
    """``end``: it fell silent, or made room for others, before anything was certain."""
    report: Report


@dataclass(slots=True)
class _Stream:
    name: StreamName
    session: Session
    announcer: Announcer
    cleaner: Cleaner = field(default_factory=Cleaner)
    waiting: list[bytes] = field(default_factory=list)
    size: int = 0
    """Bytes that wait."""
    due: float = 0.0
    """When they are fed; 0 while none wait."""
    lines: int = 0
    found: tuple[int, ...] = ()
    dirty: bool = False
    """Whether something came since the last look that may change the answer."""
    came: float = 0.0
    """When the latest line came."""
    looked: float = 0.0
    ours: bool = False
    """Whether something in it is vLLM's: collectors send what every container prints."""
    over: bool = False
    """Whether its end was told."""


class Streams:
    """All streams of a process. Not for several threads.

    Args:
        triage: The loaded rules.
        most: Streams at once; the one that was silent for longest makes room.
    """

    def __init__(self, triage: Triage, most: int = 2000) -> None:
        self._triage = triage
        self._most = most
        self._question = Question()
        self._streams: OrderedDict[StreamName, _Stream] = OrderedDict()

    def __len__(self) -> int:
        return len(self._streams)

    def take(self, name: StreamName, data: bytes, now: float) -> Iterator[Verdict]:
        """Take whole lines of a stream; yield the verdict of another one that makes room for it.

        Args:
            name: Of the stream.
            data: Lines, the last one with its end.
            now: Seconds on a clock that only goes forward.
        """
        stream = self._streams.get(name)
        if stream is None:
            if len(self._streams) >= self._most:
                yield from self._end(self._streams.popitem(last=False)[1], now)
            waits = self._triage.corpus.traits
            stream = _Stream(name, self._triage.start(self._question), Announcer(lambda bucket: waits(bucket).waits))
            self._streams[name] = stream
        self._streams.move_to_end(name)
        stream.waiting.append(data)
        stream.size += len(data)
        stream.came, stream.over = now, False
        wait = SOON if any(sign in data for sign in TROUBLE) else GATHER
        stream.due = min(stream.due or now + GATHER, now + wait)
        if stream.size >= FULL:
            self._feed(stream)

    def tick(self, now: float, looks: int = LOOKS) -> Iterator[Verdict]:
        """Feed and look at what is due; yield what is to be told.

        Args:
            now: Seconds on a clock that only goes forward.
            looks: Streams that are looked at; others wait for the next time, so that lines are taken meanwhile.
        """
        for stream in list(self._streams.values()):
            if stream.due and now >= stream.due:
                self._feed(stream)
            if looks and self._due(stream, now):
                looks -= 1
                yield from self._look(stream, now)
            elif looks and not stream.over and now - stream.came >= SILENT:
                looks -= 1
                yield from self._end(stream, now)

    def close(self, now: float) -> Iterator[Verdict]:
        """Yield what is to be told where nothing more comes."""
        for stream in self._streams.values():
            yield from self._end(stream, now)
        self._streams.clear()

    def _feed(self, stream: _Stream) -> None:
        data = _cut(b"".join(stream.waiting))
        stream.ours = stream.ours or is_ours(data)
        stream.waiting, stream.size, stream.due = [], 0, 0.0
        text = stream.cleaner.decode(data)
        if not stream.lines:
            stream.cleaner.look(text)
        text = stream.cleaner.clean(text)
        stream.session.feed(Block(text, stream.lines + 1, len(data)))
        stream.lines += data.count(b"\n")
        if (found := stream.session.found) != stream.found:
            stream.found, stream.dirty = found, True

    @staticmethod
    def _due(stream: _Stream, now: float) -> bool:
        return stream.dirty and not stream.due and (now - stream.came >= SETTLE or now - stream.looked >= LOOK_EVERY)

    def _look(self, stream: _Stream, now: float) -> Iterator[Verdict]:
        stream.dirty, stream.looked = False, now
        report = self._report(stream)
        if report is None:
            return
        told = stream.announcer.see(report, now)
        if told is None and now - stream.came >= SETTLE:
            # It has settled by its own silence, whenever it is looked at.
            told = stream.announcer.settle(now + SETTLE)
        if told is not None:
            yield _verdict(stream.name, told)

    def _end(self, stream: _Stream, now: float) -> Iterator[Verdict]:
        if stream.waiting:
            self._feed(stream)
        stream.over = True
        report = self._report(stream)
        if report is None:
            return
        told = stream.announcer.told
        stream.announcer.see(report, now)
        if report.failed and (told is None or told.cause != report.cause):
            stream.announcer.told = report
            yield Verdict(stream.name, "end", report)

    def _report(self, stream: _Stream) -> Report | None:
        """Return the answer so far; None where there is nothing to read, or it is about another program."""
        named = "vllm" in "/".join(stream.name).lower()
        if not (stream.ours or named):
            return None
        try:
            report = self._triage.peek(stream.session, self._question)
        except InputError:
            return None
        # A container that is called so may have failed before vLLM could say a word.
        return report if stream.ours or (report.decided_by == "rule" and report.bucket != "unknown") else None


def _verdict(name: StreamName, told: Announcement) -> Verdict:
    return Verdict(name, told.kind, told.report)


def _cut(data: bytes) -> bytes:
    """Return lines that have at most ``LINE`` bytes each."""
    if len(data) <= LINE:
        return data
    return b"".join(line if len(line) <= LINE else line[:LINE] + b"\n" for line in data.splitlines(keepends=True))
