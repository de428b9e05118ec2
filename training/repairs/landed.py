"""The first release that has a commit: by the lines that it added, and by what landed before and after it."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from .history import Commit

_TELLING = 12
_LINES = 8
"""Lines of a commit that are looked for, the longest."""
_SHARE = 0.7
_PICKED = 3
"""Releases before the branch's own into which a commit is taken over at most (``0.8.5.post1`` for ``0.9.0``)."""


class Landings:
    """Looks for what commits added in the releases."""

    def __init__(self) -> None:
        self._wanted: defaultdict[str, dict[str, list[int]]] = defaultdict(dict)
        self._places: list[int] = []
        self._count: list[int] = []
        self._had: list[list[int]] = []

    def add(self, commit: Commit) -> None:
        """Take up a commit."""
        number = len(self._places)
        lines = []
        for edit in commit.edits:
            rows, before = edit.new.split("\n"), {row.strip() for row in edit.old.split("\n")}
            added = {rows[at - 1].strip() for at in edit.added if at <= len(rows)} - before
            lines += [(edit.path, line) for line in added if len(line) >= _TELLING and not line.startswith("#")]
        lines = sorted(lines, key=lambda each: (-len(each[1]), each))[:_LINES]
        for path, line in lines:
            self._wanted[path].setdefault(line, []).append(number)
        self._places.append(commit.place)
        self._count.append(len(lines))

    def releases(self, archives: Sequence[Path]) -> list[int]:
        """Return for each commit the number of the first release that has it, -1 for none.

        Args:
            archives: Of the releases' Python files, the oldest release first.
        """
        before: dict[tuple[str, int], set[str]] = {}
        for archive in archives:
            had = [0] * len(self._places)
            now = {}
            with zipfile.ZipFile(archive) as opened:
                for info in opened.infolist():
                    wanted = self._wanted.get(info.filename)
                    if wanted is None:
                        continue
                    key = info.filename, info.CRC
                    there = before.get(key)
                    if there is None:
                        rows = opened.read(info).decode("utf-8", "replace").splitlines()
                        there = {row.strip() for row in rows} & wanted.keys()
                    now[key] = there
                    for line in there:
                        for number in wanted[line]:
                            had[number] += 1
            self._had.append(had)
            before = now
        first = [self._first(number) for number in range(len(self._places))]
        cuts = [self._cut(first, release) for release in range(len(archives))]
        return [self._settled(first[at], place, cuts) for at, place in enumerate(self._places)]

    def _first(self, number: int) -> int:
        """Return the first release with most of a commit's lines; -1 where none has them."""
        least = max(1, round(self._count[number] * _SHARE))
        return next((at for at, had in enumerate(self._had) if had[number] >= least), -1)

    def _cut(self, first: Iterable[int], release: int) -> int:
        """Return the place in the history from which on commits are not in a release: that with the fewest exceptions."""
        rows = sorted(zip(self._places, first, strict=True))
        wrong = sum(1 for _, at in rows if 0 <= at <= release)
        best, cut = wrong, 0
        for place, at in rows:
            if at >= 0:
                wrong += -1 if at <= release else 1
            if wrong < best:
                best, cut = wrong, place + 1
        return cut

    @staticmethod
    def _settled(first: int, place: int, cuts: Sequence[int]) -> int:
        own = next((at for at, cut in enumerate(cuts) if place < cut), -1)
        picked = first >= 0 and (own - _PICKED <= first < own or (own < 0 and first >= len(cuts) - 1))
        return first if picked else own
