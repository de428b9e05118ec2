"""Holds the starts that no rule names in bounded memory: of those whose lines have one shape some are kept, others counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .shapes import shape_of
from .unnamed import Unnamed

KEPT = 16
"""Starts that are kept of one shape, level, release and nearest bucket."""
PILES = 30_000
"""Such kinds of starts that are held; beyond these the rarest half is given up."""


@dataclass(frozen=True, slots=True)
class Condensed:
    """Starts that no rule names, some of them standing for others like them."""

    starts: tuple[Unnamed, ...]
    given_up: int
    """Starts that were left out: there were too many kinds, and theirs had come least often."""


@dataclass(slots=True)
class _Pile:
    kept: list[Unnamed] = field(default_factory=list)
    logs: set[int] = field(default_factory=set)
    """Hashes of the logs that were counted: of an id a hash takes a third of the memory."""
    rest: Unnamed | None = None

    @property
    def size(self) -> int:
        return len(self.kept) + (self.rest.starts if self.rest is not None else 0)

    def add(self, item: Unnamed, most: int) -> None:
        known = hash(item.log)
        times = 0 if known in self.logs else item.times
        self.logs.add(known)
        if len(self.kept) < most:
            self.kept.append(item)
            return
        if self.rest is None:
            # No log of its own: what it stands for is counted besides those that are kept.
            self.rest = replace(item, log=f"{item.log} and others", times=0, starts=0)
        rest = self.rest
        days = [day for day in (rest.day, item.day) if day]
        self.rest = replace(
            rest,
            day=min(days, default=""),
            until=max(rest.until, item.until or item.day),
            times=rest.times + times,
            starts=rest.starts + item.starts,
        )


def condensed(found: Iterable[Unnamed], kept: int = KEPT, piles: int = PILES) -> Condensed:
    """Return the starts, in memory that grows with their kinds and hardly with their number.

    Args:
        found: The starts; read once, one after the other.
        kept: Starts of one kind (shape, level, release, nearest bucket) that are kept; the next one stands for all others.
        piles: Kinds that are held.
    """
    held: dict[tuple[str, ...], _Pile] = {}
    given_up = 0
    for item in found:
        held.setdefault((shape_of(item.line), item.level, item.release, item.nearest), _Pile()).add(item, kept)
        if len(held) > piles:
            rare = sorted(held, key=lambda key: held[key].size)[: piles // 2]
            given_up += sum(held.pop(key).size for key in rare)
    starts = (item for pile in held.values() for item in (*pile.kept, *([pile.rest] if pile.rest is not None else [])))
    return Condensed(tuple(starts), given_up)
