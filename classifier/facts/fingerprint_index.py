"""The index of what vLLM's releases log and where their tracebacks stand, as training/fingerprint writes it.

The file (``corpus/vllm/fingerprint.bin``) is in the form of ``corpus/shards.py``, all numbers little-endian. The sites are packed by
zlib, which unpacks them in 2 ms, each file by LZMA, a tenth smaller:

- The table: ``releases`` (oldest first), ``sites`` (a file's name → first entry and number of entries), ``calls`` (the sites'
  record), ``files`` (a path → its record).
- The sites' record, in columns: distance of the line from the entry before (2 bytes), ``word_mark`` of the message (1 byte, 0:
  any), first release, number of releases less one. A site that came and went has several entries.
- A file's record: number of its own releases, of blocks, of spots and of functions (4 bytes each), the numbers of its
  releases, then columns of bytes. Of each block (lines that came and went together, in the order of the file): its
  lines, the first of its own releases that has it, how many have it, its spots, its functions. Of each spot (a line that
  a frame can name): lines since the spot before in its block, ``code_mark`` of its text. Of each function likewise, with
  the mark of its name.

A set of releases is a number here, with one bit for each release, the oldest lowest.
"""

# ruff: noqa: PTH118 - pathlib takes longer to import than the index to open
from __future__ import annotations

import os
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple, TypeAlias, TypedDict

from ...corpus.gc_pause import Paused
from ...corpus.options import FOLDER
from ...corpus.records import cast
from ...corpus.shards import Packed

INDEX = os.path.join(FOLDER, "fingerprint.bin")
MAGIC = b"VTF2"
WORDS = 8
"""Letters of a message that tell one logging call from another on the same line of another release."""
DEFINITIONS = 2
"""Functions that may begin between a function's own first line and a line of it: those defined within it."""


FILES = 32
"""Files whose functions are kept as they lie in each release."""
_LINE = attrgetter("line")
Functions: TypeAlias = "tuple[list[list[int]], list[bytearray]]"
"""Of each of a file's own releases the first lines of its functions, in order, and the marks of their names."""


class Head(TypedDict):
    """The index's table of contents."""

    releases: list[str]
    sites: dict[str, tuple[int, int]]
    calls: tuple[int, int]
    files: dict[str, tuple[int, int]]


class Place(NamedTuple):
    """A spot or a function of a file, in all releases that have it."""

    mark: int
    releases: range
    """Of the file's own releases."""
    starts: list[int]
    """Lines before its block, by the file's own releases."""
    offset: int

    def line(self, own: int) -> int:
        """Return its line in one of ``releases``, from 1."""
        return self.starts[own] + self.offset + 1


class Spot(NamedTuple):
    """What a frame of a traceback says of its file."""

    function: str
    line: int
    code: str
    """The line under the frame; empty where the log has none."""


class Weave(NamedTuple):
    """One file over all releases, unpacked; see the layout above."""

    own: bytes
    lines: bytes
    born: bytes
    span: bytes
    spots: bytes
    functions: bytes
    spot_gaps: bytes
    spot_marks: bytes
    function_gaps: bytes
    function_marks: bytes


def word_mark(words: str) -> int:
    """Return the mark of a message by its first letters, 1 to 255; 0 where they are too few to tell it."""
    start = words.lstrip()[:WORDS]
    return 0 if len(start) < WORDS else 1 + zlib.crc32(start.encode("utf-8", "replace")) % 255


def code_mark(code: str) -> int:
    """Return the mark of a line of code, or of a function's name, 0 to 255."""
    return zlib.crc32(code.strip().encode("utf-8", "replace")) & 255


