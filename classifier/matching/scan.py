"""One pass over the bytes that finds where any rule may match.

A multi-pattern engine looks for the required literals of all rules at once: Aho-Corasick in Rust (ahocorasick_rs). The rules
themselves are tried only on the lines found.
"""

from __future__ import annotations

from collections.abc import Iterable

import ahocorasick_rs

NEAR = 1 << 14
"""Bytes around an error in which all literals count."""

STRUCTURE = (
    "Traceback (most recent call last)", 'File "', "The above exception was the direct cause", "During handling of the above exception",
    "--- Logging error ---", "Error: ", "Exception: ", "ERROR ", "CRITICAL ", ".py in ", ".py](", "-> ", "Fatal Python error: ", "terminate called after throwing",
)  # fmt: skip
"""Strings that make a line worth reading although no rule knows it: they build tracebacks."""


Found = list[tuple[int, int, int]]
"""Literals found: (literal, start, end), in order of their ends, overlaps included."""


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
        self._engine: ahocorasick_rs.BytesAhoCorasick | None = None
        self._steady: tuple[frozenset[int], SteadyScanner] | None = None

    def find(self, data: bytes) -> Found:
        """Return every literal in ``data``."""
        if self._engine is None:
            # Built in a few milliseconds; the faster automaton for large logs takes longer to build.
            self._engine = ahocorasick_rs.BytesAhoCorasick(
                self.words, implementation=ahocorasick_rs.Implementation.ContiguousNFA
            )
        return self._engine.find_matches_as_indexes(data, overlapping=True)

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
        self._ids = [index for index in range(len(whole.words)) if index not in muted]
        words = [whole.words[index] for index in self._ids]
        self._engine = ahocorasick_rs.BytesAhoCorasick(words, implementation=ahocorasick_rs.Implementation.DFA)

    def find(self, data: bytes) -> Found:
        """Return the literals in ``data`` that count."""
        ids, rules = self._ids, self._whole.rules
        found = [
            (ids[word], start, end) for word, start, end in self._engine.find_matches_as_indexes(data, overlapping=True)
        ]
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
