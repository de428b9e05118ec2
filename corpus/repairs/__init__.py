"""What the history of vLLM mended: number, first release, and what failed before (``repairs.bin``).

Written by ``python -m vllm_triage.training.repairs`` from a clone and the released packages, read when a failing stack or message
asks, and then only the parts that it asks for. It is in the form of ``corpus/shards.py``:

- The table: ``releases`` (oldest first), the records ``repairs`` and ``messages``, and what finds rows.
- The repairs' record, a line each: number, number of the release (-1: in none yet), what it needs by blanks.
- A row is a facet, in columns parted by tabs: number of the repair, how, names lost, names gained. It is found by the checksum of
  kind and key; of lines of code and messages nothing else is kept.
- The messages' record, a line each: the checksum of the first characters of a message's piece, its length and its checksum, kind,
  and the columns of a row.
"""

# ruff: noqa: PTH100, PTH118, PTH120 - pathlib takes longer to import than the index to open
from __future__ import annotations

import os
import zlib
from functools import lru_cache

from ..message_heads import LONGEST, SHORTEST, checksum, head_of, places_of
from ..records import Record, cast, record
from ..shards import Packed, Rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from ..shards import Place

    class Head(TypedDict):
        """The index's table of contents."""

        releases: list[str]
        repairs: Place
        messages: Place


INDEX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "repairs.bin")
MAGIC = b"VTR2"
LINE, NAME, ARGUMENT, IMPORT, KEY, MESSAGE, ERROR, TITLE = "lnaikmet"
"""Kinds of facets: a line of a function that failed; a name that was missing; an argument; an import; a text that was not known;
a message that was raised on purpose; an error that the commit quotes; an exception that its title names, with a file."""
MESSAGES = (MESSAGE, ERROR)


@record(frozen=True, slots=True)
class Facet(Record):
    r"""One of the things by which a repair is found.

    Attributes:
        kind: ``LINE`` … ``ERROR``.
        key: What must be the same: ``file\0function\0line``, a name, ``function\0argument``, ``module\0name``, a text, a piece of a
            message, ``exception\0file``.
        how: What became of it. Of lines ``c`` changed, ``g`` guarded, ``t`` its exception is caught, ``s`` a name of it is set
            otherwise; of others ``+`` there since, ``-`` gone, ``g`` behind other tests; of errors the exception's class.
        lost: Names that went; of what is no line where it stands: class, file, function.
        gained: Names that came, in the line or in its guards.
    """

    kind: str
    key: str
    how: str
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()


@record(frozen=True, slots=True)
class Repair(Record):
    """A commit that mended something.

    Attributes:
        number: Of its pull request at vllm-project/vllm.
        release: The first that has it; "" where none has it yet.
        needs: Platforms and features without which what it mends does not come up.
    """

    number: int
    release: str
    needs: tuple[str, ...] = ()


@record(frozen=True, slots=True)
class Found(Record):
    """A facet that a log shares with a repair: as in :class:`Facet`, without its key."""

    repair: Repair
    kind: str
    how: str
    lost: frozenset[str]
    gained: frozenset[str]


def key_of(kind: str, key: str) -> int:
    """Return the checksum by which a facet is found."""
    return zlib.crc32(f"{kind}{key}".encode("utf-8", "replace"))


class Index:
    """Finds repairs by what they share with a failing log."""

    def __init__(self, path: str = INDEX) -> None:
        self._packed = Packed(path, MAGIC)
        self._rows = Rows(self._packed)
        self._head = cast("Head", self._packed.table)
        self.releases = tuple(self._head["releases"])
        self._repairs: list[str] = []
        self._said: dict[int, list[list[str]]] | None = None

    def find(self, kind: str, key: str) -> list[Found]:
        """Return the facets of a kind with a key, in the order of their repairs."""
        rows = [row.split("\t") for row in self._rows.find(key_of(kind, key))]
        return [self._found(kind, row) for row in sorted(rows, key=lambda row: int(row[0]))]

    def said(self, text: str) -> list[Found]:
        """Return the repairs of messages that a text holds.

        Args:
            text: Of an error, in one line.
        """
        if self._said is None:
            self._said = {}
            for line in self._lines(self._head["messages"]):
                row = line.split("\t")
                self._said.setdefault(int(row[0], 16), []).append(row[1:])
        return [
            self._found(kind, rest)
            for at in places_of(self._said, text)
            for length, total, kind, *rest in self._said[head_of(text[at : at + SHORTEST])]
            if checksum(text[at : at + int(length)]) == int(total)
        ]

    def _found(self, kind: str, row: list[str]) -> Found:
        number, how, lost, gained = row
        if not self._repairs:
            self._repairs = self._lines(self._head["repairs"])
        return Found(
            self._repair(self._repairs[int(number)]), kind, how, frozenset(lost.split()), frozenset(gained.split())
        )

    def repairs(self) -> list[Repair]:
        """Return all repairs, the oldest first."""
        return [self._repair(line) for line in self._lines(self._head["repairs"])]

    def _repair(self, line: str) -> Repair:
        number, release, needs = line.split("\t")
        return Repair(int(number), self.releases[int(release)] if int(release) >= 0 else "", tuple(needs.split()))

    def _lines(self, place: Place) -> list[str]:
        return self._packed.record(place).decode().splitlines()


def piece_row(piece: str) -> tuple[str, str, str]:
    """Return the columns by which a message's piece is found: checksum of its head, its length, its checksum."""
    kept = piece[:LONGEST]
    return f"{head_of(kept):x}", str(len(kept)), str(checksum(kept))


@lru_cache(maxsize=1)
def index() -> Index:
    """Return the index that comes with the package, read when first asked for."""
    return Index()
