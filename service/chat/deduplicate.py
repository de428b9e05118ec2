"""One message per incident and window, and one answer per request, however often and in how many processes it comes."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..history import History

log = logging.getLogger("vllm_triage.chat")

LIMIT = 100_000
"""Keys that are remembered in the process at most; the oldest windows end early beyond."""


@dataclass
class _Window:
    end: float
    count: int


class LocalOnce:
    """Windows of one process, for a service without history."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, limit: int = LIMIT) -> None:
        self._clock = clock
        self._limit = limit
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        self._lock = threading.Lock()

    def once(self, key: str, window_seconds: float) -> tuple[bool, int]:
        """Return whether this is the first of its window, and how many there were with it.

        A window begins with the first and does not move: what goes on for hours is told again in every window.
        """
        now = self._clock()
        with self._lock:
            window = self._windows.get(key)
            if window is None or window.end <= now:
                self._windows.pop(key, None)
                window = self._windows[key] = _Window(now + window_seconds, 0)
                while len(self._windows) > self._limit:
                    self._windows.popitem(last=False)
            window.count += 1
            return window.count == 1, window.count


class Once:
    """Windows that all processes of a service share where there is a history."""

    def __init__(self, history: History | None = None) -> None:
        self._local = LocalOnce()
        self._history = history
        # A window that was ended early goes on under another name.
        self._generations: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, key: str, window_seconds: float, times: int = 1) -> tuple[bool, int]:
        """Return whether this is the first of its window, and how many there were with it (them)."""
        return self._claim([(key, times)], window_seconds)[0]

    def each(self, keys: Iterable[str], window_seconds: float) -> list[bool]:
        """Return for each key whether it is the first of its window."""
        return [first for first, _ in self._claim([(key, 1) for key in keys], window_seconds)]

    def _claim(self, wanted: Sequence[tuple[str, int]], window_seconds: float) -> list[tuple[bool, int]]:
        with self._lock:
            wanted = [(key + self._generations.get(key, ""), times) for key, times in wanted]
        if self._history is not None:
            try:
                return [_repeat(self._history.once, key, window_seconds, times) for key, times in wanted]
            except Exception as error:  # noqa: BLE001 - a message too many is better than none while the database is away
                log.error("the history cannot count messages: %s", type(error).__name__)  # noqa: TRY400 - may quote the URL
        return [_repeat(self._local.once, key, window_seconds, times) for key, times in wanted]

    def forget(self, key: str) -> None:
        """End the window of a key: the next one is a first."""
        with self._lock:
            self._generations[key] = f"@{time.time_ns()}"
            self._generations.move_to_end(key)
            while len(self._generations) > LIMIT:
                self._generations.popitem(last=False)


def _repeat(once: Callable[[str, float], tuple[bool, int]], key: str, window: float, times: int) -> tuple[bool, int]:
    first, count = once(key, window)
    for _ in range(times - 1):
        begins, count = once(key, window)
        first = first or begins
    return first, count
