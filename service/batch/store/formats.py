"""The two forms of a file of rows: Parquet, and JSON lines."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, cast

from ....classifier.errors import InputError
from ....classifier.extras import install
from ..row import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

Data = dict[str, Any]
"""A row as plain values, by column; lines, fixes and alternatives are lists of dictionaries."""


Parts = Mapping[tuple[str, str], Any]
"""Rows by day and bucket, each part as its form holds it: an Arrow table, or lines by the ids of their rows."""
SMALL = 256
"""Rows up to which a Parquet file is packed with snappy, plain: there the set-up of zstd and of dictionaries, for each of 70
columns, takes longer than the rows."""


class Format(Protocol):
    """A form of files of rows."""

    suffix: str

    def encode(self, rows: Iterable[Data]) -> bytes:
        """Return a file of rows."""

    def decode(self, data: bytes, columns: Sequence[str] = ()) -> list[Data]:
        """Return the rows of a file, or some columns of them; columns that its release did not write are empty."""

    def parted(self, files: Iterable[bytes]) -> Parts:
        """Return the rows of files by day and bucket; of rows with the same id the last one."""

    def joined(self, files: Sequence[bytes], gone: AbstractSet[str], new: Any, there: AbstractSet[str]) -> bytes:
        """Return one file of what files hold and of what is new, in the order of the ids.

        Args:
            files: Files of rows, perhaps of an earlier release.
            gone: Ids of logs whose rows in the files are left out.
            new: A part, as ``parted`` returns it, which goes before rows of the files with the same id; or None.
            there: Ids of rows that are left out of what is new.

        Returns:
            The file; empty where no row is left.
        """


def format_named(name: str) -> Format:
    """Return ``parquet`` or ``jsonl``.

    Raises:
        InputError: pyarrow is not installed.
    """
    if name == "jsonl":
        return JsonLines()
    try:
        import pyarrow.parquet  # noqa: F401 - asked for before the work rather than after it
    except ImportError:
        raise InputError(f"Parquet needs pyarrow: {install('batch')}; or ask for --format jsonl") from None
    return Parquet()


class JsonLines:
    """One object a line."""

    suffix = ".jsonl"

    def encode(self, rows: Iterable[Data]) -> bytes:
        """Return one line for each row."""
        lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
        return "".join(lines).encode("utf-8", "replace")

    def decode(self, data: bytes, columns: Sequence[str] = ()) -> list[Data]:
        """Return the rows."""
        rows = (json.loads(line) for line in data.split(b"\n") if line)
        return [{name: row.get(name) for name in columns or COLUMNS} for row in rows]

    def parted(self, files: Iterable[bytes]) -> Parts:
        """Return the lines by day and bucket, and there by id."""
        parts: dict[tuple[str, str], dict[str, bytes]] = {}
        for data in files:
            for line, row in _parsed(data):
                parts.setdefault((str(row["day"]), str(row["bucket"])), {})[str(row["id"])] = line
        return parts

    def joined(self, files: Sequence[bytes], gone: AbstractSet[str], new: Any, there: AbstractSet[str]) -> bytes:
        """Return the lines; they are not written anew."""
        kept = {str(row["id"]): line for data in files for line, row in _parsed(data) if row["log"] not in gone}
        lines = kept | {own: line for own, line in (new or {}).items() if own not in there}
        return b"".join(lines[own] + b"\n" for own in sorted(lines))


def _parsed(data: bytes) -> Iterable[tuple[bytes, Data]]:
    return ((line, json.loads(line)) for line in data.split(b"\n") if line)


class Parquet:
    """Columns, packed with zstd, in small files with snappy."""

    suffix = ".parquet"

    def encode(self, rows: Iterable[Data]) -> bytes:
        """Return a Parquet file with one row group."""
        import pyarrow as pa

        return _written(pa.Table.from_pylist(list(rows), schema=arrow_schema()))

    def decode(self, data: bytes, columns: Sequence[str] = ()) -> list[Data]:
        """Return the rows, reading no other columns than those asked for."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        file = ParquetFile(pa.BufferReader(data))
        wanted = list(columns or COLUMNS)
        # Each time that the schema is asked for it is made anew.
        known = set(file.schema_arrow.names)
        there = [name for name in wanted if name in known]
        rows = cast("list[Data]", file.read(there).to_pylist())
        missing = dict.fromkeys(name for name in wanted if name not in there)
        return [{**missing, **row} for row in rows] if missing else rows

    def parted(self, files: Iterable[bytes]) -> Parts:
        """Return tables by day and bucket."""
        table = _together([_table(data) for data in files])
        places: dict[tuple[str, str], dict[str, int]] = {}
        columns = (table[name].to_pylist() for name in ("day", "bucket", "id"))
        for index, (day, bucket, own) in enumerate(zip(*columns, strict=True)):
            places.setdefault((day, bucket), {})[own] = index
        # Picking rows costs a millisecond, however few: once for all parts, which are pieces of one table then.
        ordered = _picked(table, [rows[own] for rows in places.values() for own in sorted(rows)])
        parts, begin = {}, 0
        for place, rows in places.items():
            parts[place] = ordered.slice(begin, len(rows))
            begin += len(rows)
        return parts

    def joined(self, files: Sequence[bytes], gone: AbstractSet[str], new: Any, there: AbstractSet[str]) -> bytes:
        """Return a Parquet file with one row group."""
        tables = [_left(_table(data), "log", gone) for data in files]
        if new is not None:
            tables.append(_left(new, "id", there))
        table = tables[0] if len(tables) == 1 else _together(tables)
        ids = table["id"].to_pylist()
        if any(own >= after for own, after in pairwise(ids)):
            last = {own: index for index, own in enumerate(ids)}
            table = _picked(table, [last[own] for own in sorted(last)])
        return _written(table) if ids else b""


