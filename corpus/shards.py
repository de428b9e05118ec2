"""The packed form of indices: a table of contents, and records that are unpacked when they are asked for.

A file is, all numbers little-endian: four bytes that name what it is, the length of the packed table (4 bytes), the table (zlib of
JSON), the records, each packed by zlib or LZMA without a container. The table holds offset and length of records, from its own end.

Rows that are found by checksums are lines of text, sorted, in blocks of ``BLOCK`` bytes. A shard has, in columns of bytes, the
checksums that end alike (each the distance from the one before) and the numbers of their lines.
"""

# ruff: noqa: PTH123 - pathlib takes longer to import than an index to open
from __future__ import annotations

import io
import sys
import zlib
from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate

from .records import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import BinaryIO, TypeAlias, TypedDict

    Place: TypeAlias = tuple[int, int]
    """Offset and length of a record."""

    class Head(TypedDict):
        """What a table of contents says of rows."""

        firsts: list[int]
        """The number of the first line of each block."""
        blocks: list[Place]
        shards: list[Place]


FILTERS = [{"id": 0x21, "dict_size": 1 << 20}]
"""LZMA2 without a container."""
SHARDS = 256
"""Parts that the rows are spread over: an answer unpacks one of them for each key."""
BLOCK = 1 << 15
"""Bytes of rows that are packed together."""
_COLUMNS = 6


class Packed:
    """An index in its packed form.

    Args:
        source: Its path, or what stands in it.
        magic: How it begins.
    """

    def __init__(self, source: str | bytes, magic: bytes) -> None:
        import json

        self._source = source
        with self._open() as file:
            if file.read(4) != magic:
                raise ValueError("not an index of this kind, or one of another version of vllm-triage")
            length = int.from_bytes(file.read(4), "little")
            self.table: Mapping[str, object] = json.loads(zlib.decompress(file.read(length)))
        self._start = 8 + length

    def _open(self) -> BinaryIO:
        return io.BytesIO(self._source) if isinstance(self._source, bytes) else open(self._source, "rb")

    def packed(self, place: Place) -> bytes:
        """Return a record as it stands in the file."""
        with self._open() as file:
            file.seek(self._start + place[0])
            return file.read(place[1])

    def record(self, place: Place) -> bytes:
        """Return a record."""
        return zlib.decompress(self.packed(place))

    def lzma_record(self, place: Place) -> bytes:
        """Return a record that is packed by LZMA."""
        import lzma

        return lzma.decompress(self.packed(place), lzma.FORMAT_RAW, filters=FILTERS)

    def columns(self, place: Place) -> list[bytes]:
        """Return the columns of a shard."""
        data = self.record(place)
        size = len(data) // _COLUMNS
        return [data[at * size : (at + 1) * size] for at in range(_COLUMNS)]


def _numbers(high: bytes, middle: bytes, low: bytes) -> list[int]:
    """Return the numbers whose bytes stand in three columns."""
    joined = bytearray(4 * len(low))
    joined[0::4], joined[1::4], joined[2::4] = low, middle, high
    found = array("I", bytes(joined))
    if sys.byteorder == "big":
        found.byteswap()
    return found.tolist()


class Rows:
    """The rows of an index that are found by checksums."""

    def __init__(self, index: Packed) -> None:
        self._index = index
        self._head = cast("Head", index.table)
        self._shards: dict[int, tuple[list[int], list[int]]] = {}
        self._blocks: dict[int, list[str]] = {}

    def find(self, key: int) -> list[str]:
        """Return the lines of a checksum, sorted."""
        rest, shard = divmod(key, SHARDS)
        if shard not in self._shards:
            a, b, c, *number = self._index.columns(self._head["shards"][shard])
            self._shards[shard] = [*accumulate(_numbers(a, b, c))], _numbers(*number)
        keys, numbers = self._shards[shard]
        return [self._line(number) for number in numbers[bisect_left(keys, rest) : bisect_right(keys, rest)]]

    def _line(self, number: int) -> str:
        at = bisect_right(self._head["firsts"], number) - 1
        block = self._blocks.get(at)
        if block is None:
            block = self._blocks[at] = self._index.record(self._head["blocks"][at]).decode().split("\n")
        return block[number - self._head["firsts"][at]]


class Writer:
    """Makes the packed form."""

    def __init__(self) -> None:
        self._body = bytearray()

    def add(self, data: bytes) -> Place:
        """Add a record; return its place."""
        packed = zlib.compress(data, 9)
        self._body += packed
        return len(self._body) - len(packed), len(packed)

    def add_rows(self, rows: Iterable[tuple[int, str]]) -> dict[str, list[Place] | list[int]]:
        """Add rows, each with its checksum; return what the table says of them."""
        distinct = sorted(set(rows))
        lines = sorted({line for _, line in distinct})
        numbers = {line: number for number, line in enumerate(lines)}
        blocks: list[list[str]] = []
        size = BLOCK
        for line in lines:
            if size >= BLOCK:
                blocks.append([])
                size = 0
            blocks[-1].append(line)
            size += len(line) + 1
        shards: list[list[bytes]] = [[] for _ in range(SHARDS)]
        last = [0] * SHARDS
        for key, line in distinct:
            rest, shard = divmod(key, SHARDS)
            shards[shard].append((rest - last[shard]).to_bytes(3) + numbers[line].to_bytes(3))
            last[shard] = rest
        return {
            "firsts": [numbers[block[0]] for block in blocks],
            "blocks": [self.add("\n".join(block).encode()) for block in blocks],
            "shards": [self.add(bytes(row[at] for at in range(_COLUMNS) for row in rows)) for rows in shards],
        }

    def finish(self, magic: bytes, table: Mapping[str, object]) -> bytes:
        """Return the file."""
        return file_of(magic, table, self._body)


def file_of(magic: bytes, table: Mapping[str, object], records: bytes | bytearray) -> bytes:
    """Return an index in its packed form."""
    import json

    packed = zlib.compress(json.dumps(table, separators=(",", ":")).encode(), 9)
    return b"".join((magic, len(packed).to_bytes(4, "little"), packed, records))
