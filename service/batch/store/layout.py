"""Where the rows of a folder of reports lie."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, unquote

from .formats import Format, format_named

ROWS = "rows"
"""Published rows: ``rows/day=2026-11-22/bucket=kv_cache_oom/part-….parquet``, as Hive and DuckDB read it."""
PENDING = "pending"
"""What workers have finished, a file for each chunk of logs; publishing moves it to ``rows``."""
MARKER = "publishing.json"
"""Says which rows are being published: who comes after a kill goes on there."""
NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""The day of starts that bear no time, by Hive's own name for nothing."""
FORMATS = ("parquet", "jsonl")


def partition(day: str, bucket: str) -> str:
    """Return the folder of the rows of a day and a bucket."""
    return f"{ROWS}/day={quote(day, safe='') or NO_DAY}/bucket={quote(bucket, safe='')}"


def parts_of(name: str) -> tuple[str, str]:
    """Return day and bucket of a published file, by its name."""
    told = dict(part.split("=", 1) for part in name.split("/") if "=" in part)
    day = unquote(told.get("day", ""))
    return "" if day == NO_DAY else day, unquote(told.get("bucket", ""))


def form_of(names: Iterable[str]) -> Format | None:
    """Return the form of the files of rows among some; None where there are none."""
    for name in names:
        for form in FORMATS:
            if name.endswith(f".{form}"):
                return format_named(form)
    return None
