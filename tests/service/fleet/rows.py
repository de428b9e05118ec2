"""Rows as batch writes them, short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def row(number: int, cause: str = "", day: str = "2026-11-02", **more: Any) -> dict[str, Any]:
    """Return the row of a log with one start; without a cause it is healthy."""
    bucket = cause.partition("/")[0] or "no_failure"
    return {
        "id": f"{number}-1", "log": str(number), "source": f"logs/{number}.log", "start": 1, "day": day, "release": "0.19.1",
        "model": "", "gpu": "", "node": "", "bucket": bucket, "cause": cause or "no_failure/came_up", "failed": bool(cause),
        "scope": "start", "title": "What failed", "signature": cause, **more,
    }  # fmt: skip


def rows(number: int, first: int = 0, **more: Any) -> Iterator[dict[str, Any]]:
    """Yield rows that are alike."""
    return (row(first + index, **more) for index in range(number))
