"""The process that reads streams, from the side of the service: what waits is bounded, and nothing is lost where it dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

from . import wire
from .entries import StreamName
from .streams import Verdict

LINE = 64 << 20
"""Bytes of a line that the process may write: a report."""
REST = 1.0
"""Seconds before a process that died is started again."""
ENDING = 20.0
"""Seconds for what is left to be told when the service ends."""
_log = logging.getLogger("vllm_triage.collect")


class FullError(Exception):
    """So much waits to be read that no more is taken."""


class Collector:
    """Takes lines of streams, and tells of verdicts.

    Args:
        tell: Is told of each verdict, one after the other.
        streams: Streams at once.
        memory: Bytes that may wait to be read.
        rules: Folders with your own rule files.
        count: Is told how many streams are under way.
    """

    def __init__(
        self,
        tell: Callable[[Verdict], Awaitable[None]],
        streams: int,
        memory: int,
        rules: Sequence[str] = (),
        count: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._tell = tell
        self._words = ["-m", f"{__package__}.worker", str(streams), *rules]
        self._memory = memory
        self._waiting: dict[int, bytes] = {}
        """Pushes that are not taken yet, in order."""
        self._size = self._number = self._sent = 0
        self._more = asyncio.Event()
        self._ending = False
        self._task: asyncio.Task[None] | None = None
        self._count = count

    def start(self) -> None:
        """Start the process; it is started again whenever it dies."""
        self._task = asyncio.create_task(self._run())

    def put(self, batches: Mapping[StreamName, bytes]) -> None:
        """Take lines of streams; they are read as soon as may be.

        Raises:
            FullError: There is no room for them.
        """
        size = sum(map(len, batches.values()))
        if self._ending or (self._size and self._size + size > self._memory):
            raise FullError
        self._number += 1
        self._waiting[self._number] = wire.push(self._number, batches)
        self._size += len(self._waiting[self._number])
        self._more.set()

    async def close(self) -> None:
        """Have what was taken read to its end, and all streams answered."""
        self._ending = True
        self._more.set()
        if self._task is not None:
            with contextlib.suppress(TimeoutError, asyncio.CancelledError):
                await asyncio.wait_for(self._task, ENDING)

    async def _run(self) -> None:
        while not (self._ending and not self._waiting and self._sent):
            # Standard error is ours: what the process complains of stands in our log.
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LINE,
                start_new_session=True,
            )
            try:
                assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - asked for above
                self._sent = 0
                writing = asyncio.create_task(self._write(process.stdin))
                try:
                    async for line in process.stdout:
                        await self._hear(line)
                finally:
                    writing.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await writing
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            if self._ending:
                return
            _log.error(
                "the process that reads streams ended; it is started again", extra={"status": process.returncode}
            )
            await asyncio.sleep(REST)

    async def _write(self, pipe: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                self._more.clear()
                for number in [number for number in self._waiting if number > self._sent]:
                    pipe.write(self._waiting[number])
                    self._sent = number
                    await pipe.drain()
                if self._ending and not any(number > self._sent for number in self._waiting):
                    pipe.close()
                    return
                await self._more.wait()

    async def _hear(self, line: bytes) -> None:
        told = json.loads(line)
        if "taken" in told:
            self._count(told["streams"])
            self._size -= len(self._waiting.pop(told["taken"], b""))
            return
        try:
            await self._tell(wire.read_verdict(told))
        except Exception:  # noqa: BLE001 - the streams go on, whatever became of one verdict
            _log.exception("a verdict was not told")
