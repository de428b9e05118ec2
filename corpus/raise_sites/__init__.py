r"""Why each error of vLLM is raised: what its guard asks, in words, and what flows into it (``cards.bin``).

Written by ``python -m vllm_triage.training.raise_sites`` from the released packages, read when an answer asks, and then only the
shards that it asks for. The file, all numbers little-endian:

- ``MAGIC``, the length of the packed head (4 bytes), the head, the records, each packed by zlib.
- The head, JSON: ``releases`` (oldest first), ``heads`` (offset and length of that record), ``shards`` (of each, ``SHARDS`` of them).
- The heads' record: the checksums (4 bytes) of the first characters of all messages' pieces, so that a text opens few shards.
- A shard, a line for each card, in columns parted by tabs: the checksum by which it is found (of a message's head, or of
  ``file\0function\0line``), length and checksum of the piece (0: a line), file, function, numbers of the first and the last release,
  guard, sources parted by ``|``.
"""

# ruff: noqa: PTH100, PTH118, PTH120, PTH123 - pathlib takes longer to import than the index to open
from __future__ import annotations

import os
import zlib
from functools import lru_cache

from ..code_lines import plain
from ..code_slices import LONGEST, SHORTEST, checksum, head_of
from ..records import Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    class Head(TypedDict):
        """The index's table of contents."""

        releases: list[str]
        heads: tuple[int, int]
        shards: list[tuple[int, int]]


INDEX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cards.bin")
MAGIC = b"VTC1"
SHARDS = 128
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
        import json

        with open(path, "rb") as file:
            self._data = file.read()
        if self._data[:4] != MAGIC:
            raise ValueError("not an index of vLLM's errors, or one of another version of vllm-triage")
        self._start = 8 + int.from_bytes(self._data[4:8], "little")
        self._head: Head = json.loads(zlib.decompress(self._data[8 : self._start]))
        self.releases = tuple(self._head["releases"])
        packed = self._unpacked(self._head["heads"])
        self._heads = {int.from_bytes(packed[at : at + 4], "little") for at in range(0, len(packed), 4)}
        self._shards: dict[int, dict[int, list[list[str]]]] = {}

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
            for row in self._rows(key):
                length = int(row[1])
                if length < max(best, 1) or checksum(message[at : at + length]) != int(row[2]):
                    continue
                if length > best:
                    best, found = length, []
                found.append(self._card(row))
        return found

    def by_line(self, file: str, function: str, code: str) -> list[Card]:
        """Return the cards of a line that raises: an assertion, a ``raise``."""
        return [self._card(row) for row in self._rows(line_key(file, function, code)) if row[1] == "0"]

    def _card(self, row: list[str]) -> Card:
        first, last = int(row[5]), int(row[6])
        until = "" if last == len(self.releases) - 1 else self.releases[last]
        return Card(row[3], row[4], row[7], tuple(row[8].split("|")) if row[8] else (), self.releases[first], until)

    def _rows(self, key: int) -> list[list[str]]:
        shard = self._shards.get(key % SHARDS)
        if shard is None:
            shard = self._shards[key % SHARDS] = {}
            for row in self._lines(self._head["shards"][key % SHARDS]):
                shard.setdefault(int(row[0], 16), []).append(row)
        return shard.get(key, [])

    def _lines(self, place: tuple[int, int]) -> Iterator[list[str]]:
        for line in self._unpacked(place).decode().splitlines():
            yield line.split("\t")

    def _unpacked(self, place: tuple[int, int]) -> bytes:
        start, length = place
        return zlib.decompress(self._data[self._start + start : self._start + start + length])


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
