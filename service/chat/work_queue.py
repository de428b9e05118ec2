"""Work that is done after the answer: a bounded queue with a few threads, delays, and an end that waits."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

from .interface import BusyError

log = logging.getLogger("vllm_triage.chat")

Job = Callable[[], None]


class Background:
    """Runs jobs in threads of its own, which start with the first job.

    Args:
        name: Of the threads.
        size: Jobs that wait at most, delayed ones included.
        workers: Threads.
    """

    def __init__(self, name: str, size: int, workers: int = 1) -> None:
        self._name = name
        self._size = size
        self._workers = workers
        self._threads: list[threading.Thread] = []
        self._jobs: list[tuple[float, int, Job]] = []
        self._order = itertools.count()
        self._running = 0
        self._changed = threading.Condition()
        self._closing = False
        self._closed = False

    @property
    def closing(self) -> bool:
        """Whether the end has begun: what fails now is not tried again."""
        return self._closing

    @property
    def waiting(self) -> int:
        """How many jobs wait or run."""
        with self._changed:
            return len(self._jobs) + self._running

    def submit(self, job: Job, delay: float = 0, *, urgent: bool = False) -> None:
        """Have a job done, ``delay`` seconds from now.

        Args:
            job: Without arguments; what it raises is logged by its type only.
            delay: Seconds to wait; cut short where the end begins.
            urgent: Taken beyond the size and at the end too: the rest of work that was taken before.

        Raises:
            BusyError: The queue is full or closed.
        """
        with self._changed:
            if self._closed or (not urgent and (self._closing or len(self._jobs) >= self._size)):
                raise BusyError
            heapq.heappush(self._jobs, (time.monotonic() + delay, next(self._order), job))
            if len(self._threads) < min(self._workers, len(self._jobs) + self._running):
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()

    def close(self, seconds: float) -> int:
        """Finish what waits, delayed jobs at once, and return how many jobs were left undone after ``seconds``."""
        deadline = time.monotonic() + seconds
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            while (self._jobs or self._running) and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            undone = len(self._jobs) + self._running
            self._jobs.clear()
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()) + 0.1)
        return undone

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except Exception as error:  # noqa: BLE001 - one job must not end the others
                # The message of an error may quote what was sent.
                log.error("background work failed: %s", type(error).__name__)  # noqa: TRY400
            finally:
                with self._changed:
                    self._running -= 1
                    self._changed.notify_all()

    def _next(self) -> Job | None:
        with self._changed:
            while True:
                if self._closed:
                    return None
                if self._jobs:
                    due = self._jobs[0][0] - time.monotonic()
                    if due <= 0 or self._closing:
                        self._running += 1
                        return heapq.heappop(self._jobs)[2]
                    self._changed.wait(due)
                else:
                    self._changed.wait()
