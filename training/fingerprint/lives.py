"""From when to when releases have each statement of vLLM, and where it went."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...corpus.code_lines import FILE, FUNCTION, NEVER, STATEMENT, mask_of
from .alike import alike, holds, shape_of, words_of
from .spots import is_served
from .statements import TELLING, Lines, Reader, Shown, Statement

Spot = tuple[str, Statement]
"""A file's path and a statement in it."""
FAR = 20
"""Moves that are followed."""


class Entry(NamedTuple):
    """Until when a physical line stands in a function of a file."""

    function: str
    code: str
    until: int
    """Number of the first release without it; ``NEVER`` where the newest has it."""
    gone: int
    """``STATEMENT``, ``FUNCTION`` or ``FILE``."""
    put_otherwise: int = NEVER
    """Number of the first release that has the line with other names or arguments; ``NEVER`` where none has."""
    dropped: int = 0
    """``mask_of`` the names that it has no longer since."""


class _Life:
    """A statement in one file."""

    __slots__ = ("born", "dropped", "gone", "moved", "until")

    def __init__(self, born: int) -> None:
        self.born = born
        self.dropped: int | None = None
        self.until = NEVER
        self.gone = STATEMENT
        self.moved: Spot | None = None


class Lives:
    """Takes up one release after the other, the oldest first."""

    def __init__(self) -> None:
        self.releases: list[str] = []
        self._reader = Reader()
        self._now: dict[str, tuple[bytes, Lines]] = {}
        self._lives: dict[Spot, _Life] = {}
        self._kept: dict[tuple[Spot, str], Spot] = {}
        """Lines of statements that are gone, with the statement that holds them since."""
        self._lines: defaultdict[str, defaultdict[tuple[str, str], set[Statement]]] = defaultdict(
            lambda: defaultdict(set)
        )

    def add(self, version: str, archive: Path) -> None:
        """Read a release's Python files."""
        number = len(self.releases)
        self.releases.append(version)
        self._reader.next_release()
        with zipfile.ZipFile(archive) as opened:
            files = {name: opened.read(name) for name in opened.namelist() if is_served(name)}
        before, born, died = self._now, list[Spot](), list[Spot]()
        now: dict[str, tuple[bytes, Lines]] = {}
        for path in before.keys() | files.keys():
            old = before.get(path, (b"", {}))
            content = files.get(path)
            if content is None:
                died += [(path, statement) for statement in old[1]]
                continue
            new = old if old[0] == content else (content, self._reader.lines(content))
            if new is not old:
                born += [(path, statement) for statement in new[1].keys() - old[1].keys()]
                died += [(path, statement) for statement in old[1].keys() - new[1].keys()]
                self._note(path, old[1], new[1])
            now[path] = new
        self._now = now
        # The same archives always give the same index.
        born.sort()
        for spot in born:
            known = self._lives.setdefault(spot, _Life(number))
            # What came back was not mended.
            known.until, known.gone, known.moved, known.dropped = NEVER, STATEMENT, None, None
        self._bury(died, born, before, number)

    def _note(self, path: str, before: Lines, after: Lines) -> None:
        rows = self._lines[path]
        for statement, shown in after.items():
            if before.get(statement) != shown:
                for line in shown.lines:
                    rows[statement.function, line].add(statement)

    def _bury(self, died: list[Spot], born: list[Spot], before: dict[str, tuple[bytes, Lines]], number: int) -> None:
        by_code: defaultdict[str, list[Spot]] = defaultdict(list)
        by_function: defaultdict[tuple[str, str], list[Spot]] = defaultdict(list)
        by_shape: defaultdict[tuple[str, str], list[Spot]] = defaultdict(list)
        for spot in born:
            if not spot[1].code:
                continue
            by_code[spot[1].code].append(spot)
            by_function[spot[0], spot[1].function].append(spot)
            by_shape[spot[1].function, shape_of(self._now[spot[0]][1][spot[1]].source)].append(spot)
        functions = {path: {statement.function for statement in lines} for path, (_, lines) in self._now.items()}
        for path, statement in died:
            life = self._lives[path, statement]
            life.until = number
            there = functions.get(path)
            life.gone = FILE if there is None else STATEMENT if statement.function in there else FUNCTION
            same = [spot for spot in by_code.get(statement.code, ()) if _moved(path, statement, spot, life.gone)]
            life.moved = _nearest(path, same)
            if life.moved is None and statement.code:
                source = before[path][1][statement].source
                near = by_shape.get((statement.function, shape_of(source)), ())
                # A function that stays has the line itself; one that is gone may be another file's now.
                near = [spot for spot in near if spot[0] == path or life.gone != STATEMENT]
                life.moved, life.dropped = self._put_otherwise(source, near)
            if life.moved is None and statement.code:
                self._keep((path, statement), before[path][1][statement], by_function[path, statement.function])

    def _keep(self, spot: Spot, shown: Shown, new: list[Spot]) -> None:
        """Note which lines of a statement that is gone stand in a new one of its function."""
        for line in shown.lines:
            for other in new:
                if holds(other[1].code, self._now[other[0]][1][other[1]].source, shown.source, line):
                    self._kept[spot, line] = other
                    break

    def _put_otherwise(self, source: str, near: list[Spot]) -> tuple[Spot | None, int | None]:
        """Return the new statement that is an old one put otherwise, and the mask of the names that it has no longer."""
        texts = [(self._now[spot[0]][1][spot[1]].source, spot) for spot in near]
        share, text, spot = max(((alike(source, text), text, spot) for text, spot in texts), default=(0.0, "", None))
        return (spot, mask_of(words_of(source) - words_of(text))) if share else (None, None)

    def entries(self) -> Iterator[tuple[str, list[Entry]]]:
        """Yield each file's path with the fates of its lines."""
        for path, lines in sorted(self._lines.items()):
            found = [
                Entry(function, code, *fate)
                for (function, code), statements in lines.items()
                for fate in self._fates(path, code, statements)
            ]
            yield path, found

    def _fates(self, path: str, line: str, statements: set[Statement]) -> Iterator[tuple[int, int, int, int]]:
        """Yield the ends of times in which statements with a line stood; those that overlap are one, which ends last."""
        spans = sorted((self._lives[path, each].born, self._fate((path, each), line)) for each in statements)
        last = spans[0][1]
        for born, fate in spans[1:]:
            if born >= last[0]:
                yield last
                last = fate
            elif fate[0] > last[0]:
                last = fate
        yield last

    def _fate(self, spot: Spot, line: str) -> tuple[int, int, int, int]:
        otherwise = (NEVER, 0)
        for _ in range(FAR):
            life = self._lives[spot]
            after = life.moved if life.until == NEVER else life.moved or self._kept.get((spot, line))
            if after is None:
                return life.until, life.gone, *otherwise
            if life.dropped and otherwise[0] == NEVER:
                otherwise = life.until, life.dropped
            spot = after
        return NEVER, STATEMENT, *otherwise


def _moved(path: str, statement: Statement, other: Spot, gone: int) -> bool:
    """Return whether a new statement is the old one in another place; what other files copy of a function that stays is none."""
    if path == other[0]:
        return True
    same = statement.function == other[1].function
    return gone != STATEMENT if same else len(statement.code) >= TELLING


def _nearest(path: str, spots: list[Spot]) -> Spot | None:
    """Return the place to which a statement was moved most likely: its own file, one of that name, the first of the others."""
    name = path.rpartition("/")[2]
    return min(spots, key=lambda spot: (spot[0] != path, spot[0].rpartition("/")[2] != name, spot), default=None)
