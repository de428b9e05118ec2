"""Workers that share a port share its connections as well: of those that wait, the one with the fewest open takes the next.

Left to themselves the first to wake takes all that come at once, and keeps them for as long as the clients do.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import SelectorEventLoop as _Loop
else:
    try:
        from uvloop import Loop as _Loop
    except ImportError:
        from asyncio import SelectorEventLoop as _Loop

STEP = 0.001
"""Seconds for which a worker leaves a connection to the others, for each time that those it has have doubled."""
BATCH = 4
"""Connections that a worker takes together after it has waited, if so many are there; those that close again after one answer
come in quick succession."""
PAUSE = 1.0
"""Seconds without accepting after the system refused, as it does where too many files are open."""
_log = logging.getLogger("vllm_triage.http")


class SharingLoop(_Loop):
    """An event loop whose servers leave connections to those of other processes that have fewer."""

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], *args: Any, **options: Any
    ) -> asyncio.AbstractServer:
        """Listen on a socket that is bound and shared; anything else is as in other loops."""
        sock, encrypted = options.get("sock"), options.get("ssl")
        if sock is None or encrypted is not None:
            made: asyncio.AbstractServer = await super().create_server(protocol_factory, *args, **options)
            return made
        server = SharingServer(self, protocol_factory, sock, options.get("backlog", 100))
        await server.start_serving()
        return server


class SharingServer(asyncio.AbstractServer):
    """Accepts connections of one socket.

    Args:
        loop: Runs it.
        protocol_factory: Makes the protocol of a connection.
        sock: Bound; several processes may have it. It stays open: whoever made it closes it.
        backlog: Connections that may wait.
    """

    alone = False
    """Whether there is no other process to leave connections to. Set once, at the start: uvicorn makes the servers."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        sock: socket.socket,
        backlog: int,
    ) -> None:
        self._loop = loop
        self._factory = protocol_factory
        self._sock = sock
        self._backlog = backlog
        self._opening: set[asyncio.Task[None]] = set()
        self._open: list[asyncio.BaseTransport] = []
        self._waiting: asyncio.TimerHandle | None = None
        self._serving = False
        self._closed = asyncio.Event()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return what runs it."""
        return self._loop

    def is_serving(self) -> bool:
        """Return whether it accepts."""
        return self._serving

    async def start_serving(self) -> None:
        """Accept from now on."""
        if not self._serving:
            self._serving = True
            self._sock.setblocking(False)
            self._sock.listen(self._backlog)
            self._loop.add_reader(self._sock, self._knock)

    async def serve_forever(self) -> None:
        """Accept until closed."""
        await self.start_serving()
        await self._closed.wait()

    def close(self) -> None:
        """Accept no more; connections that are open stay."""
        if self._serving:
            self._serving = False
            self._loop.remove_reader(self._sock)
            if self._waiting is not None:
                self._waiting.cancel()
        self._closed.set()

    async def wait_closed(self) -> None:
        """Wait for the end, and for connections that were being opened."""
        await self._closed.wait()
        await asyncio.gather(*self._opening)

    def _count(self) -> int:
        self._open = [transport for transport in self._open if not transport.is_closing()]
        return len(self._open) + len(self._opening)

    def _knock(self) -> None:
        count = self._count()
        if count and not self.alone:
            self._rest(STEP * math.log2(1 + count))
        else:
            self._take(BATCH if self.alone else 1)

    def _rest(self, seconds: float) -> None:
        self._loop.remove_reader(self._sock)
        self._waiting = self._loop.call_later(seconds, self._rested)

    def _rested(self) -> None:
        self._waiting = None
        self._loop.add_reader(self._sock, self._knock)
        self._take(BATCH)

    def _take(self, most: int) -> None:
        for _ in range(most):
            try:
                connection, _address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                # Another has it, or the client has gone.
                return
            except OSError as error:
                _log.error("cannot accept connections", extra={"error": error.strerror})
                self._rest(PAUSE)
                return
            task = self._loop.create_task(self._greet(connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _greet(self, connection: socket.socket) -> None:
        try:
            connection.setblocking(False)
            if connection.family in (socket.AF_INET, socket.AF_INET6):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport, _protocol = await self._loop.connect_accepted_socket(self._factory, connection)
        except OSError:
            # The client has gone.
            connection.close()
            return
        if self._serving:
            self._open.append(transport)
        else:
            transport.close()
