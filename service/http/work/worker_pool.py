"""Worker processes from the service's side: started when first needed, used again, killed when they take too long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any

from .jobs import Job, Limits
from .worker_protocol import BEGIN, DATA, END, FLUSH, HEAD, frame, message

USES = 200
"""Logs after which a worker is replaced, whatever it has gathered by then."""
REST = 60.0
"""Seconds after which a worker without work ends."""
PIPE = 1 << 18
"""Bytes that may wait on their way to a worker."""
MODULE = f"{__package__}.worker"

Event = tuple[bytes, dict[str, Any]]
"""Kind of a frame (worker_protocol.py), and its content."""


class LostError(Exception):
    """A worker died: it was killed from outside, for memory perhaps."""


class Child:
    """One worker process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._writer, self._reader = process.stdin, process.stdout
        self._writer.transport.set_write_buffer_limits(high=PIPE)
        self._uses = 0
        self._ended = True
        self.ready = True
        """Whether it may be given another log."""

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def begin(self, job: Job, limits: Limits, live: bool) -> None:
        """Start a log."""
        self._uses += 1
        self.ready = self._ended = False
        await self._write(message(BEGIN, {"job": asdict(job), "limits": asdict(limits), "live": live}))

    async def send(self, data: bytes) -> None:
        """Hand on bytes of the log; waits while the worker has enough to do."""
        await self._write(frame(DATA, data))

    async def flush(self) -> None:
        """Have the worker look at what it has."""
        await self._write(frame(FLUSH))

    async def end(self, job: Job) -> None:
        """Say that the log is complete, and all that was asked about it."""
        await self._write(message(END, asdict(job)))
        self._ended = True

    async def _write(self, data: bytes) -> None:
        # Where the worker has given a log up, its answer says why: what else is written is lost, and may be.
        with contextlib.suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()

    async def event(self) -> Event:
        """Return what the worker says next.

        Raises:
            LostError: It says nothing any more.
        """
        try:
            kind, size = HEAD.unpack(await self._reader.readexactly(HEAD.size))
            return kind, json.loads(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            raise LostError from None

    def done(self) -> None:
        """Note that the log was answered. The next one may come, unless the end of this one is still to be sent."""
        self.ready = self._ended and self._uses < USES

    async def stop(self) -> None:
        """Kill the process and wait for its end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._writer.close()
        await self._process.wait()


@dataclass(slots=True)
class _Resting:
    child: Child
    since: float


class Children:
    """The worker processes of one service process.

    Args:
        most: How many there may be.
        rules: Folders with rules of one's own.
        model: Folder of a text model of one's own; empty for none.
    """

    def __init__(self, most: int, rules: tuple[str, ...] = (), model: str = "") -> None:
        self._slots = asyncio.Semaphore(most)
        self._arguments = (model, *rules)
        self._resting: list[_Resting] = []
        self._busy: set[Child] = set()
        self._keeper: asyncio.Task[None] | None = None

    @property
    def pids(self) -> list[int]:
        """Process ids of all workers there are."""
        return [child.pid for child in [*(item.child for item in self._resting), *self._busy]]

    @contextlib.asynccontextmanager
    async def worker(self) -> AsyncIterator[Child]:
        """Lend a worker. It is killed afterwards unless it has answered (``Child.done``)."""
        async with self._slots:
            child = self._resting.pop().child if self._resting else await self._start()
            self._busy.add(child)
            try:
                yield child
            finally:
                self._busy.discard(child)
                if child.ready:
                    self._resting.append(_Resting(child, asyncio.get_running_loop().time()))
                    self._keep()
                else:
                    await asyncio.shield(child.stop())

    async def close(self) -> None:
        """Kill all workers."""
        if self._keeper is not None:
            self._keeper.cancel()
        for child in [*(item.child for item in self._resting), *self._busy]:
            await child.stop()
        self._resting.clear()

    async def _start(self) -> Child:
        # A session of its own: Ctrl-C in a terminal is for the service, which then ends its workers.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", MODULE, *self._arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        return Child(process)

    def _keep(self) -> None:
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._retire())

    async def _retire(self) -> None:
        """End workers that have rested for long."""
        while self._resting:
            await asyncio.sleep(REST / 4)
            now = asyncio.get_running_loop().time()
            old = [item for item in self._resting if now - item.since >= REST]
            self._resting = [item for item in self._resting if item not in old]
            for item in old:
                await item.child.stop()
