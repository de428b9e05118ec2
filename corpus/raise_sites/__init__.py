r"""Why each error of vLLM is raised: what its guard asks, in words, and what flows into it (``cards.bin``).

Written by ``python -m vllm_triage.training.tables raise_sites`` from the released packages, read when an answer asks, and then only the
parts that it asks for. It is in the form of ``corpus/shards.py``:

- The table: ``releases`` (oldest first), the record ``heads``, and what finds rows.
- The heads' record: the checksums (4 bytes) of the first characters of all messages' pieces, so that a text is looked for seldom.
- A row is a card, in columns parted by tabs: file, function, guard, sources parted by ``|``, numbers of the first and the last
  release, length and checksum of the piece (0: a line). It is found by the checksum of a message's head, or of
  ``file\0function\0line``.
"""

# ruff: noqa: PTH100, PTH118, PTH120 - pathlib takes longer to import than the index to open
from __future__ import annotations

import os
import zlib
from functools import lru_cache

from ..code_lines import plain
from ..message_heads import LONGEST, SHORTEST, checksum, head_of
from ..records import Record, cast, record
from ..shards import Packed, Rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from ..shards import Place

    class Head(TypedDict):
        """The index's table of contents."""

        releases: list[str]
        heads: Place


INDEX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cards.bin")
MAGIC = b"VTC2"
_MOST = 2000
"""Characters of a message that are looked through."""


@record(frozen=True, slots=True)
class Card(Record):
    """Why an error is raised.

    Attributes:
        file: Its name, without the folder.
        function: Which raises it.
        guard: What holds there, in words.
        sources: What flows into that, the nearest first: ``--option``, ``VARIABLE``, ``config.json key``, ``request field``, ``machine``.
        first: The first release that has it so.
        last: The last one; "" where the newest has it.
    """

    file: str
    function: str
    guard: str
    sources: tuple[str, ...]
    first: str
    last: str


def line_key(file: str, function: str, code: str) -> int:
    """Return the checksum by which a card without words is found.

    Args:
        file: Its name, without the folder.
        function: Without its class.
        code: The first line, as it is written.
    """
    return zlib.crc32(f"{file}\0{function}\0{plain(code)}".encode("utf-8", "replace"))


class Index:
    """Finds the cards of an error."""

    def __init__(self, path: str = INDEX) -> None:
        packed = Packed(path, MAGIC)
        self._rows = Rows(packed)
        head = cast("Head", packed.table)
        self.releases = tuple(head["releases"])
        heads = packed.record(head["heads"])
        self._heads = {int.from_bytes(heads[at : at + 4], "little") for at in range(0, len(heads), 4)}

    def by_message(self, message: str) -> list[Card]:
        """Return the cards whose message a text holds, those of the longest piece alone.

        Args:
            message: Of an error, in one line.
        """
        best, found = 0, list[Card]()
        for at in range(min(len(message), _MOST) - SHORTEST + 1):
            key = head_of(message[at : at + SHORTEST])
            if key not in self._heads:
                continue
            for row in self._found(key):
                length = int(row[6])
                if length < max(best, 1) or checksum(message[at : at + length]) != int(row[7]):
                    continue
                if length > best:
                    best, found = length, []
                found.append(self._card(row))
        return found

    def by_line(self, file: str, function: str, code: str) -> list[Card]:
        """Return the cards of a line that raises: an assertion, a ``raise``."""
        return [self._card(row) for row in self._found(line_key(file, function, code)) if row[6] == "0"]

    def _found(self, key: int) -> list[list[str]]:
        return [row.split("\t") for row in self._rows.find(key)]

    def _card(self, row: list[str]) -> Card:
        file, function, guard, sources, *span = row[:6]
        first, last = map(int, span)
        until = "" if last == len(self.releases) - 1 else self.releases[last]
        return Card(file, function, guard, tuple(sources.split("|")) if sources else (), self.releases[first], until)


def columns(message: str, file: str, function: str, line: str) -> tuple[int, int, int]:
    """Return checksum, length of the piece and its checksum, by which a card is found; a line has no piece."""
    from ..messages.row import SLOT

    piece = max(message.split(SLOT), key=len).strip()[:LONGEST]
    if len(piece) < SHORTEST:
        return zlib.crc32(f"{file}\0{function}\0{line}".encode("utf-8", "replace")), 0, 0
    return head_of(piece), len(piece), checksum(piece)


@lru_cache(maxsize=1)
def index() -> Index:
    """Return the index that comes with the package, read when first asked for."""
    return Index()
