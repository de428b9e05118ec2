"""Where a few words stand in a text that holds none of them, or few.

Searching for one word after the other passes over the text as often as there are words. Up to 64 of them are found in one
pass at many bytes a step (Teddy, in Rust); that pays from some kilobytes on.
"""

from __future__ import annotations

import ahocorasick_rs

SMALL = 1 << 14
"""Bytes of a text up to which the words are searched for one by one."""


class RareWords:
    """Some words, of at least two bytes each; the search for them is made ready when a text is large enough.

    Args:
        words: At most 64.
    """

    __slots__ = ("_automaton", "words")

    def __init__(self, words: tuple[bytes, ...]) -> None:
        self.words = words
        self._automaton: ahocorasick_rs.BytesAhoCorasick | None = None

    def any_in(self, data: bytes) -> bool:
        """Return whether any of them stands in ``data``; costs more where they stand there often."""
        if len(data) <= SMALL:
            return any(word in data for word in self.words)
        return bool(self._search(data))

    def starts_in(self, data: bytes) -> list[int]:
        """Return where they begin in ``data``, in order; of words that overlap, the first."""
        if len(data) <= SMALL and not any(word in data for word in self.words):
            return []
        return [start for _, start, _ in self._search(data)]

    def _search(self, data: bytes) -> list[tuple[int, int, int]]:
        if self._automaton is None:
            self._automaton = ahocorasick_rs.BytesAhoCorasick(
                self.words, matchkind=ahocorasick_rs.MatchKind.LeftmostFirst
            )
        return self._automaton.find_matches_as_indexes(data)
