"""Worker processes from the service's side: started when first needed, used again, killed when they take too long; see worker.py."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from typing import Any

from .jobs import Job, Limits
from .worker_protocol import BEGIN, DATA, DROP, END, ENDED, FLUSH, HEAD, NUMBER, TAKEN, frame, message

USES = 200
"""Logs after which a process is replaced, whatever it has gathered by then."""
REST = 60.0
"""Seconds after which a process without work ends."""
PIPE = 1 << 18
"""Bytes that may wait on their way to a process."""
SHARED = 16
"""Followed logs of one process: they wait more than they work, and a process is some 45 MiB."""
STUCK = 10.0
"""Seconds within which a stream that was given up must have ended; else its process gets no other, and goes when it can."""
MODULE = f"{__package__}.worker"

Event = tuple[bytes, dict[str, Any]]
"""Kind of a frame (worker_protocol.py), and its content."""


class LostError(Exception):
    """A process died: it was killed from outside, for memory perhaps."""


class Stream:
    """One log in a process."""

    def __init__(self, process: _Process, number: int) -> None:
        self._process = process
        self.number = number
        self.answered = False
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._under_way = 0

    async def begin(self, job: Job, limits: Limits, live: bool) -> None:
        """Start the log."""
        value = {"job": asdict(job), "limits": asdict(limits), "live": live}
        await self._process.write(self.number, message(BEGIN, value))

    async def send(self, data: bytes) -> None:
        """Hand on bytes of the log; waits while enough of them are under way."""
        while self._under_way > PIPE:
            self._room.clear()
            await self._room.wait()
        self._under_way += len(data)
        await self._process.write(self.number, frame(DATA, data))

    async def flush(self) -> None:
        """Have the worker look at what it has."""
        await self._process.write(self.number, frame(FLUSH))

    async def end(self, job: Job) -> None:
        """Say that the log is complete, and all that was asked about it."""
        await self._process.write(self.number, message(END, asdict(job)))

    async def event(self) -> Event:
        """Return what the worker says next.

        Raises:
            LostError: It says nothing any more.
        """
        found = await self._events.get()
        if found is None:
            raise LostError
        return found

    def done(self) -> None:
        """Note that the log was answered."""
        self.answered = True

    def take(self, kind: bytes, value: Any) -> None:
        """Take what the worker says."""
        if kind == TAKEN:
            self._under_way -= int(value)
        else:
            self._events.put_nowait(None if kind == ENDED else (kind, value))
        if kind == ENDED or self._under_way <= PIPE:
            self._room.set()

    def lose(self) -> None:
        """Note that the process is gone: what is sent to it is lost, and may be."""
        self._under_way = 0
        self.take(ENDED, None)


class _Process:
    """One process, and the streams in it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._writer, self._reader = process.stdin, process.stdout
        self._writer.transport.set_write_buffer_limits(high=PIPE)
        self._reading = asyncio.create_task(self._read())
        self.uses = 0
        """Logs that it was given."""
        self.streams: dict[int, Stream] = {}
        """Those that have not ended."""
        self.open: set[int] = set()
        """Those that somebody waits for."""
        self.retired = False
        """Whether it gets no more streams."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def stream(self) -> Stream:
        """Return a new stream."""
        self.uses += 1
        self.retired = self.retired or self.uses >= USES
        made = self.streams[self.uses] = Stream(self, self.uses)
        self.open.add(made.number)
        return made

    async def leave(self, stream: Stream) -> None:
        """Note that nobody waits for a stream any more."""
        self.open.discard(stream.number)
        if not stream.answered:
            await self.write(stream.number, frame(DROP))

    async def write(self, number: int, data: bytes) -> None:
        """Send a frame."""
        # Where the process is gone, `Stream.event` says so.
        with contextlib.suppress(ConnectionError):
            self._writer.write(NUMBER.pack(number) + data)
            await self._writer.drain()

    async def stop(self) -> None:
        """Kill the process and wait for its end."""
        self.retired = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._writer.close()
        self._reading.cancel()
        await self._process.wait()

    async def _read(self) -> None:
        try:
            while True:
                (number,) = NUMBER.unpack(await self._reader.readexactly(NUMBER.size))
                kind, size = HEAD.unpack(await self._reader.readexactly(HEAD.size))
                value = json.loads(await self._reader.readexactly(size))
                if (stream := self.streams.get(number)) is not None:
                    stream.take(kind, value)
                if kind == ENDED:
                    self.streams.pop(number, None)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.retired = True
            for stream in self.streams.values():
                stream.lose()
            self.streams.clear()


class Workers:
    """The worker processes of one service process.

    Args:
        most: How many logs may be read at a time.
        rules: Folders with your own rules.
        model: Folder of your own text model; empty for none.
        each: Logs that one process may read at a time. With one, a log that is given up ends its process at once.
    """

    def __init__(self, most: int, rules: tuple[str, ...] = (), model: str = "", each: int = 1) -> None:
        self._slots = asyncio.Semaphore(most)
        self._arguments = (model, *rules)
        self._processes: list[_Process] = []
        self._each = each
        self._most = max(1, math.ceil(most / each))
        self._choosing = asyncio.Lock()
        self._later: set[asyncio.Task[None]] = set()

    @property
    def pids(self) -> list[int]:
        """Process ids of all workers there are."""
        return [process.pid for process in self._processes]

    @contextlib.asynccontextmanager
    async def worker(self) -> AsyncIterator[Stream]:
        """Lend a place in a process."""
        async with self._slots:
            async with self._choosing:
                process = await self._choose()
                stream = process.stream()
            try:
                yield stream
            finally:
                await asyncio.shield(self._leave(process, stream))

    async def close(self) -> None:
        """Kill all workers."""
        for task in self._later:
            task.cancel()
        for process in self._processes:
            await process.stop()
        self._processes.clear()

    async def _choose(self) -> _Process:
        """Return the process with the fewest streams, a new one where all have some and there may be more."""
        usable = [process for process in self._processes if not process.retired]
        least = min(usable, key=lambda process: len(process.streams), default=None)
        if least is not None and (not least.streams or len(usable) >= self._most):
            return least
        # A session of its own: Ctrl-C in a terminal is for the service, which then ends its workers.
        made = await asyncio.create_subprocess_exec(
            sys.executable, "-m", MODULE, *self._arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._processes.append(_Process(made))
        return self._processes[-1]

    async def _leave(self, process: _Process, stream: Stream) -> None:
        await process.leave(stream)
        process.retired = process.retired or (self._each == 1 and not stream.answered)
        if process.retired and not process.open:
            await self._end(process)
            return
        self._after(REST, lambda: self._rest(process, process.uses))
        if not stream.answered:
            self._after(STUCK, lambda: self._look(process, stream))

    def _after(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds)
            await work()

        task = asyncio.create_task(wait())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _rest(self, process: _Process, uses: int) -> None:
        """End a process that has had nothing to do since its ``uses``-th log."""
        if not process.streams and process.uses == uses:
            await self._end(process)

    async def _look(self, process: _Process, stream: Stream) -> None:
        """Give no more work to a process in which a stream goes on that was given up."""
        if stream.number in process.streams:
            process.retired = True
            if not process.open:
                await self._end(process)

    async def _end(self, process: _Process) -> None:
        if process in self._processes:
            self._processes.remove(process)
            await process.stop()
