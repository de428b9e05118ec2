"""Needles: short strings of which every literal holds one, to look for instead where a log is small.

The automaton for four thousand literals takes longer to build than a small log to be read; that for some hundred needles a
third of it. What stands around each needle that is found tells which literals are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

SHORTEST, LONGEST = 4, 6
"""Bytes of a needle."""
RARE = 0.02
"""Occurrences in a thousand bytes of log that halve the worth of a needle."""


class Needles:
    """Needles, and what each stands for.

    Attributes:
        words: The needles.
        under: For each the literals that it was chosen for, by their positions, and where in them it begins.
    """

    __slots__ = ("under", "words")

    def __init__(self, words: list[bytes], under: list[list[tuple[int, int]]]) -> None:
        self.words = words
        self.under = under


def cover(literals: Sequence[bytes], sample: bytes) -> Needles:
    """Choose needles: few, and rare in a sample, by always taking the one that stands for most literals (some seconds).

    Args:
        literals: Without repetitions.
        sample: Text as logs have it.
    """
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
    return Needles(words, under)


def _parts(literal: bytes) -> set[bytes]:
    """Return what may be the needle of a literal: all of it where it is short."""
    if len(literal) <= SHORTEST:
        return {literal}
    sizes = range(SHORTEST, min(LONGEST, len(literal)) + 1)
    return {literal[at : at + size] for size in sizes for at in range(len(literal) - size + 1)}
