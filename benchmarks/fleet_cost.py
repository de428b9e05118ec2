"""What a run takes: processor time of the driver and of all that works for it, and resident memory over the run."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch(threading.Thread):
    """Watches the processes that this one started, and what they start."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._driver, self._ended = _used(resource.RUSAGE_SELF), _used(resource.RUSAGE_CHILDREN)
        self._before = dict(_alive())
        self._began, self._busy = time.monotonic(), _busy()
        self.memory: list[float] = []
        """Resident memory of all, in MiB, twice a second."""

    def run(self) -> None:
        """Look twice a second."""
        while not self._over.wait(0.5):
            self.memory.append(sum(map(_resident, [os.getpid(), *children(os.getpid())])))

    def stop(self) -> tuple[float, float, float]:
        """Return the processor seconds of the driver, of all that worked for it, and the cores that strangers kept busy."""
        self._over.set()
        driver = _used(resource.RUSAGE_SELF) - self._driver
        alive = sum(seconds - self._before.get(pid, 0.0) for pid, seconds in _alive())
        workers = alive + _used(resource.RUSAGE_CHILDREN) - self._ended
        strangers = _busy() - self._busy - driver - workers
        return driver, workers, max(0.0, strangers) / (time.monotonic() - self._began)

    def thirds(self) -> list[int]:
        """Return the highest memory in each third of the run."""
        third = max(1, len(self.memory) // 3)
        parts = (self.memory[:third], self.memory[third : 2 * third], self.memory[2 * third :])
        return [round(max(part, default=0.0)) for part in parts]


def children(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started."""
    found = []
    for task in _listed(Path(f"/proc/{pid}/task")):
        try:
            found += [int(name) for name in Path(task, "children").read_text().split()]
        except OSError:
            continue
    return [own for child in found for own in (child, *children(child))]


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _alive() -> Iterator[tuple[int, float]]:
    for pid in children(os.getpid()):
        try:
            told = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        # Its own time, and that of children that have ended.
        yield pid, sum(map(int, told[11:15])) / TICK


def _resident(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / (1 << 20)
    except OSError:
        return 0.0


def _busy() -> float:
    """Return the seconds for which the processors of this machine have worked."""
    told = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    # All but idle, waiting for disks, and stolen by the host.
    return sum(map(int, (*told[:3], *told[5:7]))) / TICK


def _used(who: int) -> float:
    told = resource.getrusage(who)
    return told.ru_utime + told.ru_stime
