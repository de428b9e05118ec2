"""In which releases vLLM's statements came to be guarded or fed otherwise, though they stand word for word."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ...corpus.code_slices import GONE
from .functions import File
from .guards import Body, Guarded, piece_of
from .mends import Mend, given, mended
from .spots import is_served

_ALIKE = 0.4
"""Share of words that two messages have in common, where one is the other put otherwise."""


class Place(NamedTuple):
    """What changes: a line in a function, or a message of a file (without a function)."""

    path: str
    function: str
    text: str
    message: bool = False


class Slices:
    """Takes up one release after the other, the oldest first.

    Attributes:
        releases: That were taken up.
        changes: Place → number of the release in which it changed → how.
        said: Messages that files raise on purpose, with the files' paths.
        last: Message → number of the last release of which a file has it.
    """

    def __init__(self) -> None:
        self.releases: list[str] = []
        self.changes: defaultdict[Place, dict[int, Mend]] = defaultdict(dict)
        self.said: set[tuple[str, str]] = set()
        self.last: dict[str, int] = {}
        self._now: dict[str, File] = {}

    def add(self, version: str, archive: Path) -> None:
        """Read a release's Python files."""
        number = len(self.releases)
        self.releases.append(version)
        now = {}
        with zipfile.ZipFile(archive) as opened:
            for path in filter(is_served, opened.namelist()):
                content, old = opened.read(path), self._now.get(path)
                now[path] = old if old is not None and old.content == content else File(content, old)
        for path, file in now.items():
            self.last.update(dict.fromkeys(file.messages, number))
            self.said.update((path, message) for message in file.messages)
        for path in sorted(now):
            old, new = self._now.get(path), now[path]
            if old is not None and old is not new:
                self._compare(path, old, new, number)
        self._now = now

    def final(self) -> Iterator[tuple[Place, dict[int, Mend]]]:
        """Yield what changed, without messages that are said again later, in another file perhaps."""
        last = len(self.releases) - 1
        text = "\n".join(message for message, number in self.last.items() if number == last)
        for place, changes in sorted(self.changes.items()):
            kept = {at: mend for at, mend in changes.items() if mend.how != GONE or piece_of(place.text) not in text}
            if kept:
                yield place, kept

    def _compare(self, path: str, old: File, new: File, number: int) -> None:
        found: defaultdict[Place, list[Mend]] = defaultdict(list)
        fresh = new.messages - old.messages
        for name, body in old.functions.items():
            there = new.functions.get(name)
            codes = {each.code for each in body.statements}
            added = [each for each in there.statements if each.code not in codes] if there is not None else []
            for one, other in _pairs(body, there, fresh):
                mend = Mend() if one.raises else given(one, added)
                if there is not None and other is not None:
                    mend = mended(one, old.items(name, one), new.items(name, other), there.sets)
                elif (
                    there is not None and one.raises and self.last[one.code] != number and not _similar(one.code, fresh)
                ):
                    mend = Mend(GONE)
                for place in _places(path, name, one):
                    found[place].append(mend)
        for place, mends in found.items():
            # A line that stands in several functions of one name says only what holds for all of them.
            if all(mend.how for mend in mends):
                self.changes[place][number] = max(mends, key=lambda mend: mend.how)


def _pairs(old: Body, new: Body | None, fresh: frozenset[str]) -> Iterator[tuple[Guarded, Guarded | None]]:
    """Yield each statement of a function with what it is later; None where it is gone, or more than one could be it."""
    there = _by_code(new)
    for code, ones in _by_code(old).items():
        others: list[Guarded] = there.get(code, [])
        if not others and ones[0].raises:
            others = _reworded(code, there, fresh)
        for at, one in enumerate(ones):
            yield one, others[at] if len(others) == len(ones) else None


def _by_code(body: Body | None) -> dict[str, list[Guarded]]:
    found: defaultdict[str, list[Guarded]] = defaultdict(list)
    for each in body.statements if body is not None else ():
        found[each.code].append(each)
    return found


def _places(path: str, name: str, statement: Guarded) -> Iterator[Place]:
    if statement.raises:
        yield Place(path, "", statement.code, True)
    function = name.rpartition(".")[2]
    for line in statement.shown.lines:
        yield Place(path, function, line)


def _reworded(message: str, there: dict[str, list[Guarded]], fresh: Iterable[str]) -> list[Guarded]:
    """Return what a function raises since in other words than a message."""
    same = [code for code in fresh if code in there and there[code][0].raises]
    return next((there[code] for code in _similar(message, same)), [])


def _similar(message: str, others: Iterable[str]) -> list[str]:
    """Return those of some messages that can be one put otherwise, the most similar first."""
    words = set(message.lower().split())
    share = {}
    for other in others:
        there = set(other.lower().split())
        share[other] = len(words & there) / (min(len(words), len(there)) or 1)
    return sorted((other for other in share if share[other] >= _ALIKE), key=lambda other: (-share[other], other))
