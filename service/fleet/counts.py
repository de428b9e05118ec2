"""Counts the rows of a fleet in one pass: by bucket, cause, release, model, GPU, node and week."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ..batch.row import NOT_READ

HEALTHY = "no_failure"
NOT_TOLD = "unknown"
"""Stands for what a log does not say."""
DIMENSIONS = ("release", "model", "gpu", "node", "week")
"""What starts are counted by, besides buckets and causes."""
COLUMNS = (
    "log", "source", "start", "day", "release", "model", "gpu", "node", "bucket", "cause", "failed", "scope", "title", "signature", "fixes",
)  # fmt: skip
"""Columns that are read."""


@dataclass(slots=True)
class Logs:
    """How many different logs. Those alone are remembered that may come again."""

    once: int = 0
    again: set[str] = field(default_factory=set)

    def add(self, log: str, only: bool) -> None:
        """Count the log of a start, which may be its only one."""
        if only:
            self.once += 1
        else:
            self.again.add(log)

    def __len__(self) -> int:
        return self.once + len(self.again)


@dataclass(slots=True)
class Count:
    """How many starts, of how many logs."""

    starts: int = 0
    failed: int = 0
    logs: Logs = field(default_factory=Logs)
    failed_logs: Logs = field(default_factory=Logs)

    def add(self, log: str, only: bool, failed: bool) -> None:
        """Count a start."""
        self.starts += 1
        self.logs.add(log, only)
        if failed:
            self.failed += 1
            self.failed_logs.add(log, only)


@dataclass(slots=True)
class Seen:
    """A cause as it was met with."""

    id: str
    title: str
    """That of one of its starts, with that log's values."""
    example: str
    """A log that has it."""
    fix: str = ""
    """What is to be changed first there."""
    first: str = ""
    """The first day on which it was seen; "" where no start bears a day."""
    last: str = ""
    starts: int = 0
    logs: Logs = field(default_factory=Logs)
    releases: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    signatures: dict[str, str] = field(default_factory=dict)
    """Each signature with the first day on which it was seen."""


@dataclass(slots=True)
class Fleet:
    """All that was counted."""

    all: Count = field(default_factory=Count)
    not_read: int = 0
    """Logs that could not be read."""
    by: dict[str, dict[str, Count]] = field(default_factory=lambda: {name: {} for name in DIMENSIONS})
    """For each dimension its values."""
    buckets: dict[str, Count] = field(default_factory=dict)
    """Failures alone."""
    causes: dict[str, Seen] = field(default_factory=dict)
    weeks: dict[tuple[str, str], int] = field(default_factory=dict)
    """Failed starts by (week, bucket)."""
    by_release: dict[tuple[str, str], Logs] = field(default_factory=dict)
    """Logs by (release, cause)."""
    first: str = ""
    """First and last day of all starts."""
    last: str = ""

    def rows(self, dimension: str) -> list[tuple[str, Count]]:
        """Return the values of a dimension, weeks in their order, others the most frequent first."""
        items = list(self.by[dimension].items())
        if dimension == "week":
            return sorted(items)
        return sorted(items, key=lambda item: (-item[1].starts, item[0]))


def several(rows: Iterable[dict[str, Any]]) -> set[str]:
    """Return the ids of the logs that have more than one start.

    Args:
        rows: With ``log`` and ``start``.
    """
    return {row["log"] for row in rows if row["start"] > 1}


def count(rows: Iterable[dict[str, Any]], again: AbstractSet[str] | None = None) -> Fleet:
    """Return what some rows come to.

    Args:
        rows: With ``COLUMNS`` at least; values may be empty or null.
        again: ``several`` of them, so that the others need not be remembered; None: nobody knows, all are remembered.
    """
    fleet = Fleet()
    for row in rows:
        if row["bucket"] == NOT_READ:
            fleet.not_read += 1
        else:
            _add(fleet, row, again is not None and row["log"] not in again)
    return fleet


def week_of(day: str) -> str:
    """Return the ISO week of a day, ``2026-W47``; "" where it is none."""
    try:
        year, week, _ = date.fromisoformat(day).isocalendar()
    except ValueError:
        return ""
    return f"{year}-W{week:02}"


def _add(fleet: Fleet, row: dict[str, Any], only: bool) -> None:
    log, failed, day = row["log"], bool(row["failed"]), row["day"] or ""
    week = week_of(day) or NOT_TOLD
    fleet.all.add(log, only, failed)
    for name in DIMENSIONS:
        value = week if name == "week" else row[name] or NOT_TOLD
        fleet.by[name].setdefault(value, Count()).add(log, only, failed)
    if day:
        fleet.first = min(fleet.first or day, day)
        fleet.last = max(fleet.last, day)
    if failed:
        bucket, cause, release = row["bucket"], row["cause"], row["release"] or NOT_TOLD
        fleet.buckets.setdefault(bucket, Count()).add(log, only, failed)
        fleet.weeks[week, bucket] = fleet.weeks.get((week, bucket), 0) + 1
        fleet.by_release.setdefault((release, cause), Logs()).add(log, only)
        _see(fleet, cause, row, day, only)


def _see(fleet: Fleet, cause: str, row: dict[str, Any], day: str, only: bool) -> None:
    seen = fleet.causes.setdefault(cause, Seen(cause, row["title"], row["source"]))
    seen.starts += 1
    if not seen.fix:
        best = next(iter(row.get("fixes") or ()), None) or {}
        seen.fix = str(best.get("change") or best.get("title") or "")
    seen.logs.add(row["log"], only)
    if row["release"]:
        seen.releases.add(row["release"])
    if row["node"]:
        seen.nodes.add(row["node"])
    if day:
        seen.first = min(seen.first or day, day)
        seen.last = max(seen.last, day)
        known = seen.signatures.get(row["signature"], "")
        seen.signatures[row["signature"]] = min(known or day, day)
