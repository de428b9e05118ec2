"""All releases of one file as one sequence of lines, each with the releases between which it stood there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

FOREVER = 1 << 30
"""Where a line ends that the newest release still has."""


class Block(NamedTuple):
    """Lines that came and went together."""

    born: int
    """Number of the first release that has them."""
    died: int
    """Number of the first later release that has them no longer; ``FOREVER`` where there is none."""
    lines: tuple[str, ...]


class Weave:
    """The lines of a file over all releases, in an order of which every release's lines are a part."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, int, str]] = []

    def add(self, release: int, lines: Sequence[str]) -> None:
        """Take up how the file stands in ``release``; releases come in order. No lines: the file is gone."""
        there = [place for place, line in enumerate(self._lines) if line[1] == FOREVER]
        old = [self._lines[place][2] for place in there]
        woven: list[tuple[int, int, str]] = []
        done = 0
        for kind, first, last, start, stop in SequenceMatcher(None, old, lines).get_opcodes():
            if last > first:
                end = there[last - 1] + 1
                part = self._lines[done:end]
                woven += part if kind == "equal" else [_ended(line, release) for line in part]
                done = end
            if kind in ("insert", "replace"):
                woven += [(release, FOREVER, line) for line in lines[start:stop]]
        self._lines = woven + self._lines[done:]

    def lines(self, release: int) -> list[str]:
        """Return the file as it stood in ``release``."""
        return [line for born, died, line in self._lines if born <= release < died]

    def blocks(self) -> Iterator[Block]:
        """Yield neighbouring lines of the same releases as one block."""
        first = 0
        for place in range(1, len(self._lines) + 1):
            if place == len(self._lines) or self._lines[place][:2] != self._lines[first][:2]:
                yield Block(*self._lines[first][:2], tuple(line[2] for line in self._lines[first:place]))
                first = place


def _ended(line: tuple[int, int, str], release: int) -> tuple[int, int, str]:
    return (line[0], release, line[2]) if line[1] == FOREVER else line
