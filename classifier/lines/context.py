"""Keeps the lines around those that an answer may show: they are gone once their block is read."""

from __future__ import annotations

BEFORE, AFTER = 6, 8
"""Lines kept before and after a line."""
SPAN = 4096
"""Bytes kept on either side."""
KEPT = 240
"""Lines of one server start whose surroundings are kept."""


class Contexts:
    """The surroundings of lines of one server start, as raw bytes until they are asked for."""

    def __init__(self) -> None:
        self._kept: dict[int, list[bytes]] = {}
        self._short: list[int] = []

    def keep(self, number: int, block: tuple[bytes, int, int], earlier: bytes) -> None:
        """Keep what surrounds a line.

        Args:
            number: Of the line.
            block: The block that holds it, with the line's start and end there.
            earlier: The end of the log before that block.
        """
        if number in self._kept or self.full:
            return
        data, start, end = block
        before = data[max(0, start - SPAN) : start]
        if start < SPAN and before.count(b"\n") < BEFORE:
            before = earlier[-SPAN:] + before
        after = data[end : end + SPAN]
        self._kept[number] = [before, data[start : min(end, start + 2 * SPAN)], after]
        if len(after) < SPAN and after.count(b"\n") <= AFTER:
            self._short.append(number)

    @property
    def full(self) -> bool:
        """Whether no more lines are kept."""
        return len(self._kept) >= KEPT

    @property
    def numbers(self) -> list[int]:
        """Which lines these are."""
        return list(self._kept)

    def extend(self, data: bytes) -> None:
        """Add the begin of the next block to what was cut off by the end of the last."""
        for number in self._short:
            kept = self._kept[number]
            kept[2] = (kept[2] + data[:SPAN])[:SPAN]
        self._short = [number for number in self._short if self._kept[number][2].count(b"\n") <= AFTER]

    def lines(self, number: int, before: int = BEFORE) -> list[tuple[int, str, str]]:
        """Return number, text and process of the lines around one, itself included; empty where none were kept."""
        if number not in self._kept:
            return []
        from .prefix import split_line

        earlier, middle, after = self._kept[number]
        above = earlier.split(b"\n")
        # The last piece is what stands before the line's own start; the first may be the rest of a line.
        above = above[1 if len(earlier) >= SPAN else 0 : -1][-before:]
        below = after.split(b"\n")[1 : AFTER + 2]
        if below and len(below) <= AFTER and (not below[-1] or len(after) >= SPAN):
            below.pop()  # what follows the last line end, or the begin of a line
        pieces = [*above, middle, *below[:AFTER]]
        found = []
        for offset, piece in enumerate(pieces, number - len(above)):
            line = split_line(offset, piece.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace"))
            found.append((offset, line.raw or line.text, line.process))
        return found
