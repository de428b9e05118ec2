"""The end of a log, kept however long the log is: for what counts only as the last of its kind."""

from __future__ import annotations

from .prefix import split_line
from .types import Line

SIZE = 1 << 16
"""Bytes kept of the end of the log."""
LINE = 16384
"""Bytes of one line that are looked at; beyond, windows around the literals of rules."""


class Tail:
    """The last bytes of what has been read so far.

    Attributes:
        data: The bytes, ``SIZE`` at most.
        number: The number of the line that they begin in.
    """

    __slots__ = ("data", "number")

    def __init__(self) -> None:
        self.data = b""
        self.number = 1

    def extend(self, data: bytes, last: int) -> None:
        """Add what was read; ``last`` is the number of the line that it ends in."""
        self.data = data[-SIZE:] if len(data) >= SIZE else (self.data + data)[-SIZE:]
        self.number = last - self.data.count(b"\n")

    def line_at(self, at: int) -> tuple[Line, int, int]:
        """Return the line that holds the byte ``at``, peeled, with its start and end among the bytes."""
        start = max(self.data.rfind(b"\n", 0, at), self.data.rfind(b"\r", 0, at)) + 1
        end = self.data.find(b"\n", at)
        end = len(self.data) if end < 0 else end
        number = self.number + self.data.count(b"\n", 0, start)
        return split_line(number, self.data[start:end].decode("utf-8", "replace")), start, end

    def lines(self, count: int = 60) -> list[Line]:
        """Return the last ``count`` lines that are not empty, peeled."""
        pieces = self.data.split(b"\n")
        found: list[Line] = []
        for place in range(len(pieces) - 1, -1, -1):
            parts = [part for part in pieces[place].split(b"\r") if part.strip()]
            found += [
                split_line(self.number + place, part[:LINE].decode("utf-8", "replace")) for part in reversed(parts)
            ]
            if len(found) >= count:
                break
        return found[:count][::-1]
