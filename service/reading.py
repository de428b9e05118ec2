"""Request bodies of all routes, hooks included: read within limits of size, time and pace, and of memory for all together."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

BASE = 48 << 10
"""Bytes that a request takes besides its body while that is read: buffers, tasks, the head (measured: 37 to 54 KB)."""
SILENT = 1.0
"""Seconds without a byte after which a body may be given up for another, where memory is short."""
STATE_KEY = "body"
"""Where a request's `Hold` lies in the state of its ASGI scope."""


class BodyError(Exception):
    """A body is not read to its end: ``kind`` says why, the text says it in words."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        """``large``, ``slow`` or ``busy``."""


@dataclass(frozen=True, slots=True)
class Within:
    """Limits of one body.

    Attributes:
        size: Bytes.
        pause: Seconds without a byte.
        seconds: For all of it; 0 for no limit.
        rate: Bytes a second that it must come with on average, after ``pause`` seconds; 0 for any.
        kept: Of so many of its bytes this process keeps a copy.
        copies: How many copies those are.
        given_up: Whether it is given up, where memory is short, for being silent.
    """

    size: int
    pause: float
    seconds: float = 0
    rate: int = 0
    kept: int = 0
    copies: int = 1
    given_up: bool = True


class BodyMemory:
    """The bytes that a process keeps of request bodies, those of all requests together.

    Where they are used up, the body that has been silent for longest is given up for the newcomer, if it has been silent for
    a second; else the newcomer is refused. So whoever sends at once is served, however many send slowly.

    Args:
        most: Bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.held = 0
        """Bytes in use."""
        self.given_up = 0
        """Bodies that had to go for others."""
        # In the order of their last byte.
        self._reading: OrderedDict[Hold, None] = OrderedDict()

    def hold(self) -> Hold:
        """Return what accounts for one request."""
        return Hold(self)

    def take(self, hold: Hold, size: int) -> None:
        """Account for more bytes of a request.

        Raises:
            BodyError: There is no room.
        """
        now = asyncio.get_running_loop().time()
        while self.held + size > self._most:
            silent = next((other for other in self._reading if other is not hold), None)
            if silent is None or now - silent.heard < SILENT:
                raise BodyError("busy", "The service holds as much of requests as it may: try again.")
            self.given_up += 1
            silent.give_up()
        self.held += size
        hold.held += size
        hold.heard = now
        if hold.yields:
            self._reading[hold] = None
            self._reading.move_to_end(hold)

    def read(self, hold: Hold) -> None:
        """Note that a body is complete: it is not given up any more."""
        self._reading.pop(hold, None)

    def free(self, hold: Hold) -> None:
        """Give back what a request took."""
        self._reading.pop(hold, None)
        self.held -= hold.held
        hold.held = 0


class Hold:
    """What one request keeps of its body."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self.held = 0
        self.heard = 0.0
        """When its last byte came, by the loop's clock."""
        self.complete = asyncio.Event()
        """Set when the body has come to its end."""
        self.yields = True
        """Whether it may be given up for others."""
        self.given_up = False
        self._pause: asyncio.Timeout | None = None

    def take(self, size: int) -> None:
        """Account for more bytes.

        Raises:
            BodyError: There is no room.
        """
        self._memory.take(self, size)

    def wait(self, pause: asyncio.Timeout | None) -> None:
        """Note what ends the wait for the next bytes."""
        self._pause = pause

    def give_up(self) -> None:
        """End the reading of this body, and give its bytes back."""
        self.given_up = True
        if self._pause is not None and not self._pause.expired():
            self._pause.reschedule(0)
        self._memory.free(self)

    def done(self) -> None:
        """Note that the body is complete."""
        self._memory.read(self)
        self.complete.set()

    def close(self) -> None:
        """Give back what was taken."""
        self._memory.free(self)


async def pieces(request: Request, within: Within) -> AsyncIterator[bytes]:
    """Yield a body as it arrives.

    Raises:
        BodyError: It is too large, comes too slowly, or there is no room for it.
        ClientDisconnect: The client is gone.
    """
    told = request.headers.get("content-length", "")
    if told.isdigit() and int(told) > within.size:
        raise BodyError("large", f"The body may have {within.size} bytes.")
    # There is none where somebody else's application includes a router of ours.
    hold: Hold = request.scope.get("state", {}).get(STATE_KEY) or BodyMemory(sys.maxsize).hold()
    loop = asyncio.get_running_loop()
    began, size, kept, more = loop.time(), 0, 0, True
    hold.yields = within.given_up
    hold.take(BASE)
    while more:
        left = min(within.pause, _left(within, size, loop.time() - began))
        message = await _next(request, hold, left, within)
        piece = message.pop("body", b"")
        size += len(piece)
        if size > within.size:
            raise BodyError("large", f"The body may have {within.size} bytes.")
        new = min(size, within.kept) - kept
        kept += new
        hold.take(new * within.copies)
        more = message.get("more_body", False)
        if not more:
            hold.done()
        if piece:
            yield piece
        # Here and wherever pieces are handed on: none is held while the next is waited for.
        del piece


async def _next(request: Request, hold: Hold, left: float, within: Within) -> Message:
    try:
        async with asyncio.timeout(left) as pause:
            hold.wait(pause)
            message = await request.receive()
    except TimeoutError:
        raise _slow(hold, within, left) from None
    finally:
        hold.wait(None)
    if hold.given_up:
        raise _slow(hold, within, left)
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message


def _left(within: Within, size: int, passed: float) -> float:
    """Return the seconds until the body is too slow."""
    left = float("inf")
    if within.seconds:
        left = within.seconds - passed
    if within.rate:
        left = min(left, within.pause + size / within.rate - passed)
    return max(left, 0.0)


def _slow(hold: Hold, within: Within, left: float) -> BodyError:
    if hold.given_up:
        return BodyError("slow", "Others needed the memory, and this body had stopped coming.")
    if left < within.pause:
        return BodyError("slow", "The body comes too slowly.")
    return BodyError("slow", f"Nothing came for {within.pause:g} seconds.")
