"""What the periodic lines of a server say, and what was found in them."""

from __future__ import annotations

from typing import NamedTuple

from ...corpus.records import Mutable, Record, field, record
from .marks import UNTOLD

STALLED, PREEMPTED, REJECTED, FULL, QUEUED, SLOW, CRAWLING = KINDS = (
    "stalled", "preempted", "drafts_rejected", "cache_full", "queued", "slowed_down", "crawling",
)  # fmt: skip
"""What can be wrong with a server at work, from what matters most: an engine that stands still answers nobody, a slow one answers late."""


class Sample(NamedTuple):
    """One line of an engine's statistics."""

    line: int
    """1-based number in the log."""
    at: float
    """Seconds on the log's own clock (``clock.py``); ``UNTOLD`` where the line bears no stamp."""
    prompt: float
    """Prompt tokens a second since the line before."""
    generation: float
    """Generated tokens a second since the line before."""
    running: int
    """Requests in the batch when the line was printed."""
    waiting: int
    """Requests that wait to enter it (``Pending`` in V0)."""
    swapped: int
    """Requests that were moved to host memory (V0)."""
    preemptions: int
    """Preemptions since the line before, where the release counts them."""
    usage: float
    """Per cent of the KV cache that is taken; ``UNTOLD`` where the line does not say."""
    raw: bytes
    """The line as it stands in the log."""

    @property
    def text(self) -> str:
        """The same, readable."""
        return self.raw.decode("utf-8", "replace").rstrip()

    @property
    def idle(self) -> bool:
        """Whether not one token was computed since the line before."""
        return not (self.prompt or self.generation)

    @property
    def asked(self) -> bool:
        """Whether there is a request that wants tokens."""
        return bool(self.running or self.waiting or self.swapped)


class Draft(NamedTuple):
    """One line of the statistics of speculative decoding."""

    line: int
    at: float
    """As in ``Sample``."""
    accepted: float
    """Share of the drafted tokens that were accepted, 0 to 1."""
    drafted: int
    """Tokens drafted since the line before; ``UNTOLD`` where the release does not say."""
    raw: bytes

    @property
    def text(self) -> str:
        """The line as it stands in the log."""
        return self.raw.decode("utf-8", "replace").rstrip()


@record(slots=True)
class End(Mutable):
    """How a log goes on after the last line of statistics."""

    line: int = 0
    """Its last line."""
    at: float = UNTOLD
    """Time of the last line that bears vLLM's stamp, on the clock of the samples."""
    answered: tuple[int, ...] = ()
    """Lines on which a request was answered with status 200, after the last line of statistics."""


@record(slots=True)
class Records(Mutable):
    """What is kept of the periodic lines of one server start."""

    engines: dict[str, list[Sample]] = field(default_factory=dict)
    """Lines by the engine that they are about, in the order of the log; of many the middle ones are thinned out."""
    drafts: list[Draft] = field(default_factory=list)
    lines: int = 0
    """Lines of statistics that were seen, those included that were not kept."""
    end: End = field(default_factory=End)


@record(frozen=True, slots=True)
class State(Record):
    """Something that was wrong for a while."""

    kind: str
    """One of ``KINDS``."""
    since: Sample | Draft
    """The line from which on it holds."""
    until: Sample | Draft
    """The last line that shows it."""
    lines: int
    """Lines of statistics that show it."""
    seconds: float
    """How long it lasted; 0 where the log has no stamps."""
    current: bool
    """Whether it still holds where the log ends, or where the server was stopped."""
    engine: str = ""
    """The engine that it is about; empty where there is but one."""
    numbers: dict[str, float] = field(default_factory=dict)
    """What was measured, by the names that sentences use."""
    proof: tuple[Sample | Draft, ...] = ()
    """Lines that show it best, in order."""

    @property
    def stalled(self) -> bool:
        """Whether the engine stands still, rather than crawls."""
        return self.kind == STALLED


@record(frozen=True, slots=True)
class ServingHealth(Record):
    """How a server did while it answered requests."""

    lines: int
    """Lines of statistics that were seen."""
    engines: int
    """Engines that printed them."""
    seconds: float
    """From the first to the last of them; 0 where the log has no stamps."""
    busy: int
    """Lines kept that were printed while requests ran."""
    typical_generation: float
    """Median of the generated tokens a second while requests ran, of all engines together."""
    peak_generation: float
    peak_running: int
    peak_waiting: int
    peak_usage: float
    """Per cent; ``UNTOLD`` where no line says it."""
    states: tuple[State, ...] = ()
    """In the order in which they began."""

    @property
    def worst(self) -> State | None:
        """The state that matters most of those that hold at the end; None for a healthy server."""
        current = [state for state in self.states if state.current]
        return min(current, key=lambda state: KINDS.index(state.kind), default=None)

    @property
    def overcome(self) -> tuple[State, ...]:
        """The states that were over before the end."""
        return tuple(state for state in self.states if not state.current)
