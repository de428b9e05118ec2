"""Whose work is next: among callers that wait, whoever has used least goes first, however much the others ask for."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from .problems import busy

REMEMBERED = 10_000
"""Callers whose use is known; who was not heard of for longest is forgotten first."""


class Turns:
    """Places for work, given to callers in turn: it is their time that counts, not the number of their requests.

    Args:
        places: Pieces of work that may be under way at once.
        waiting: Pieces of work that may wait. Beyond, whoever has most of them waiting is refused.
        changed: Told +1 and -1 as somebody starts and ends to wait.
    """

    def __init__(self, places: int, waiting: int, changed: Callable[[int], None] = lambda _: None) -> None:
        self._free = places
        self._most = waiting
        self._changed = changed
        self._waiting: list[_Waiter] = []
        # Seconds that each has used. Who comes (back) begins where those are who work now, and has saved up nothing.
        self._used: OrderedDict[str, float] = OrderedDict()
        self._now = 0.0

    @contextlib.asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Wait for a place, and have it until the block is left.

        Raises:
            Problem: Too much waits.
        """
        if self._free and not self._waiting:
            self._free -= 1
        else:
            await self._wait(caller)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            yield
        finally:
            self._used[caller] = self._start(caller) + loop.time() - began
            self._used.move_to_end(caller)
            if len(self._used) > REMEMBERED:
                self._used.popitem(last=False)
            self._free += 1
            self._next()

    async def _wait(self, caller: str) -> None:
        if len(self._waiting) >= self._most:
            self._refuse_one(caller)
        waiter = _Waiter(caller)
        self._waiting.append(waiter)
        self._changed(1)
        try:
            await waiter.called
        except asyncio.CancelledError:
            if waiter.called.done() and not waiter.called.cancelled():
                # Called and gone at once.
                self._free += 1
                self._next()
            raise
        finally:
            self._changed(-1)
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def _refuse_one(self, caller: str) -> None:
        """Refuse the newcomer, or the latest of whoever has more waiting."""
        numbers = Counter(waiter.caller for waiter in self._waiting)
        greedy = max(numbers, key=numbers.__getitem__, default=caller)
        if numbers[greedy] <= numbers[caller] + 1:
            raise busy()
        last = next(waiter for waiter in reversed(self._waiting) if waiter.caller == greedy)
        self._waiting.remove(last)
        last.called.set_exception(busy())

    def _next(self) -> None:
        while self._free and self._waiting:
            waiter = min(self._waiting, key=lambda waiter: self._start(waiter.caller))
            self._waiting.remove(waiter)
            if not waiter.called.done():
                self._now = self._start(waiter.caller)
                self._free -= 1
                waiter.called.set_result(None)

    def _start(self, caller: str) -> float:
        return max(self._used.get(caller, 0.0), self._now)


@dataclass(eq=False, slots=True)
class _Waiter:
    caller: str
    called: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
