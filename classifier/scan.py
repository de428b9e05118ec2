"""One pass over the bytes that finds where any rule may match.

A multi-pattern engine looks for the required literals of all rules at once: Aho-Corasick in Rust (ahocorasick_rs), or hyperscan
where the extra ``[fast]`` is installed and the input is large. The rules themselves are tried only on the lines found.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ahocorasick_rs

LARGE = 4 << 20
"""Bytes from which on the slower build of a faster automaton pays off."""

STRUCTURE = (
    "Traceback (most recent call last)", 'File "', "The above exception was the direct cause", "During handling of the above exception",
    "--- Logging error ---", "Error: ", "Exception: ", "ERROR ", "CRITICAL ", ".py in ", ".py](", "-> ",
)  # fmt: skip
"""Strings that make a line worth reading although no rule knows it: they build tracebacks."""


class Scanner:
    """Finds candidate positions in blocks of bytes.

    Args:
        literals: Pairs of a literal and the index of the rule that needs it.
    """

    def __init__(self, literals: Iterable[tuple[str, int]]) -> None:
        table: dict[bytes, list[int]] = {text.encode(): [] for text in STRUCTURE}
        for text, rule in literals:
            table.setdefault(text.encode(), []).append(rule)
        self.words = list(table)
        self.rules = list(table.values())
        """For each literal, the rules that wait for it (none: structure only)."""
        self._small: Any = None
        self._large: Any = None
        self._seen = 0

    def find(self, data: bytes) -> list[tuple[int, int, int]]:
        """Return (literal, start, end) for every literal in ``data``, in order of their ends; overlaps included."""
        self._seen += len(data)
        if self._seen < LARGE:
            if self._small is None:
                self._small = ahocorasick_rs.BytesAhoCorasick(self.words, implementation=ahocorasick_rs.Implementation.ContiguousNFA)
            return self._small.find_matches_as_indexes(data, overlapping=True)  # type: ignore[no-any-return]
        if self._large is None:
            self._large = _fast_engine(self.words) or ahocorasick_rs.BytesAhoCorasick(self.words, implementation=ahocorasick_rs.Implementation.DFA)
            self._small = None
        return self._large.find_matches_as_indexes(data, overlapping=True)  # type: ignore[no-any-return]


def _fast_engine(words: list[bytes]) -> Any:
    try:
        from .hyper import HyperscanEngine
    except ImportError:
        return None
    return HyperscanEngine(words)
