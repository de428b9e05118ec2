"""Writes the index in the layout that ``classifier/facts/fingerprint_index.py`` describes and reads."""

from __future__ import annotations

import lzma
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...classifier.facts.fingerprint_index import MAGIC, Head, code_mark, word_mark
from ...corpus.shards import FILTERS, file_of
from .sites import Site
from .spots import Spot, spot_of
from .weave import FOREVER, Block, Weave

MOST = 255
"""Lines of a block, and releases: what one byte holds."""
_BEST: dict[str, Any] = {"preset": 9 | lzma.PRESET_EXTREME, "pb": 0}

Entry = tuple[int, int, int, int]
"""Line, mark of the words, first release, last release."""


def pack(releases: Sequence[str], sites: Mapping[str, Iterable[tuple[int, Site]]], files: Mapping[str, Weave]) -> bytes:
    """Return the index.

    Args:
        releases: Oldest first, 255 at most.
        sites: By the name of a file (``core.py``) each logging call with the number of a release that has it.
        files: By path, over the same releases.
    """
    if len(releases) > MOST:
        raise ValueError(f"{len(releases)} releases: the layout holds {MOST}")
    head: Head = {"releases": list(releases), "sites": {}, "calls": (0, 0), "files": {}}
    entries: list[Entry] = []
    for name in sorted(sites):
        found = _entries(sites[name])
        head["sites"][name] = (len(entries), len(found))
        entries += found
    records = bytearray()
    for path in sorted(files):
        record = lzma.compress(_record(files[path]), lzma.FORMAT_RAW, filters=[{**FILTERS[0], **_BEST}])
        head["files"][path] = (len(records), len(record))
        records += record
    starts = {first for first, _ in head["sites"].values()}
    packed_sites = zlib.compress(_columns(entries, starts), 9)
    head["calls"] = (len(records), len(packed_sites))
    return file_of(MAGIC, head, records + packed_sites)


def _entries(calls: Iterable[tuple[int, Site]]) -> list[Entry]:
    there: dict[tuple[int, int], set[int]] = {}
    for release, site in calls:
        there.setdefault((site.line, word_mark(site.words)), set()).add(release)
    found: list[Entry] = []
    for (line, mark), numbers in sorted(there.items()):
        first = last = min(numbers)
        for number in sorted(numbers)[1:]:
            if number > last + 1:
                found.append((line, mark, first, last))
                first = number
            last = number
        found.append((line, mark, first, last))
    return found


def _columns(entries: list[Entry], starts: set[int]) -> bytes:
    distances = array("H")
    for at, entry in enumerate(entries):
        distances.append(entry[0] - (0 if at in starts else entries[at - 1][0]))
    if sys.byteorder == "big":
        distances.byteswap()
    marks, born = bytes(entry[1] for entry in entries), bytes(entry[2] for entry in entries)
    return distances.tobytes() + marks + born + bytes(entry[3] - entry[2] for entry in entries)


def _record(weave: Weave) -> bytes:
    blocks = [part for block in weave.blocks() for part in _cut(block)]
    own = sorted({block.born for block in blocks} | {block.died for block in blocks if block.died != FOREVER})
    number = {release: at for at, release in enumerate(own)} | {FOREVER: len(own)}
    spots, functions = _Marks(), _Marks()
    for block in blocks:
        found = [(at, spot) for at, line in enumerate(block.lines) if (spot := spot_of(line)) is not None]
        spots.add([(at, spot) for at, spot in found if not spot.function])
        functions.add([(at, spot) for at, spot in found if spot.function])
    sizes = (len(own), len(blocks), len(spots.marks), len(functions.marks))
    parts = (
        bytes(own),
        bytes(len(block.lines) for block in blocks),
        bytes(number[block.born] for block in blocks),
        bytes(number[block.died] - number[block.born] for block in blocks),
        spots.counts, functions.counts, spots.gaps, spots.marks, functions.gaps, functions.marks,
    )  # fmt: skip
    return b"".join(size.to_bytes(4, "little") for size in sizes) + b"".join(parts)


def _cut(block: Block) -> list[Block]:
    return [block._replace(lines=block.lines[at : at + MOST]) for at in range(0, len(block.lines), MOST)]


class _Marks:
    """The columns of a file's spots, or of its functions."""

    def __init__(self) -> None:
        self.counts, self.gaps, self.marks = bytearray(), bytearray(), bytearray()

    def add(self, found: list[tuple[int, Spot]]) -> None:
        """Append those of one block, by their line in it from 0."""
        self.counts.append(len(found))
        before = 0
        for at, spot in found:
            self.gaps.append(at - before)
            self.marks.append(code_mark(spot.text))
            before = at
