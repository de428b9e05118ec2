"""Looks for the periodic lines of a log while it is read, at next to no cost.

A small log is looked through whole. Of each block of a large one only the beginning is: a server prints its statistics
every few seconds, so that a stretch of each block shows how it did then. The end of the log is looked through whole.

Most logs that are shown to us have no such line: what reads them is imported when the first one is found.
"""

from __future__ import annotations

from ..lines.tail import Tail
from .marks import DRAFTS, LONGEST, STATISTICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .notes import Notes
    from .types import Records

WHOLE = 2 << 20
"""Bytes of a start that are looked through whole."""
WHOLE_OF_LOG = 16 << 20
"""The same for all starts of a log together: a crash loop has thousands."""
STRETCH = 1 << 13
"""Bytes of each further block that are looked through."""
LATEST = 2
"""Latest blocks that are kept until it is known whether the log ends with them: its end is looked through whole."""
AFTER = 1200
"""Bytes after a line of statistics within which the one about speculative decoding stands, if there is one."""


class Recorder:
    """Fed with the blocks of one server's log, in order."""

    __slots__ = ("_notes", "_read", "_read_before", "_waiting")

    def __init__(self) -> None:
        self._notes: Notes | None = None
        self._waiting: list[tuple[bytes, int, int]] = []
        """The latest blocks, with the number of their first line and how much of them is enough if more follow."""
        self._read = self._read_before = 0

    def read(self, data: bytes, number: int) -> None:
        """Read a block.

        Args:
            data: Whole lines.
            number: Number of the first.
        """
        whole = self._read < WHOLE and self._read_before < WHOLE_OF_LOG
        self._read += len(data)
        self._waiting.append((data, number, len(data) if whole else STRETCH))
        if len(self._waiting) > LATEST:
            self._look(*self._waiting.pop(0))

    def cut(self, last: int) -> Records | None:
        """Return what belongs to the start that ends on line ``last``, and go on with the one after it."""
        self._look_at_latest()
        self._read_before += self._read
        self._read = 0
        return self._notes.cut(last) if self._notes is not None else None

    def finish(self, tail: Tail, last: int) -> Records | None:
        """Read the end of the log, which is line ``last``, and return what belongs to the last start."""
        self._look_at_latest()
        if self._notes is None and DRAFTS in tail.data:
            # Somebody's excerpt of the lines about speculative decoding alone.
            self._only_drafts(tail.data, tail.number)
        return self._notes.finish(tail, last) if self._notes is not None else None

    def _look_at_latest(self) -> None:
        """Look through what came last, whole: that is what counts."""
        for data, number, _ in self._waiting:
            self._look(data, number, len(data))
        self._waiting.clear()

    def _look(self, data: bytes, number: int, until: int) -> None:
        """Note the lines of statistics that begin before ``until``, with the drafts' after them."""
        at = data.find(STATISTICS, 0, until)
        counted, line = 0, number
        while at >= 0:
            line += data.count(b"\n", counted, at)
            counted = at
            end = data.find(b"\n", at, at + LONGEST)
            end = at + LONGEST if end < 0 else end
            notes = self._open()
            notes.statistics(data, at, end, line)
            spoken = data.find(DRAFTS, end, end + AFTER)
            if spoken >= 0:
                notes.draft(data, spoken, line + data.count(b"\n", at, spoken))
            at = data.find(STATISTICS, end, until)

    def _only_drafts(self, data: bytes, number: int) -> None:
        at = data.find(DRAFTS)
        while at >= 0:
            self._open().draft(data, at, number + data.count(b"\n", 0, at))
            at = data.find(DRAFTS, at + 1)

    def _open(self) -> Notes:
        if self._notes is None:
            from .notes import Notes

            self._notes = Notes()
        return self._notes
