"""In which releases vLLM guards, catches or feeds otherwise what stands word for word (``vllm/slices.bin``).

Written by ``python -m vllm_triage.training.fingerprint.changes`` from all releases, read when first asked for. It is in the
form of ``shards.py``:

- The table: ``releases`` (oldest first), ``files`` (a path → offset and length of its record, from the end of the
  head, by how many entries its keys are reckoned), ``messages`` (the same for the messages), ``caught`` (classes of exceptions
  that are caught together; the first are none).
- A file's record, LZMA without a container, in columns of bytes: of each entry the distance of its key from the one before
  (three bytes, the highest first), the number of the release, how it changed, the number of the exceptions that are caught since.
- The messages' record, in columns: the checksum of the first ``SHORTEST`` characters of the longest literal piece (four bytes),
  characters of that piece up to ``LONGEST``, their checksum (two bytes), that of the file's name (two bytes), the number of the
  first release without the message (``NEVER``: the newest has it), the number of a release in which its check changed
  (``NEVER``: in none), how.
"""

# ruff: noqa: PTH118 - pathlib takes longer to import than the index to open
from __future__ import annotations

import os
import zlib
from functools import lru_cache

from .code_lines import NEVER, plain
from .options import FOLDER
from .records import Record, cast, record
from .shards import Packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import TypedDict

    class Head(TypedDict):
        """The index's table of contents."""

        releases: list[str]
        files: dict[str, tuple[int, int, int]]
        messages: tuple[int, int, int]
        caught: list[str]


INDEX = os.path.join(FOLDER, "slices.bin")
MAGIC = b"VTS1"
GUARDED, CAUGHT, SET_OTHERWISE, GONE, GIVEN = range(1, 6)
"""How code changed: a test came before or around a line, or the tests changed behind which it is refused on purpose; an exception
is caught around it; a name in it is set otherwise; the message is said no more; a call is given further
arguments."""
SHORTEST, LONGEST = 16, 64
"""Characters of a message's longest literal piece that are compared, at least and at most."""
BITS = 12
"""One wrong line in so many powers of two is taken for one that changed."""
FILE_COLUMNS, MESSAGE_COLUMNS = 6, 12
_ALL = frozenset({"Exception", "BaseException", "all"})


@record(frozen=True, slots=True)
class Change(Record):
    """What a release changed about a line or a message.

    Attributes:
        release: The first that has it so.
        how: ``GUARDED`` … ``GIVEN``.
        caught: Classes of the exceptions that are caught since, by blanks.
    """

    release: str
    how: int
    caught: str = ""

    def catches(self, exception: str) -> bool:
        """Tell whether the release catches an exception, by its class."""
        return self.how == CAUGHT and bool(_ALL.union([exception]).intersection(self.caught.split()))


@record(frozen=True, slots=True)
class Refusal(Record):
    """A message that vLLM raises on purpose, in one file.

    Attributes:
        until: The first release without it, from which on none has it; "" where the newest says it.
        changes: Of the tests behind which it is raised, the oldest first.
    """

    until: str
    changes: tuple[Change, ...]


def key_of(function: str, text: str, entries: int) -> int:
    """Return the key of a line in a file.

    Args:
        function: As a traceback names it, without its class.
        text: Of the line, as ``plain`` returns it.
        entries: By how many entries the keys of the file are reckoned.
    """
    return zlib.crc32(f"{function}\0{text}".encode("utf-8", "replace")) % (entries << BITS)


def checksum(text: str) -> int:
    """Return the checksum of a piece of a message, or of a file's name, in two bytes."""
    return zlib.crc32(text.encode("utf-8", "replace")) & 0xFFFF


def head_of(piece: str) -> int:
    """Return the checksum by which a message's literal piece is found."""
    return zlib.crc32(piece[:SHORTEST].encode("utf-8", "replace"))


def places_of(heads: Container[int], text: str) -> list[int]:
    """Return where in a text a message's piece with one of these checksums may begin."""
    last = len(text) - SHORTEST + 1
    if not text.isascii():
        return [at for at in range(last) if head_of(text[at : at + SHORTEST]) in heads]
    data, check = text.encode(), zlib.crc32
    return [at for at in range(last) if check(data[at : at + SHORTEST]) in heads]


