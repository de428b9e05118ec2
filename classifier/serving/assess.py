"""From the periodic lines of a server to how it did: the one entry of this room."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from . import states
from .clock import Clock
from .marks import STATISTICS, UNTOLD
from .middle import median
from .states import View
from .types import Draft, End, Records, Sample, ServingHealth, State

Row = TypeVar("Row", Sample, Draft)
Engines: TypeAlias = dict[str, list[Sample]]

TOLD = 12
"""States that are told of one log, the longest ones."""


def assess(records: Records | None, stop: int = 0, stamp: str = "", excerpt: bool = False) -> ServingHealth | None:
    """Return how a server did while it answered requests.

    Args:
        records: What was kept of its periodic lines; None where there were none.
        stop: Line on which it was stopped from outside; 0 where it was not. What it printed after that is not judged.
        stamp: Its time as that line tells it; "" where it does not.
        excerpt: Whether the log is an excerpt without the server's start: its lines were chosen, so that few are enough.

    Returns:
        None where it printed none of these lines.
    """
    if records is None:
        return None
    engines = {name: _up_to(stop, samples) for name, samples in records.engines.items()}
    engines = {name: samples for name, samples in engines.items() if samples}
    found: list[State] = []
    for name, samples in engines.items():
        end = _stopped(samples[-1], stop, stamp) if stop else _end(name, engines, records.end)
        view = View(samples, end, excerpt, _named(name, engines))
        for look in LOOKS:
            found += look(view)
    found += states.drafts_rejected(_up_to(stop, records.drafts), excerpt)
    if not engines and not found:
        return None
    return _summary(engines, found, records.lines)


LOOKS: tuple[Callable[[View], list[State]], ...] = (
    states.stalled,
    states.preempted,
    states.full,
    states.queued,
    states.slowed_down,
    states.crawling,
)
"""What is looked for in the lines of each engine."""


def _up_to(stop: int, rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.line < stop] if stop else rows


def _named(name: str, engines: Engines) -> str:
    return name if len(engines) > 1 else ""


def _end(name: str, engines: Engines, end: End) -> End:
    """Return how the log goes on for one engine: what others print later shows that time went by."""
    others = [samples[-1].at for other, samples in engines.items() if other != name]
    return End(end.line, max([end.at, *others]), end.answered)


def _stopped(last: Sample, stop: int, stamp: str) -> End:
    """Return the end of a log that is not judged beyond a stop."""
    clock = Clock()
    before, then = clock.read(last.raw.partition(STATISTICS)[0]), clock.read(stamp.encode())
    told = UNTOLD not in (last.at, before, then)
    return End(stop, last.at + max(0.0, then - before) if told else UNTOLD)


def _summary(engines: Engines, found: list[State], lines: int) -> ServingHealth:
    samples = sorted((sample for rows in engines.values() for sample in rows), key=_line)
    busy = [sample for sample in samples if sample.running]
    stamps = [sample.at for sample in samples if sample.at != UNTOLD]
    longest = sorted(found, key=lambda state: (state.current, state.seconds, state.lines))[-TOLD:]
    return ServingHealth(
        lines=lines,
        engines=len(engines),
        seconds=max(stamps) - min(stamps) if stamps else 0.0,
        busy=len(busy),
        # Of several engines, which print one after the other, the sum is what the server gives.
        typical_generation=sum(_typical(rows) for rows in engines.values()),
        peak_generation=max((sample.generation for sample in samples), default=0.0),
        peak_running=max((sample.running for sample in samples), default=0),
        peak_waiting=max((sample.waiting for sample in samples), default=0),
        peak_usage=max((sample.usage for sample in samples), default=UNTOLD),
        states=tuple(sorted(longest, key=lambda state: state.since.line)),
    )


def _typical(samples: list[Sample]) -> float:
    return median(sample.generation for sample in samples if sample.running)


def _line(sample: Sample) -> int:
    return sample.line
