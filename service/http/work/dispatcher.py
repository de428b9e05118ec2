"""Where logs are handed in: decides which are small enough for a thread, and which get a process of their own.

An analysis is plain Python and holds the interpreter's lock: two at a time in one process only slow each other down. So
small logs go through one thread, whose callers take turns, and whatever may take long goes to another process: what is large, and
what is small and takes long all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from ....classifier.api import Triage
from ....classifier.errors import InputError
from ....classifier.input.unpack import gunzip, unzstd
from ....classifier.report.schema import report_of
from ..limits import Places, Pools
from ..problems import Problem
from ..turns import Turns
from .jobs import Answer, Job, Limits, RefusedError, SlowError, answer
from .worker_pool import Event, LostError, Stream, Workers
from .worker_protocol import ANSWER, PROGRESS, REFUSED, VERDICT

FLUSH = 0.5
"""Seconds after which a live log is looked at, however little has come."""
UPLOAD_YIELD_SECONDS = 0.02
"""How long each piece of an upload waits at most while small logs are analysed: both compete for the interpreter lock."""
SLOW = 0.06
"""Seconds of a processor that reading a small log may take before it is read in a process instead, from its start."""
SLOW_FOR = 60.0
"""Seconds for which a caller's next logs of about that size go to a process at once."""
REMEMBERED = 10_000
"""Callers and sizes that were slow which are known at a time."""
ZSTD = b"\x28\xb5\x2f\xfd"
PACKED = (b"\x1f\x8b", ZSTD, b"\xfd7zXZ\0", b"BZh")
"""How gzip, zstd, xz and bzip2 begin; what they unpack to may be large."""

Pieces = AsyncIterator[bytes]
Tell = Callable[[str, dict[str, object]], Awaitable[None]]


