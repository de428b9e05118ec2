"""One message per incident and window, and one answer per request, however often and in how many processes it comes."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..letter import Letter

if TYPE_CHECKING:
    from ..history import History

log = logging.getLogger("vllm_triage.chat")

LIMIT = 100_000
"""Keys that are remembered in the process at most; the oldest windows end early beyond."""


@dataclass
class _Window:
    end: float
    count: int


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of a claim."""

    first: bool
    """Whether it is the first of its window."""
    count: int
    kept: bool
    """Whether its letters are in the outbox."""


class LocalOnce:
    """Windows of one process, for a service without history."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, limit: int = LIMIT) -> None:
        self._clock = clock
        self._limit = limit
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        self._lock = threading.Lock()

    def once(self, key: str, window_seconds: float, times: int = 1) -> tuple[bool, int]:
        """Return whether this is the first of its window, and how many there were with it (them).

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
            window.count += times
            return window.count == times, window.count

    def claimed(self, key: str) -> bool:
        """Tell whether a key has a window now."""
        with self._lock:
            window = self._windows.get(key)
            return window is not None and window.end > self._clock()


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
        found = self.claim(key, window_seconds, times)
        return found.first, found.count

    def claim(
        self, key: str, window_seconds: float, times: int = 1, letters: Callable[[], Sequence[Letter]] | None = None
    ) -> Claim:
        """Count claims; where they are the first of their window, ``letters`` go into the outbox in the same moment."""
        made = None if letters is None else lambda _at: letters()
        return self.claim_each([(key, times)], window_seconds, made)[0]

    def claim_each(
        self,
        claimed: Sequence[tuple[str, int]],
        window_seconds: float,
        letters: Callable[[int], Sequence[Letter]] | None = None,
        *,
        strict: bool = False,
    ) -> list[Claim]:
        """Do the same for many keys at one time.

        Args:
            claimed: The keys, and how many claims to each.
            window_seconds: How long the window of each is.
            letters: Given the place of a claim in ``claimed``.
            strict: Raise where the history is away; otherwise this process counts for itself then.

        Raises:
            HistoryError: The history is away, and ``strict``.
        """
        told = [(self._told(key), times) for key, times in claimed]
        if self._history is not None:
            try:
                found = self._history.once_each(told, window_seconds, letters)
            except Exception as error:
                # A message too many is better than none while the database is away.
                _away(error)
                if strict:
                    raise
            else:
                return [Claim(first, count, kept=first and letters is not None) for first, count in found]
        return [Claim(*self._local.once(key, window_seconds, times), kept=False) for key, times in told]

    def each(self, keys: Iterable[str], window_seconds: float) -> list[bool]:
        """Return for each key whether it is the first of its window."""
        return [found.first for found in self.claim_each([(key, 1) for key in keys], window_seconds)]

    def first_each(self, keys: Iterable[str]) -> list[bool]:
        """Return for each key whether it would be the first of its window; a key that comes twice here is one once."""
        told = [self._told(key) for key in keys]
        known: set[str] = set()
        if self._history is not None:
            try:
                known = self._history.claimed(told)
            except Exception as error:  # noqa: BLE001
                _away(error)
        firsts = []
        for key in told:
            firsts.append(key not in known and not self._local.claimed(key))
            known.add(key)
        return firsts

    def _told(self, key: str) -> str:
        with self._lock:
            return key + self._generations.get(key, "")

    def forget(self, key: str) -> None:
        """End the window of a key: the next one is a first."""
        with self._lock:
            self._generations[key] = f"@{time.time_ns()}"
            self._generations.move_to_end(key)
            while len(self._generations) > LIMIT:
                self._generations.popitem(last=False)


def _away(error: Exception) -> None:
    # Only its type: the message may quote the URL.
    log.error("the history cannot count messages: %s", type(error).__name__)
