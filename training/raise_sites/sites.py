"""The cards of all releases, for corpus/raise_sites/cards.bin."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from ...corpus import options
from ...corpus.raise_sites import INDEX, MAGIC, columns
from ...corpus.shards import Writer
from .guards import Card, cards

FILE = INDEX
Site = tuple[str, Card]
"""A file's name and a card of it."""


class Sites:
    """Takes up one release after the other, the oldest first.

    Attributes:
        releases: That were taken up.
        spans: Each card with the numbers of the first and the last release that have it.
    """

    def __init__(self) -> None:
        self.releases: list[str] = []
        self.spans: dict[Site, tuple[int, int]] = {}
        self._before: dict[str, tuple[int, list[Site]]] = {}

    def add(self, version: str, archive: Path) -> None:
        """Read a release's Python files."""
        number = len(self.releases)
        self.releases.append(version)
        is_option = options_of(version)
        now: dict[str, tuple[int, list[Site]]] = {}
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                path = info.filename
                known = self._before.get(path)
                if known is None or known[0] != info.CRC:
                    text, name = opened.read(info).decode("utf-8", "replace"), path.rpartition("/")[2]
                    known = (info.CRC, [(name, card) for card in cards(path, text, is_option)])
                now[path] = known
        self._before = now
        for _, sites in now.values():
            for site in sites:
                self.spans[site] = (self.spans.get(site, (number, 0))[0], number)

    def packed(self) -> bytes:
        """Return the index in the layout that ``corpus/raise_sites`` describes."""
        rows: list[tuple[int, str]] = []
        heads: set[int] = set()
        for (file, card), (first, last) in self.spans.items():
            key, length, total = columns(card.message, file, card.function, card.line)
            if length:
                heads.add(key)
            row = (file, card.function, card.guard, "|".join(card.sources), first, last, length, total)
            rows.append((key, "\t".join(map(str, row))))
        made = Writer()
        head: dict[str, object] = {
            "releases": self.releases,
            "heads": made.add(b"".join(each.to_bytes(4, "little") for each in sorted(heads))),
            **made.add_rows(rows),
        }
        return made.finish(MAGIC, head)


def options_of(version: str) -> Callable[[str], bool]:
    """Return what tells whether a name is an option of a release, or of the first that the table covers."""
    covered = options.releases()
    release = version if version in covered else covered[0]
    return lru_cache(maxsize=None)(lambda name: options.exists(name, release) is True)


def made(archives: Mapping[str, Path]) -> bytes:
    """Return the index of these releases, oldest first."""
    sites = Sites()
    for version, archive in archives.items():
        sites.add(version, archive)
    return sites.packed()
