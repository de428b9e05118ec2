"""In the browser in the place of the package ``ahocorasick_rs``, which has no build for WebAssembly: the same finds, more slowly.

Words are looked for by their first four characters: a text holds few different ones, so that most words cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

HEAD = 4
Found = list[tuple[int, int, int]]


class Implementation:
    """Kinds of automata; here all are one."""

    ContiguousNFA = DFA = None


class MatchKind:
    """What counts as a find; here each does."""

    Standard = LeftmostFirst = None


class AhoCorasick:
    """Finds many words at once, in text or in bytes.

    Args:
        words: What to look for.
        options: Of no meaning here.
    """

    def __init__(self, words: Iterable[Any], **options: object) -> None:
        del options
        self._by_head: dict[Any, list[tuple[int, Any]]] = {}
        self._short: list[tuple[int, Any]] = []
        for index, word in enumerate(words):
            if len(word) < HEAD:
                self._short.append((index, word))
            else:
                self._by_head.setdefault(word[:HEAD], []).append((index, word))

    def find_matches_as_indexes(self, data: Any, overlapping: bool = False) -> Found:
        """Return word, start and end of each find, in the order of their ends."""
        del overlapping
        found: Found = []
        there = {data[at : at + HEAD] for at in range(len(data) - HEAD + 1)}
        words = [item for head in self._by_head.keys() & there for item in self._by_head[head]]
        for index, word in [*self._short, *words]:
            at = data.find(word)
            while at >= 0:
                found.append((index, at, at + len(word)))
                at = data.find(word, at + 1)
        found.sort(key=lambda item: (item[2], item[1]))
        return found


BytesAhoCorasick = AhoCorasick