class Dispatcher:
    """Works out answers.

    Args:
        engine: The loaded corpus.
        limits: What a log may be.
        children: The worker processes for large logs.
        small: Bytes up to which a log goes through the thread.
        seconds: Wall-clock time that one log may take.
        watching: The worker processes for logs that are followed; None: those for large logs.
        pools: Places for each kind of work; None: as many as are asked for.
    """

    def __init__(  # noqa: PLR0913 - the three kinds of work have three places to go
        self, engine: Triage, limits: Limits, children: Workers, small: int, seconds: float,
        *, watching: Workers | None = None, pools: Pools | None = None,
    ) -> None:  # fmt: skip
        self.engine = engine
        self.children = children
        self.watching = watching if watching is not None else children
        free = Places(sys.maxsize)
        self._pools = pools or Pools(Turns(1, sys.maxsize), free, Turns(sys.maxsize, 0), free, free)
        self._limits = limits
        self._small = small
        self._seconds = seconds
        self._thread = ThreadPoolExecutor(1, "triage")
        self._small_ones = 0
        self._none_small = asyncio.Event()
        self._none_small.set()
        # Callers whose logs of about some size were slow to read, and until when that counts.
        self._slow: OrderedDict[tuple[str, int], float] = OrderedDict()

    async def triage(self, pieces: Pieces, asked: Callable[[], Job], caller: str = "") -> Answer:
        """Return the answer for a log.

        Args:
            pieces: The log as it arrives.
            asked: Returns what was asked about it, in full when the pieces have ended.
            caller: Whose it is: callers take turns.

        Raises:
            Problem: There is none.
        """
        async with self._in_time():
            head = bytearray()
            async for piece in pieces:
                head += piece
                del piece
                if len(head) > self._small:
                    break
            else:
                if not head.startswith(PACKED) or _small_unpacked(bytes(head), self._small):
                    return await self._small_one(bytes(head), asked, caller)
            return await self._in_process(self._throttled(_chain(bytes(head), pieces)), asked, caller)

    async def stream(self, pieces: Pieces, asked: Callable[[], Job], tell: Tell, enough: asyncio.Event) -> Answer:
        """Return the answer for a log, after telling on the way how far it is and what it looks like.

        Args:
            pieces: The log as it arrives.
            asked: As for ``triage``.
            tell: Given ``progress`` or ``verdict`` (the report so far), and its content.
            enough: When set, the log is taken to end there.

        Raises:
            Problem: There is no answer.
        """
        # The caller ends a log that goes on for too long: what is known by then is worth telling.
        async with (
            self._worker(self.watching, asked(), live=True) as child,
            _Feed(child, self._throttled(_until(pieces, enough)), asked, live=True) as feed,
        ):
            while True:
                kind, value = await feed.event()
                if kind not in (PROGRESS, VERDICT):
                    return _answer(child, kind, value)
                await tell("progress" if kind == PROGRESS else "verdict", value)

    async def quick(self, data: bytes, job: Job) -> Answer:
        """Return the answer for a log that is there as a whole."""
        return await self.triage(_only(data), lambda: job)

    async def close(self) -> None:
        """Stop working."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        await self.children.close()
        if self.watching is not self.children:
            await self.watching.close()

    async def _small_one(self, data: bytes, asked: Callable[[], Job], caller: str) -> Answer:
        loop, kind = asyncio.get_running_loop(), (caller, len(data).bit_length())
        if not self._is_slow(kind):
            with self._busy_with_small():
                try:
                    # A request cancelled while it waits leaves the queue.
                    async with self._pools.small.turn(caller):
                        # Asked again: of many that wait, one finds out.
                        if not self._is_slow(kind):
                            job = asked()
                            return await loop.run_in_executor(
                                self._thread, answer, self.engine, job, data, self._limits, SLOW
                            )
                except RefusedError as refused:
                    raise Problem(refused.name, refused.detail) from None
                except SlowError:
                    self._slow[kind] = loop.time() + SLOW_FOR
                    self._slow.move_to_end(kind)
                    if len(self._slow) > REMEMBERED:
                        self._slow.popitem(last=False)
        return await self._in_process(_only(data), asked, caller)

    def _is_slow(self, kind: tuple[str, int]) -> bool:
        return self._slow.get(kind, 0.0) > asyncio.get_running_loop().time()

    @contextlib.contextmanager
    def _busy_with_small(self) -> Iterator[None]:
        self._small_ones += 1
        self._none_small.clear()
        try:
            yield
        finally:
            self._small_ones -= 1
            if not self._small_ones:
                self._none_small.set()

    async def _throttled(self, pieces: Pieces) -> Pieces:
        """Yield the pieces of an upload; each waits until no small log is being analysed, at most ``UPLOAD_YIELD_SECONDS``."""
        async for piece in pieces:
            if not self._none_small.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(UPLOAD_YIELD_SECONDS):
                        await self._none_small.wait()
            yield piece

    async def _in_process(self, pieces: Pieces, asked: Callable[[], Job], caller: str) -> Answer:
        async with (
            self._pools.large.turn(caller),
            self._worker(self.children, asked(), live=False) as child,
            _Feed(child, pieces, asked, live=False) as feed,
        ):
            return _answer(child, *await feed.event())

    @contextlib.asynccontextmanager
    async def _worker(self, children: Workers, job: Job, live: bool) -> AsyncIterator[Stream]:
        async with children.worker() as child:
            try:
                await child.begin(job, self._limits, live)
                yield child
            except LostError:
                raise Problem("internal", "The process that read the log ended: try again.") from None

    @contextlib.asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._seconds):
                yield
        except TimeoutError:
            text = f"A log may take {self._seconds:g} seconds, its upload included: send less of it, or only its end."
            raise Problem("out-of-time", text, {"Retry-After": "60"}) from None


class _Feed:
    """Sends a log to a worker while its events are read. What goes wrong with the log is raised by ``event``."""

    def __init__(self, child: Stream, pieces: Pieces, asked: Callable[[], Job], live: bool) -> None:
        self._child = child
        self._pieces = pieces
        self._asked = asked
        self._live = live

    async def __aenter__(self) -> Self:
        self._sending = asyncio.create_task(self._send())
        self._ticking = asyncio.create_task(self._tick()) if self._live else None
        return self

    async def __aexit__(self, *_details: object) -> None:
        tasks = [task for task in (self._sending, self._ticking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def event(self) -> Event:
        """Return what the worker says next."""
        coming = asyncio.ensure_future(self._child.event())
        try:
            if not self._sending.done():
                await asyncio.wait([coming, self._sending], return_when=asyncio.FIRST_COMPLETED)
            if self._sending.done() and not coming.done():
                # Raises what went wrong.
                self._sending.result()
            return await coming
        finally:
            coming.cancel()

    async def _send(self) -> None:
        async for piece in self._pieces:
            await self._child.send(piece)
        await self._child.end(self._asked())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(FLUSH)
            await self._child.flush()


def _answer(child: Stream, kind: bytes, value: dict[str, Any]) -> Answer:
    child.done()
    if kind == REFUSED:
        raise Problem(str(value["name"]), str(value["detail"]))
    if kind != ANSWER:
        raise LostError
    return Answer(report_of(value["report"]), value["text"])


def _small_unpacked(data: bytes, most: int) -> bool:
    """Return whether a packed log unpacks to no more than ``most`` bytes; one that is damaged from the start does not."""
    unpack, size = unzstd if data.startswith(ZSTD) else gunzip, 0
    try:
        for piece in unpack(iter([data])):
            size += len(piece)
            if size > most:
                return False
    except InputError:
        return False
    return True


async def _only(data: bytes) -> Pieces:
    yield data


async def _chain(first: bytes, rest: Pieces) -> Pieces:
    yield first
    async for piece in rest:
        yield piece


async def _until(pieces: Pieces, enough: asyncio.Event) -> Pieces:
    """Yield pieces until they end, or until it is enough."""
    waiting = asyncio.ensure_future(enough.wait())
    try:
        while True:
            coming = asyncio.ensure_future(anext(pieces, None))
            await asyncio.wait([coming, waiting], return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return
            piece = coming.result()
            if piece is None:
                return
            yield piece
    finally:
        waiting.cancel()
