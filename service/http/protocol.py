"""uvicorn's HTTP protocol with limits for what comes before a request: how long its head may take, and how large it is."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_BYTES = 64 << 10
"""Of request line and headers."""
_TOO_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 35\r\nconnection: close\r\n\r\nThe head of the request is too late"
)
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 36\r\nconnection: close\r\n\r\nThe head of the request is too large"
)


class Guarded(HttpToolsProtocol):
    """A connection that is closed where no request comes of it in time."""

    head_seconds = 15.0
    """Seconds from the opening, or from the first byte after an answer, to the end of a request's head. Set once, at the start:
    uvicorn makes the connections."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._late: asyncio.TimerHandle | None = None
        self._head = 0
        self._begun = False
        self._deaf = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the wait."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; those of a head are counted."""
        if self._deaf:
            return
        if self._between():
            self._head += len(data)
            if self._late is None:
                self._wait()
        super().data_received(data)
        if self._head > HEAD_BYTES and self._between():
            self._end(_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Note that a head begins."""
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that a head is complete."""
        self._stop_waiting()
        self._head, self._begun = 0, False
        super().on_headers_complete()
        if self.parser.should_upgrade():
            # The parser stops at the head of such a request, and takes neither a body nor another one after it.
            self._deaf, self.cycle.keep_alive = True, False

    def on_response_complete(self) -> None:
        """Let go of what came of a body that nobody reads: the connection may stay open for long."""
        if self.cycle.response_complete:
            # Else it is that of the next request, which came before this answer.
            self.cycle.body = bytearray()
        super().on_response_complete()

    def _between(self) -> bool:
        """Tell whether no request is under way."""
        # uvicorn declares it as always there; it is not before the first request.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.head_seconds, self._too_late)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        if self._between():
            # Whoever has sent nothing is told nothing: that may be the spare connection of a browser.
            self._end(_TOO_LATE if self._begun else b"")

    def _end(self, words: bytes) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            if words:
                self.transport.write(words)
            self.transport.close()