def _table(data: bytes) -> pa.Table:
    """Return the rows of a file, with the columns of this release."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    schema = arrow_schema()
    table = ParquetFile(pa.BufferReader(data)).read()
    if table.schema.equals(schema):
        return table
    there = set(table.column_names)
    columns = [
        table[own.name].cast(own.type) if own.name in there else pa.nulls(len(table), own.type) for own in schema
    ]
    return pa.table(columns, schema=schema)


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    import pyarrow as pa

    # Rows are picked from one piece much faster than from many.
    return pa.concat_tables([arrow_schema().empty_table(), *tables]).combine_chunks()


def _left(table: pa.Table, column: str, without: AbstractSet[str]) -> pa.Table:
    """Return a table without the rows that have one of some values."""
    if not without:
        return table
    return _picked(table, [index for index, own in enumerate(table[column].to_pylist()) if own not in without])


def _picked(table: pa.Table, places: Sequence[int]) -> pa.Table:
    import pyarrow as pa

    # Of an empty list Arrow would not know what it is of.
    return table.take(pa.array(places, pa.int64()))


def _written(table: pa.Table) -> bytes:
    from pyarrow.parquet import write_table

    out = io.BytesIO()
    if len(table) <= SMALL:
        write_table(table, out, compression="snappy", use_dictionary=False)
    else:
        write_table(table, out, compression="zstd")
    return out.getvalue()


def arrow_schema() -> pa.Schema:
    """Return the columns with their types: those of ``Row``, whatever the rows of a file hold."""
    import pyarrow as pa

    text, whole, real, flag = pa.string(), pa.int64(), pa.float64(), pa.bool_()
    line = pa.struct([("line", whole), ("process", text), ("text", text), ("count", whole)])
    special = {
        "start": whole, "followed": flag, "gpu_count": whole, "confidence": real, "failed": flag, "came_up": flag,
        "evidence": pa.list_(line), "context": pa.list_(line), "ending": pa.list_(line), "unread": pa.list_(line),
        "fixes": pa.list_(pa.struct([("rank", whole), ("title", text), ("change", text)])),
        "alternatives": pa.list_(pa.struct([("bucket", text), ("confidence", real)])),
        "first_line": whole, "last_line": whole, "bytes": whole,
    }  # fmt: skip
    return pa.schema([(name, special.get(name, text)) for name in COLUMNS])
