"""Follows one server through its stages and says when one takes too long, on what evidence, and what to do next.

Time comes in with every call, so that a log can be replayed; silence alone is never called a stall.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...corpus.stages import STAGE_ORDER
from . import limits
from .activity import checkpoint_gib, moved, read
from .judge import Situation, judge
from .patience import Patience
from .types import ProcessState, Standstill, Verdict
from .work import Processes

_RANK: dict[Verdict, int] = {"moving": 0, "slow": 1, "unclear": 2, "stalled": 3}
EVERY, SOON = 5.0, 0.5
"""Seconds between two looks at the processes; the same while one of them is stopped."""


class Monitor:
    """Fed with what comes, and with the time.

    Args:
        patience: How long each stage may take; None for what was learnt.
    """

    def __init__(self, patience: Patience | None = None) -> None:
        self.situation = Situation(patience or Patience())
        self._processes = Processes()
        self._next_processes = 0.0
        self._began = False
        self._lines = 0
        self._spans: dict[str, float] = {}
        """How long the stages of the start that goes on took."""
        self._told: Standstill | None = None
        self._told_at = 0.0
        self._over: tuple[Standstill, float] | None = None
        """What was told last and is over, and since when."""
        self._ended = 0.0

    def observe(self, data: bytes, now: float) -> None:
        """Take in a piece of the log that came at ``now`` (seconds, monotonic)."""
        at = self.situation
        if not self._began:
            self._began = True
            at.since = at.progress = at.sample_at = now
        self._lines += data.count(b"\n")
        before, at.bar = at.bar, moved(at.bar, data, now)
        at.checkpoint = checkpoint_gib(data) or at.checkpoint
        seen = read(data)
        at.notices += seen.notices
        at.ranks.update(seen.ranks)
        if seen.samples:
            if at.sample is not None and at.sample.asked:
                at.interval = _interval(at.interval, now - at.sample_at)
            at.sample, at.sample_at = seen.samples[-1], now
            for sample in seen.samples:
                at.queues.take(sample, now)
        if seen.answered:
            at.answered = now
        if seen.progress or at.bar is not before:
            at.progress, at.notices, at.line = now, 0, self._lines
            self._processes.forget()

    def reach(self, stage: str, now: float) -> None:
        """Note that the server reached a stage."""
        at = self.situation
        if stage == at.stage:
            return
        if STAGE_ORDER.get(stage, 0) < STAGE_ORDER.get(at.stage, 0):
            self._spans.clear()
            at.ranks.clear()
            at.sample = None
            at.queues.clear()
            at.checkpoint = 0.0
        elif self._began:
            self._spans[at.stage] = now - at.since
        if stage == "api_ready":
            for name, seconds in self._spans.items():
                at.patience.took(name, seconds)
            self._spans.clear()
        at.bar = None
        at.stage, at.since, at.stood = stage, now, 0.0

    def know(self, facts: Mapping[str, object]) -> None:
        """Take in what the log tells of the server."""
        world = facts.get("world_size") or facts.get("tensor_parallel_size")
        if isinstance(world, int):
            self.situation.world = max(1, world)

    def wants_processes(self, now: float) -> bool:
        """Return whether it is time to look at the server's processes."""
        if now < self._next_processes:
            return False
        # Whether a stopped one goes on is to be known at once.
        self._next_processes = now + (SOON if self._processes.any_stopped else EVERY)
        return True

    def see_processes(self, states: tuple[ProcessState, ...], now: float) -> None:
        """Take in what the kernel tells of the server's processes."""
        self._processes.see(states, now)
        at = self.situation
        at.processes, at.work = self._processes.latest, self._processes.work
        at.stopped = self._processes.stopped(now)
        at.stopped_since = self._processes.since(at.stopped) if at.stopped else 0.0

    def judge(self, now: float) -> Standstill | None:
        """Return what is to be said now that has not been said: a verdict, a graver one, or that it goes on."""
        if not self._began:
            return None
        state, told = judge(self.situation, now), self._told
        if told is not None and (state is None or state.stage != told.stage or self._went_on(told, state)):
            self._told, self._over = None, (told, now)
            if told.verdict != "slow":
                self.situation.stood += told.seconds + now - self._told_at
                return _moving(told, now - self._told_at)
            told = None
        if state is None or (told is not None and _RANK[state.verdict] <= _RANK[told.verdict]):
            return None
        self._told, self._told_at = state, now
        return state

    def _went_on(self, told: Standstill, state: Standstill) -> bool:
        """Return whether a silence is over, although the stage has taken long."""
        return told.verdict != "slow" and state.verdict == "slow" and self.situation.progress > self._told_at

    def end(self, now: float) -> None:
        """Note that the log has ended."""
        self._ended = now

    def stalled_to_the_end(self, stopped: bool) -> Standstill | None:
        """Return what stalled until the log ended; or, where the server was told to stop, until it went on to do so."""
        if self._told is not None:
            return self._told if self._told.verdict == "stalled" else None
        if not stopped or self._over is None or self._over[0].verdict != "stalled":
            return None
        return self._over[0] if self._ended - self._over[1] < limits.ENDING else None


def _moving(told: Standstill, later: float) -> Standstill:
    return Standstill(
        verdict="moving",
        stage=told.stage,
        seconds=told.seconds + later,
        usual=told.usual,
        patience=told.patience,
        evidence=("the log goes on",),
    )


def _interval(known: float, gap: float) -> float:
    """Return the seconds between two lines of statistics; several engines print theirs together."""
    if gap < 1.0:
        return known
    return min(known, gap) if known else gap
