"""Which line of the input a line is, where mending has split, joined or turned round lines on the way."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple


class Mended(NamedTuple):
    """What mending did to the line numbers of one block."""

    numbers: list[int]
    """For each line of the block, in order: which line of the raw block it begins in, 1-based."""
    raw: int
    """Newlines of the raw block."""


class Numbers:
    """From the number of a line as it was read to its number in the input.

    Args:
        read: Newlines read before the first block that was mended: up to there both numbers are the same.
    """

    def __init__(self, read: int) -> None:
        self._starts = [1]
        self._runs: list[list[int] | int] = [0]
        self._read = self._raw = read

    def note(self, newlines: int, mended: Mended | None) -> None:
        """Note the next block, that has so many newlines as it is read, and what mending did to it."""
        if mended is not None:
            self._begin([self._raw + number for number in mended.numbers])
        elif isinstance(self._runs[-1], list):
            self._begin(self._raw - self._read)
        self._read += newlines
        self._raw += newlines if mended is None else mended.raw

    def _begin(self, run: list[int] | int) -> None:
        self._starts.append(self._read + 1)
        self._runs.append(run)

    def original(self, number: int) -> int:
        """Return the 1-based number in the input of the line that was read as ``number``."""
        place = bisect_right(self._starts, number) - 1
        if place < 0:
            return number
        run = self._runs[place]
        if isinstance(run, int):
            return number + run
        return run[min(number - self._starts[place], len(run) - 1)] if run else number

    def lines(self, number: int) -> int:
        """Return how many lines the input has, of which ``number`` were read."""
        return max(self.original(number), number + self._raw - self._read)