class Index:
    """Answers which releases a mark of a log fits."""

    def __init__(self, source: str | bytes = INDEX) -> None:
        self._packed = Packed(source, MAGIC)
        self._head = cast("Head", self._packed.table)
        self._columns: tuple[array[int], bytes, bytes, bytes] | None = None
        self._weaves: dict[str, Weave] = {}
        self._functions: dict[str, Functions] = {}
        self.releases = tuple(self._head["releases"])

    def site(self, name: str, line: int, message: str) -> int | None:
        """Return the releases that log ``message`` from ``line`` of a file called ``name`` (``core.py``).

        None where no release logs from a file of that name: it is another program's. An empty message: any.
        """
        place = self._head["sites"].get(name)
        if place is None:
            return None
        first, count = place
        distances, marks, born, span = self._sites()
        lines = list(accumulate(distances[first : first + count]))
        wanted = word_mark(message)
        fitting = 0
        for at in range(bisect_left(lines, line), count):
            if lines[at] != line:
                break
            mark = marks[first + at]
            if not mark or not wanted or mark == wanted:
                fitting |= ((2 << span[first + at]) - 1) << born[first + at]
        return fitting

    def frames(self, path: str, spots: Sequence[Spot]) -> list[int | None]:
        """Return for each spot the releases in which its line of the file at ``path`` is its code, or lies in its function.

        None where the index does not hold the file, or no such function where the code does not tell either. All spots
        of a file are asked for at once: each question would unroll the file's whole history anew.
        """
        weave = self._weave(path)
        if weave is None:
            return [None] * len(spots)
        by_code = self._by_code(weave, [spot for spot in spots if spot.code])
        # Code may have been cut, wrapped, or glued to something: then the function alone is asked, where it is one and
        # not the module itself or an expression in it.
        left = [spot for spot in spots if not by_code.get(spot) and spot.function.isidentifier()]
        by_function = self._by_function(path, weave, left) if left else {}
        return [by_code.get(spot) or by_function.get(spot) for spot in spots]

    def _sites(self) -> tuple[array[int], bytes, bytes, bytes]:
        if self._columns is None:
            import sys

            raw = self._packed.record(self._head["calls"])
            count = len(raw) // 5
            lines = array("H", raw[: 2 * count])
            if sys.byteorder == "big":
                lines.byteswap()
            marks, born, span = (raw[(2 + at) * count : (3 + at) * count] for at in range(3))
            self._columns = (lines, marks, born, span)
        return self._columns

    def _weave(self, path: str) -> Weave | None:
        if path not in self._weaves:
            place = self._head["files"].get(path)
            if place is None:
                return None
            self._weaves[path] = _columns(self._packed.lzma_record(place))
        return self._weaves[path]

    def _by_code(self, weave: Weave, spots: list[Spot]) -> dict[Spot, int]:
        wanted: dict[int, dict[int, list[Spot]]] = {}
        for spot in spots:
            wanted.setdefault(code_mark(spot.code), {}).setdefault(spot.line, []).append(spot)
        fitting = dict.fromkeys(spots, 0)
        for place in _places(weave, weave.spots, weave.spot_gaps, weave.spot_marks, wanted):
            lines = wanted[place.mark]
            for own in place.releases:
                for spot in lines.get(place.line(own), ()):
                    fitting[spot] |= _between(weave.own, own, len(self.releases))
        return fitting

    def _by_function(self, path: str, weave: Weave, spots: list[Spot]) -> dict[Spot, int]:
        """Return what is known of those spots whose function the file has."""
        named: dict[int, list[Spot]] = {}
        for spot in sorted(spots, key=_LINE):
            mark = code_mark(spot.function)
            if mark in weave.function_marks:
                named.setdefault(mark, []).append(spot)
        if not named:
            return {}
        lines, names = self._functions_of(path, weave)
        fitting = {spot: 0 for known in named.values() for spot in known}
        for mark, known in named.items():
            for own, (begins, marks) in enumerate(zip(lines, names, strict=True)):
                at = marks.find(mark)
                while at >= 0:
                    # From its first line on, up to that of a later function.
                    first = bisect_left(known, begins[at], key=_LINE)
                    behind = at + 1 + DEFINITIONS
                    last = bisect_left(known, begins[behind], key=_LINE) if behind < len(begins) else len(known)
                    for spot in known[first:last]:
                        fitting[spot] |= _between(weave.own, own, len(self.releases))
                    at = marks.find(mark, at + 1)
        return fitting

    def _functions_of(self, path: str, weave: Weave) -> Functions:
        """Return the functions of a file; those of a few files are kept."""
        found = self._functions.get(path)
        if found is None:
            found = [[] for _ in weave.own], [bytearray() for _ in weave.own]
            for place in _places(weave, weave.functions, weave.function_gaps, weave.function_marks):
                for own in place.releases:
                    found[0][own].append(place.line(own))
                    found[1][own].append(place.mark)
            if len(self._functions) >= FILES:
                self._functions.clear()
            self._functions[path] = found
        return found


@lru_cache(maxsize=1)
def index() -> Index:
    """Return the index that comes with the package, read when first asked for."""
    with Paused():
        return Index()


def _columns(raw: bytes) -> Weave:
    own, blocks, spots, functions = (int.from_bytes(raw[at : at + 4], "little") for at in range(0, 16, 4))
    columns = []
    at = 16
    for size in (own, *[blocks] * 5, spots, spots, functions, functions):
        columns.append(raw[at : at + size])
        at += size
    return Weave(*columns)


def _places(
    weave: Weave, counts: bytes, gaps: bytes, marks: bytes, wanted: Container[int] = range(256)
) -> Iterator[Place]:
    """Yield the spots or functions with one of the marks ``wanted``, in the order of the file."""
    # Lines come and go with blocks: added up over the file's own releases, these are the lines so far of each.
    changes = [0] * (len(weave.own) + 1)
    first = 0
    for lines, born, span, count in zip(weave.lines, weave.born, weave.span, counts, strict=True):
        if count:
            here = marks[first : first + count]
            starts: list[int] = []
            offset = 0
            for mark, gap in zip(here, gaps[first : first + count], strict=True):
                offset += gap
                if mark in wanted:
                    starts = starts or list(accumulate(changes))
                    yield Place(mark, range(born, born + span), starts, offset)
            first += count
        changes[born] += lines
        changes[born + span] -= lines


def _between(own: bytes, at: int, count: int) -> int:
    """Return the releases that have the file as its own release ``at`` has it, of ``count`` releases."""
    end = own[at + 1] if at + 1 < len(own) else count
    return (1 << end) - (1 << own[at])
