"""One message per incident and window, and one answer per request, however often and in how many processes it comes."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
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

    def forget(self, key: str) -> None:
        """End the window of a key."""
        with self._lock:
            self._windows.pop(key, None)


class Once:
    """Windows that all processes of a service share where there is a history."""

    def __init__(self, history: History | None = None) -> None:
        self._local = LocalOnce()
        self._history = history

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
        if self._history is not None:
            try:
                found = self._history.once_each(claimed, window_seconds, letters)
            except Exception as error:
                # A message too many is better than none while the database is away.
                _away(error)
                if strict:
                    raise
            else:
                return [Claim(first, count, kept=first and letters is not None) for first, count in found]
        return [Claim(*self._local.once(key, window_seconds, times), kept=False) for key, times in claimed]

    def forget(self, key: str) -> None:
        """End the window of a key: the next one is a first."""
        self._local.forget(key)
        if self._history is not None:
            try:
                self._history.forget(key)
            except Exception as error:  # noqa: BLE001
                _away(error)


def _away(error: Exception) -> None:
    # Only its type: the message may quote the URL.
    log.error("the history cannot count messages: %s", type(error).__name__)
