"""One pass over the bytes that finds where any rule may match.

A multi-pattern engine looks for the required literals of all rules at once: Aho-Corasick in Rust (ahocorasick_rs). The rules
themselves are tried only on the lines found.
"""

from __future__ import annotations

from .needles import Needles
from .search import Found, Search

__all__ = ["Found", "Scanner", "SteadyScanner"]

NEAR = 1 << 14
"""Bytes around an error in which all literals count."""

SMALL = 1 << 17
"""Bytes of a block up to which the automaton that is built sooner is used, while there is no other."""
FEW = 3
"""Blocks for which that pays."""


class Scanner:
    """Finds candidate positions in blocks of bytes.

    Args:
        words: The literals.
        rules: For each the rules that wait for it (none: structure only).
        needles: What to look for instead; None looks for the literals.
    """

    def __init__(self, words: list[bytes], rules: list[list[int]], needles: Needles | None = None) -> None:
        self.words = words
        self.rules = rules
        """For each literal, the rules that wait for it (none: structure only)."""
        self.needles = needles
        self._search: Search | None = None
        self._first: Search | None = None
        self._few = FEW if needles is not None else 0
        self._steady: tuple[frozenset[int], SteadyScanner] | None = None
        self._begins: dict[bytes, tuple[bytes, ...]] = {}

    def find(self, data: bytes, size: int = 0) -> Found:
        """Return every literal in ``data``, which may be a part of a block of ``size`` bytes."""
        if self._search is None:
            if self._few > 0 and max(size, len(data)) <= SMALL:
                self._few -= 1
                if self._first is None:
                    self._first = Search(self.words, self.needles, fast=False)
                return self._first.find(data)
            self._search = Search(self.words, self.needles, fast=self.needles is not None)
        return self._search.find(data)

    def find_part(self, data: bytes) -> Found:
        """Return every literal in a few lines, with whatever finds them in the blocks that they are of."""
        search = self._search or self._first
        return search.find(data) if search is not None else self.find(data)

    def begins(self, mark: bytes) -> tuple[bytes, ...]:
        """Return how literals begin that hold a mark, where more of them stands on both of its sides: up to its end."""
        if mark not in self._begins:
            self._begins[mark] = tuple({
                word[: at + len(mark)]
                for word in self.words if mark in word
                for at in range(1, len(word) - len(mark)) if word.startswith(mark, at)
            })  # fmt: skip
        return self._begins[mark]

    def steady(self, muted: frozenset[int]) -> SteadyScanner:
        """Return a scanner for the rest of a large log, which looks for ``muted`` literals near errors alone."""
        # Read once: another thread may put that of its own log there meanwhile.
        steady = self._steady
        if steady is None or steady[0] != muted:
            steady = self._steady = (muted, SteadyScanner(self, muted))
        return steady[1]


class SteadyScanner:
    """Finds what is rare in a large log; what stands everywhere in it is looked for near errors alone.

    The literals that a log holds on every other line tell nothing new, but finding each of them would cost most of the time.
    """

    def __init__(self, whole: Scanner, muted: frozenset[int]) -> None:
        self._whole = whole
        self._muted = muted
        self._search = Search(whole.words, whole.needles, muted)

    def find(self, data: bytes, size: int = 0) -> Found:  # noqa: ARG002 - as of the other scanner
        """Return the literals in ``data``, a whole block, that count."""
        rules = self._whole.rules
        found = self._search.find(data)
        near = [start for word, start, _ in found if not rules[word]]
        for first, last in _around(near, len(data)):
            found += [
                (word, start + first, end + first) for word, start, end in self._whole.find(data[first:last]) if word in self._muted
            ]  # fmt: skip
        return found


def _around(marks: list[int], size: int) -> list[tuple[int, int]]:
    """Return the stretches of ``NEAR`` bytes around ordered ``marks``, merged where they meet."""
    stretches: list[tuple[int, int]] = []
    for mark in sorted(marks):
        first, last = max(0, mark - NEAR), min(size, mark + NEAR)
        if stretches and first <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], last)
        else:
            stretches.append((first, last))
    return stretches
