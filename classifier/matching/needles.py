"""Needles: short strings of which every literal holds one, to look for instead where a log is small.

The automaton for four thousand literals takes longer to build than a small log to be read; that for some hundred needles a
third of it. What stands around each needle that is found tells which literals are there.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

Holders: TypeAlias = "list[tuple[int, int]]"
Under: TypeAlias = "Sequence[Holders]"
SHORTEST, LONGEST = 4, 6
"""Bytes of a needle."""
RARE = 0.02
"""Occurrences in a thousand bytes of log that halve the worth of a needle."""


class Needles:
    """Needles, and what each stands for.

    Attributes:
        words: The needles.
        under: For each the literals that it was chosen for, by their positions, and where in them it begins.
        alone: For each the literal that it is, if it is one and stands for no other.
    """

    __slots__ = ("alone", "under", "words")

    def __init__(self, words: list[bytes], under: Under, alone: list[int | None]) -> None:
        self.words = words
        self.under = under
        self.alone = alone

    def packed(self) -> tuple[list[bytes], list[bytes], list[int | None]]:
        """Return the form in which a plan stores them."""
        return self.words, [marshal.dumps(holders) for holders in self.under], self.alone


class Packed(Sequence["Holders"]):
    """What needles stand for, each unpacked when it is asked for: few of a thousand stand in a log."""

    __slots__ = ("_made", "_rows")

    def __init__(self, rows: list[bytes]) -> None:
        self._rows = rows
        self._made: dict[int, Holders] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._rows)

    def __getitem__(self, needle: int) -> Holders:  # type: ignore[override] # nobody asks for a slice
        """Return what a needle stands for."""
        made = self._made.get(needle)
        if made is None:
            made = self._made[needle] = marshal.loads(self._rows[needle])  # noqa: S302 - our own file
        return made


def needles_of(words: list[bytes], under: list[Holders], literals: Sequence[bytes]) -> Needles:
    """Return needles whose literals are known."""
    alone = [
        holders[0][0] if len(holders) == 1 and literals[holders[0][0]] == needle else None
        for needle, holders in zip(words, under, strict=True)
    ]
    return Needles(words, under, alone)


def cover(literals: Sequence[bytes], sample: bytes) -> Needles:
    """Choose needles: few, and rare in a sample, by always taking the one that stands for most literals (some seconds).

    Args:
        literals: Without repetitions.
        sample: Text as logs have it.
    """
    from heapq import heapify, heappop, heappush

    holders: dict[bytes, list[int]] = {}
    for index, literal in enumerate(literals):
        for part in _parts(literal):
            holders.setdefault(part, []).append(index)
    seen: dict[bytes, int] = {}
    for size in range(SHORTEST, LONGEST + 1):
        for at in range(len(sample) - size + 1):
            part = sample[at : at + size]
            seen[part] = seen.get(part, 0) + 1
    cost = {part: 1 + seen.get(part, 0) * 1000 / (len(sample) + 1) / RARE for part in holders}
    heap = [(-len(found) / cost[part], part) for part, found in holders.items()]
    heapify(heap)
    left = set(range(len(literals)))
    words: list[bytes] = []
    under: list[list[tuple[int, int]]] = []
    while left:
        _, part = heappop(heap)
        found = [index for index in holders[part] if index in left]
        now = -len(found) / cost[part]
        if found and heap and now > heap[0][0]:
            # Others were chosen meanwhile for some of its literals: it may not be the best any more.
            heappush(heap, (now, part))
        elif found:
            words.append(part)
            under.append([(index, literals[index].find(part)) for index in found])
            left.difference_update(found)
    return needles_of(words, under, literals)


def _parts(literal: bytes) -> set[bytes]:
    """Return what may be the needle of a literal: all of it where it is short."""
    if len(literal) <= SHORTEST:
        return {literal}
    sizes = range(SHORTEST, min(LONGEST, len(literal)) + 1)
    return {literal[at : at + size] for size in sizes for at in range(len(literal) - size + 1)}
