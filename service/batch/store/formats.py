"""The two forms of a file of rows: Parquet, and JSON lines."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from ....classifier.errors import InputError
from ..remote import MISSING
from ..row import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

Data = dict[str, Any]
"""A row as plain values, by column; lines, fixes and alternatives are lists of dictionaries."""


class Format(Protocol):
    """A form of files of rows."""

    suffix: str

    def encode(self, rows: Iterable[Data]) -> bytes:
        """Return a file of rows."""

    def decode(self, data: bytes, columns: Sequence[str] = ()) -> list[Data]:
        """Return the rows of a file, or some columns of them; columns that its release did not write are empty."""


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
        raise InputError(f"Parquet needs pyarrow: {MISSING}; or ask for --format jsonl") from None
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


class Parquet:
    """Columns, packed with zstd."""

    suffix = ".parquet"

    def encode(self, rows: Iterable[Data]) -> bytes:
        """Return a Parquet file with one row group."""
        import pyarrow as pa
        from pyarrow.parquet import write_table

        out = io.BytesIO()
        table = pa.Table.from_pylist(list(rows), schema=arrow_schema())
        write_table(table, out, compression="zstd")
        return out.getvalue()

    def decode(self, data: bytes, columns: Sequence[str] = ()) -> list[Data]:
        """Return the rows, reading no other columns than those asked for."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        file = ParquetFile(pa.BufferReader(data))
        wanted = list(columns or COLUMNS)
        there = [name for name in wanted if name in file.schema_arrow.names]
        rows = cast("list[Data]", file.read(there).to_pylist())
        missing = dict.fromkeys(name for name in wanted if name not in there)
        return [{**missing, **row} for row in rows] if missing else rows


def arrow_schema() -> pa.Schema:
    """Return the columns with their types: those of ``Row``, whatever the rows of a file hold."""
    import pyarrow as pa

    text, whole, real, flag = pa.string(), pa.int64(), pa.float64(), pa.bool_()
    line = pa.struct([("line", whole), ("process", text), ("text", text), ("count", whole)])
    special = {
        "start": whole, "followed": flag, "gpu_count": whole, "confidence": real, "failed": flag, "came_up": flag,
        "evidence": pa.list_(line), "context": pa.list_(line), "ending": pa.list_(line),
        "fixes": pa.list_(pa.struct([("rank", whole), ("title", text), ("change", text)])),
        "alternatives": pa.list_(pa.struct([("bucket", text), ("confidence", real)])),
        "first_line": whole, "last_line": whole, "bytes": whole,
    }  # fmt: skip
    return pa.schema([(name, special.get(name, text)) for name in COLUMNS])
