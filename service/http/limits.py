"""How much at once, and how often: places for work under way, and a rate for each key or address."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from .problems import Problem, busy
from .turns import Turns

REMEMBERED = 10_000
"""Keys and addresses whose rate is known; who was not heard of for longest is forgotten first."""
MINUTE = 60.0


class Places:
    """The pieces of work of one kind that may be under way at a time, those that wait included."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0
        self.full = 0
        """Work refused so far."""

    def __enter__(self) -> Self:
        if self.taken >= self._most:
            self.full += 1
            raise busy()
        self.taken += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.taken -= 1


@dataclass(frozen=True, slots=True)
class Pools:
    """Places for each kind of work: none takes those of another."""

    small: Turns
    """Small logs, one after the other."""
    people: Places
    """Renderings, plans: what is answered within moments."""
    large: Turns
    """Logs that need a process of their own."""
    watchers: Places
    """Streams, which last for as long as somebody looks."""
    history: Places
    """Calls of the history."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Rate:
    """Requests a minute for each caller; as many at once as a minute allows (token bucket)."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str) -> dict[str, str]:
        """Count a request; return the headers that tell the caller what is left.

        Raises:
            Problem: Too many.
        """
        if not self._limit:
            return {}
        now = self._clock()
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = _Bucket(float(self._limit), now)
            if len(self._buckets) > REMEMBERED:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(caller)
        rate = self._limit / MINUTE
        bucket.tokens = min(float(self._limit), bucket.tokens + (now - bucket.at) * rate)
        bucket.at = now
        if bucket.tokens < 1:
            wait = math.ceil((1 - bucket.tokens) / rate)
            text = f"{self._limit} requests a minute are allowed: try again in {wait} seconds."
            raise Problem("rate-limited", text, {"Retry-After": str(wait), **self._headers(0, wait)})
        bucket.tokens -= 1
        return self._headers(int(bucket.tokens), math.ceil((self._limit - bucket.tokens) / rate))

    def _headers(self, left: int, seconds: int) -> dict[str, str]:
        return {"RateLimit-Policy": f'"default";q={self._limit};w=60', "RateLimit": f'"default";r={left};t={seconds}'}
