"""One pass over the bytes that finds where any rule may match.

A multi-pattern engine looks for the required literals of all rules at once: Aho-Corasick in Rust (ahocorasick_rs). The rules
themselves are tried only on the lines found.
"""

from __future__ import annotations

from collections import Counter
from operator import itemgetter

import ahocorasick_rs

from .needles import Needles

NEAR = 1 << 14
"""Bytes around an error in which all literals count."""

SMALL = 1 << 17
"""Bytes of a block up to which needles are looked for, where the automaton for all literals is not built yet."""
FEW = 3
"""Blocks for which that pays."""
FEWEST = 64
"""Occurrences of a needle in one block up to which nothing is said against it."""
DULL = 1 << 14
"""Bytes of a large log in which a needle stands once, from which on it is too frequent to be one."""


Found = list[tuple[int, int, int]]
"""Literals found: (literal, start, end), in order of their ends, overlaps included."""

_END_THEN_START = itemgetter(2, 1)


class Scanner:
    """Finds candidate positions in blocks of bytes.

    Args:
        words: The literals.
        rules: For each the rules that wait for it (none: structure only).
        needles: What to look for instead in small blocks; None looks for the literals in all.
    """

    def __init__(self, words: list[bytes], rules: list[list[int]], needles: Needles | None = None) -> None:
        self.words = words
        self.rules = rules
        """For each literal, the rules that wait for it (none: structure only)."""
        self._engine: ahocorasick_rs.BytesAhoCorasick | None = None
        self._needles = needles
        self._by_needles: ahocorasick_rs.BytesAhoCorasick | None = None
        self._few = FEW if needles is not None else 0
        self._steady: tuple[frozenset[int], SteadyScanner] | None = None

    def find(self, data: bytes) -> Found:
        """Return every literal in ``data``."""
        if self._engine is None:
            if self._few > 0 and len(data) <= SMALL and self._needles is not None:
                self._few -= 1
                return self._find_by(self._needles, data)
            # Built in a few milliseconds; the faster automaton for large logs takes longer to build.
            self._engine = ahocorasick_rs.BytesAhoCorasick(
                self.words, implementation=ahocorasick_rs.Implementation.ContiguousNFA
            )
        return self._engine.find_matches_as_indexes(data, overlapping=True)

    def _find_by(self, needles: Needles, data: bytes) -> Found:
        if self._by_needles is None:
            self._by_needles = ahocorasick_rs.BytesAhoCorasick(
                needles.words, implementation=ahocorasick_rs.Implementation.ContiguousNFA
            )
        return self.around(self._by_needles.find_matches_as_indexes(data, overlapping=True), needles, data)

    def around(self, hits: Found, needles: Needles, data: bytes) -> Found:
        """Return the literals that stand around needles that were found."""
        words, under = self.words, needles.under
        found: Found = []
        for needle, start, _ in hits:
            for word, before in under[needle]:
                at = start - before
                if at >= 0 and data.startswith(words[word], at):
                    found.append((word, at, at + len(words[word])))
        found.sort(key=_END_THEN_START)
        return found

    def needles_without(self, muted: frozenset[int], dull: set[bytes]) -> Needles | None:
        """Return needles for all literals but ``muted`` ones; None where there are none.

        Args:
            muted: Literals.
            dull: Needles that turned out to be frequent: the literals themselves are looked for instead of them.
        """
        if self._needles is None:
            return None
        words: list[bytes] = []
        under: list[list[tuple[int, int]]] = []
        for needle, holders in zip(self._needles.words, self._needles.under, strict=True):
            left = [item for item in holders if item[0] not in muted]
            if len(left) == len(holders) and needle not in dull:
                words.append(needle)
                under.append(left)
            else:
                words += [self.words[word] for word, _ in left]
                under += [[(word, 0)] for word, _ in left]
        return Needles(words, under)

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
        self._dull: set[bytes] = set()
        self._ids = [index for index in range(len(whole.words)) if index not in muted]
        self._search = self._made_ready()

    def _made_ready(self) -> tuple[ahocorasick_rs.BytesAhoCorasick, Needles | None]:
        """Return an automaton for needles, which takes a twentieth of the time to build; where there are none, for literals."""
        needles = self._whole.needles_without(self._muted, self._dull)
        words = needles.words if needles is not None else [self._whole.words[index] for index in self._ids]
        return ahocorasick_rs.BytesAhoCorasick(words, implementation=ahocorasick_rs.Implementation.DFA), needles

    def find(self, data: bytes) -> Found:
        """Return the literals in ``data`` that count."""
        ids, rules = self._ids, self._whole.rules
        # Read once: another thread may put a better one there meanwhile.
        automaton, needles = self._search
        hits = automaton.find_matches_as_indexes(data, overlapping=True)
        if needles is None:
            found = [(ids[word], start, end) for word, start, end in hits]
        else:
            found = self._whole.around(hits, needles, data)
            if len(hits) > FEWEST + len(data) // DULL:
                self._sharpen(hits, needles, len(data))
        near = [start for word, start, _ in found if not rules[word]]
        for first, last in _around(near, len(data)):
            found += [
                (word, start + first, end + first) for word, start, end in self._whole.find(data[first:last]) if word in self._muted
            ]  # fmt: skip
        return found

    def _sharpen(self, hits: Found, needles: Needles, size: int) -> None:
        """Look no longer for needles that stand everywhere in this log."""
        counts = Counter(map(itemgetter(0), hits))
        dull = {needles.words[needle] for needle, count in counts.items() if count > FEWEST + size // DULL}
        # A needle that is a literal itself has no better one.
        dull.difference_update(self._whole.words, self._dull)
        if dull:
            self._dull |= dull
            self._search = self._made_ready()


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
