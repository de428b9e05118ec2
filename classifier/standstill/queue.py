"""A queue that only grows: more requests come than a server at work answers, however well it works."""

from __future__ import annotations

from typing import NamedTuple

from ..patterns.lazy import LazyPattern
from ..serving.clock import span
from ..serving.types import Sample
from . import limits

_ENGINE = LazyPattern(rb"Engine (\d{1,4})")


class _Growth(NamedTuple):
    """A stretch of statistics of one engine through which no request left the queue without another one in its place."""

    first: Sample
    since: float
    lines: int
    most_running: int
    least_running: int
    tokens: float
    """Sum of the tokens a second of the first half of the lines that are needed; what came later is held against it."""
    last: Sample


class Queues:
    """The queues of a server's engines, by their lines of statistics."""

    def __init__(self) -> None:
        self._engines: dict[bytes, _Growth] = {}

    def clear(self) -> None:
        """Forget what was seen: another start."""
        self._engines.clear()

    def take(self, sample: Sample, now: float) -> None:
        """Take in a line of statistics that came at ``now`` (seconds)."""
        found = _ENGINE.search(sample.raw)
        engine = found[1] if found else b""
        known = self._engines.get(engine)
        if known is None or not _goes_on(known, sample):
            self._engines[engine] = _Growth(sample, now, 1, sample.running, sample.running, _tokens(sample), sample)
            return
        self._engines[engine] = _Growth(
            known.first,
            known.since,
            known.lines + 1,
            max(known.most_running, sample.running),
            min(known.least_running, sample.running),
            known.tokens + (_tokens(sample) if known.lines < limits.QUEUE_LINES // 2 else 0.0),
            sample,
        )

    def told(self, now: float) -> tuple[str, float]:
        """Return what shows that a queue only grows, and for how many seconds it has; ``("", 0.0)`` where none does."""
        for growth in self._engines.values():
            seconds = now - growth.since
            rose = growth.last.waiting - growth.first.waiting
            if growth.lines < limits.QUEUE_LINES or seconds < limits.QUEUE_FOR or rose < limits.QUEUE_ROSE:
                continue
            before = growth.tokens / (limits.QUEUE_LINES // 2)
            if growth.last.idle or _tokens(growth.last) > before * limits.QUEUE_FASTER:
                continue
            return (
                f"the queue only grows: {growth.first.waiting} requests waited, {growth.last.waiting} wait {span(seconds)} later, "
                f"while {growth.least_running} to {growth.most_running} run and the engine goes on at {_tokens(growth.last):.0f} "
                f"tokens a second ({before:.0f} before)"
            ), seconds
        return "", 0.0


def _goes_on(known: _Growth, sample: Sample) -> bool:
    """Return whether a line continues a stretch: no fewer wait, and about as many run."""
    most, least = max(known.most_running, sample.running), min(known.least_running, sample.running)
    return (
        sample.waiting >= known.last.waiting > 0
        and most - least <= max(2, limits.QUEUE_FLAT * most)
        and not sample.idle
    )


def _tokens(sample: Sample) -> float:
    return sample.prompt + sample.generation
