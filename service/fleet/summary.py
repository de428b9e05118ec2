"""The summary of a fleet, in the order in which people ask: for text, JSON and the page alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Any

from ...classifier.errors import InputError
from .counts import DIMENSIONS, Count, Fleet, Seen
from .intervals import wilson
from .upgrades import Upgrade, upgrades

RECENT = timedelta(days=7)
"""What is new, where nobody says since when: the last week of the logs."""


@dataclass(frozen=True, slots=True)
class Share:
    """Starts, and how many of them failed."""

    name: str
    starts: int
    failed: int
    logs: int
    failed_logs: int
    low: float
    high: float
    """The interval of the share of failed logs (Wilson, 95 %)."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause, as often as it was met with."""

    id: str
    title: str
    starts: int
    logs: int
    first: str
    last: str
    releases: tuple[str, ...]
    nodes: int
    example: str
    fix: str
    """What is to be changed first, in one of its logs; "" where nothing is known."""
    new_signatures: int
    """Deciding lines that were never seen before the day from which on things are new."""


@dataclass(frozen=True, slots=True)
class Summary:
    """All that is told."""

    all: Share
    not_read: int
    first: str
    last: str
    since: str
    """From this day on things are new."""
    causes: tuple[Cause, ...]
    """The most frequent first."""
    new: tuple[Cause, ...]
    """Causes first seen since then, where there were logs before."""
    buckets: tuple[Share, ...]
    by: dict[str, tuple[Share, ...]]
    """For each dimension its values."""
    weeks: dict[str, dict[str, int]]
    """Failed starts for each week by bucket."""
    upgrades: tuple[Upgrade, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values ready for JSON."""
        told = asdict(self)
        for item, own in zip(told["upgrades"], self.upgrades, strict=True):
            item["all"]["verdict"] = own.all.verdict
            for change, cause in zip(item["causes"], own.causes, strict=True):
                change["verdict"] = cause.verdict
        return told


def summarise(fleet: Fleet, since: str = "") -> Summary:
    """Return the summary of some counts.

    Args:
        fleet: The counts.
        since: Day from which on things are new, YYYY-MM-DD; "" for the last week of the logs.

    Raises:
        InputError: ``since`` is no day.
    """
    cut = _day(since, fleet)
    causes = tuple(_cause(seen, cut) for seen in sorted(fleet.causes.values(), key=lambda own: (-own.starts, own.id)))
    weeks: dict[str, dict[str, int]] = {name: {} for name, _ in fleet.rows("week")}
    for (week, bucket), number in sorted(fleet.weeks.items()):
        weeks[week][bucket] = number
    return Summary(
        all=_share("all", fleet.all),
        not_read=fleet.not_read,
        first=fleet.first,
        last=fleet.last,
        since=cut,
        causes=causes,
        new=tuple(cause for cause in causes if cut and fleet.first < cut <= cause.first),
        buckets=_shares(sorted(fleet.buckets.items(), key=lambda item: (-item[1].failed, item[0]))),
        by={name: _shares(fleet.rows(name)) for name in DIMENSIONS},
        weeks=weeks,
        upgrades=tuple(upgrades(fleet)),
    )


def _day(since: str, fleet: Fleet) -> str:
    if since:
        try:
            return date.fromisoformat(since).isoformat()
        except ValueError:
            raise InputError(f"{since!r} is not a day such as 2026-11-02") from None
    return (date.fromisoformat(fleet.last) - RECENT + timedelta(days=1)).isoformat() if fleet.last else ""


def _shares(items: Iterable[tuple[str, Count]]) -> tuple[Share, ...]:
    return tuple(_share(name, own) for name, own in items)


def _share(name: str, own: Count) -> Share:
    low, high = wilson(len(own.failed_logs), len(own.logs))
    return Share(name, own.starts, own.failed, len(own.logs), len(own.failed_logs), low, high)


def _cause(seen: Seen, cut: str) -> Cause:
    new = sum(1 for first in seen.signatures.values() if cut and first >= cut)
    return Cause(
        seen.id, seen.title, seen.starts, len(seen.logs), seen.first, seen.last, tuple(sorted(seen.releases)),
        len(seen.nodes), seen.example, seen.fix, new,
    )  # fmt: skip