class Index:
    """Tells what releases changed about lines and messages."""

    def __init__(self, source: str | bytes = INDEX) -> None:
        self._packed = Packed(source, MAGIC)
        self._head = cast("Head", self._packed.table)
        self._files: dict[str, dict[int, list[Change]]] = {}
        self._messages: dict[int, list[int]] | None = None
        self._rows: list[bytes] = []
        self.releases = tuple(self._head["releases"])

    def changes(self, path: str, function: str, code: str) -> tuple[Change, ...]:
        """Return what releases changed about a line that they left as it is, the oldest first.

        Args:
            path: From the package on: ``vllm/v1/engine/core.py``.
            function: In which the line stands, without its class.
            code: As a traceback shows it: one physical line.
        """
        place = self._head["files"].get(path)
        return tuple(self._read(path).get(key_of(function, plain(code), place[2]), ())) if place is not None else ()

    def refusals(self, message: str, path: str = "") -> list[Refusal]:
        """Return the messages that a text holds, those of the longest literal pieces alone.

        Args:
            message: Of an exception, in one line.
            path: Of the file that raised it, if that is known.
        """
        best, found = 0, dict[tuple[int, int], set[tuple[int, ...]]]()
        known = self._said()
        for at in places_of(known, message):
            for number in known[head_of(message[at : at + SHORTEST])]:
                row = self._row(number)
                length, total, file = row[:3]
                if length < best or checksum(message[at : at + length]) != total:
                    continue
                if length > best:
                    best, found = length, {}
                found.setdefault((file, row[3]), set()).add(row)
        # What the last file that said it says no more, none says that had said it before.
        gone = {(row[3], GONE) for rows in found.values() for row in rows if row[5] == GONE and row[4] == row[3]}
        name = checksum(path.rpartition("/")[2]) if path else None
        return [self._refusal(rows, gone) for (file, _), rows in found.items() if name in (None, file)]

    def _refusal(self, rows: set[tuple[int, ...]], gone: set[tuple[int, int]]) -> Refusal:
        until = next(iter(rows))[3]
        changed = {(row[4], row[5]) for row in rows if row[4] != NEVER} | {each for each in gone if each[0] == until}
        changes = tuple(Change(self.releases[number], how) for number, how in sorted(changed))
        return Refusal("" if until == NEVER else self.releases[until], changes)

    def _read(self, path: str) -> dict[int, list[Change]]:
        read = self._files.get(path)
        if read is None:
            place = self._head["files"][path]
            high, middle, low, numbers, ways, caught = self._columns(place, FILE_COLUMNS)
            together = self._head["caught"]
            read, key = {}, 0
            for at, number in enumerate(numbers):
                key += high[at] << 16 | middle[at] << 8 | low[at]
                read.setdefault(key, []).append(Change(self.releases[number], ways[at], together[caught[at]]))
            self._files[path] = read
        return read

    def _said(self) -> dict[int, list[int]]:
        if self._messages is None:
            a, b, c, d, *rest = self._columns(self._head["messages"], MESSAGE_COLUMNS)
            self._messages, self._rows = {}, rest
            for at in range(len(a)):
                self._messages.setdefault(a[at] << 24 | b[at] << 16 | c[at] << 8 | d[at], []).append(at)
        return self._messages

    def _row(self, at: int) -> tuple[int, ...]:
        """Return the length of a piece, its checksum, that of the file's name, and what became of the message."""
        length, e, f, g, h, *rest = (column[at] for column in self._rows)
        return length, e << 8 | f, g << 8 | h, *rest

    def _columns(self, place: tuple[int, int, int], columns: int) -> list[bytes]:
        raw = self._packed.lzma_record(place[:2])
        count = len(raw) // columns
        return [raw[at * count : (at + 1) * count] for at in range(columns)]


@lru_cache(maxsize=1)
def index() -> Index:
    """Return the index that comes with the package, read when first asked for."""
    return Index()
