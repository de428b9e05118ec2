"""What the processes of a server do, from what the kernel counts of them."""

from __future__ import annotations

from typing import NamedTuple

from . import limits
from .types import ProcessState


class Work(NamedTuple):
    """What all processes together did between two looks."""

    cores: float
    """Processor cores in use, on the average."""
    read: float
    """Bytes read a second."""
    seconds: float
    """Between the looks."""

    @property
    def computes(self) -> bool:
        """Whether something is computed; a process that polls does so too."""
        return self.cores >= limits.WORKS_CPU

    @property
    def reads(self) -> bool:
        """Whether files are read."""
        return self.read >= limits.WORKS_READ

    def told(self) -> str:
        """Return it as a sentence's part."""
        return f"{self.cores:.2g} processor cores in use, {self.read / 1e6:.3g} MB/s read, over {self.seconds:.0f} s"


class Processes:
    """Takes the states of a server's processes, again and again."""

    def __init__(self) -> None:
        self.latest: tuple[ProcessState, ...] = ()
        self.work: Work | None = None
        """Over the last ``limits.IDLE_FOR`` seconds at least; None where that is not known yet."""
        self._looks: list[tuple[float, tuple[ProcessState, ...]]] = []
        self._stopped: dict[int, float] = {}

    def see(self, states: tuple[ProcessState, ...], now: float) -> None:
        """Take in what the processes look like now."""
        self.latest = states
        stopped = {state.pid for state in states if state.state == "T"}
        self._stopped = {pid: self._stopped.get(pid, now) for pid in stopped}
        self._looks.append((now, states))
        while len(self._looks) > 1 and now - self._looks[1][0] >= limits.IDLE_FOR:
            self._looks.pop(0)
        then, before = self._looks[0]
        self.work = _work(before, states, now - then) if now - then >= limits.IDLE_FOR else None

    @property
    def any_stopped(self) -> bool:
        """Whether one is stopped by a signal, however shortly."""
        return bool(self._stopped)

    def forget(self) -> None:
        """Begin to compare anew: what was done before does not count any more."""
        self._looks = self._looks[-1:]
        self.work = None

    def stopped(self, now: float) -> tuple[ProcessState, ...]:
        """Return the processes that have been stopped by a signal for long enough to count."""
        return tuple(state for state in self.latest if now - self._stopped.get(state.pid, now) >= limits.STOPPED)

    def since(self, states: tuple[ProcessState, ...]) -> float:
        """Return when the first of some stopped processes was stopped."""
        return min(self._stopped[state.pid] for state in states)


def _work(before: tuple[ProcessState, ...], now: tuple[ProcessState, ...], seconds: float) -> Work:
    earlier = {state.pid: state for state in before}
    cpu, read = 0.0, 0
    for state in now:
        old = earlier.get(state.pid)
        cpu += state.cpu_seconds - (old.cpu_seconds if old else 0.0)
        read += state.read_bytes - (old.read_bytes if old else 0)
    return Work(max(0.0, cpu) / seconds, max(0, read) / seconds, seconds)
