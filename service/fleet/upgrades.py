"""What changed from one release to the next: shares of failed logs, with intervals that say what is known and what is not.

A log is what is compared, not a start: the hundred starts of a crash loop are one failure that came a hundred times. Logs of
one node or model are taken for independent, which they are not quite; where releases run on different machines or models the
difference may be theirs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

from ...classifier.facts.versions import version_key
from .counts import NOT_TOLD, Fleet
from .intervals import SURE, newcombe

LEAST = 8
"""Logs of a release below which nothing is compared."""
Verdict = Literal["worse", "better", "no difference shown"]


@dataclass(frozen=True, slots=True)
class Change:
    """How a share changed."""

    what: str
    """``all failures``, or a cause."""
    hits_before: int
    hits_after: int
    grown: float
    """By how much the share grew, from -1 to 1."""
    low: float
    high: float
    """Its interval."""

    @property
    def verdict(self) -> Verdict:
        """Whether the interval leaves out that nothing changed."""
        if self.low > 0:
            return "worse"
        return "better" if self.high < 0 else "no difference shown"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Two releases, one after the other."""

    before: str
    after: str
    logs_before: int
    logs_after: int
    all: Change
    causes: tuple[Change, ...]
    """Causes that became more or less frequent beyond doubt, the largest change first."""


def upgrades(fleet: Fleet, sure: float = SURE) -> list[Upgrade]:
    """Return what each release changed against the one before that the fleet ran.

    Args:
        fleet: The counts.
        sure: How sure each statement is to be. Causes are many, so each is asked for more: together they are as sure as one.
    """
    known = [
        name
        for name, own in fleet.by["release"].items()
        if name != NOT_TOLD and version_key(name) and len(own.logs) >= LEAST
    ]
    ordered = sorted(known, key=lambda name: (version_key(name), name))
    return [_between(fleet, before, after, sure) for before, after in itertools.pairwise(ordered)]


def _between(fleet: Fleet, before: str, after: str, sure: float) -> Upgrade:
    old, new = fleet.by["release"][before], fleet.by["release"][after]
    # A log in which a server was upgraded counts for both.
    all_failures = _change(
        "all failures", len(old.failed_logs), len(old.logs), len(new.failed_logs), len(new.logs), sure
    )
    causes = sorted({cause for release, cause in fleet.by_release if release in (before, after)})
    # Bonferroni: as many statements as causes.
    each = 1 - (1 - sure) / max(1, len(causes))
    changes = [
        _change(
            cause,
            len(fleet.by_release.get((before, cause), ())),
            len(old.logs),
            len(fleet.by_release.get((after, cause), ())),
            len(new.logs),
            each,
        )
        for cause in causes
    ]
    told = [change for change in changes if change.verdict != "no difference shown"]
    told.sort(key=lambda change: (-abs(change.grown), change.what))
    return Upgrade(before, after, len(old.logs), len(new.logs), all_failures, tuple(told))


def _change(what: str, hits_before: int, before: int, hits_after: int, after: int, sure: float) -> Change:
    return Change(what, hits_before, hits_after, *newcombe(hits_before, before, hits_after, after, sure))
