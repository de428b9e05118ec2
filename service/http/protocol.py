"""uvicorn's HTTP protocol with limits for what comes before a request: how long its head may take, and how large it is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from . import problems

HEAD_BYTES = 64 << 10
"""Of request line and headers."""
LINGER = 10.0
"""Seconds for which the rest of a body is read, and dropped, whose request was answered before its end: a connection that is
closed with bytes unread is reset, and the answer lost to whoever writes first."""
_TOO_LATE = problems.raw("head-timeout", "The head of the request did not come in time.")
_TOO_LARGE = problems.raw("head-too-large", "Request line and headers may have 64 KiB.")


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
        self._deaf = self._lingering = False

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
        if self._between() and not self._lingering:
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
        """Note that a head is complete.

        Raises:
            ValueError: It says two things at once (RFC 9112): the request is refused.
        """
        self._stop_waiting()
        self._head, self._begun = 0, False
        self._check()
        super().on_headers_complete()
        cycle = self.cycle
        cycle.transport = _Closing(self.transport, lambda: self._close(cycle))  # type: ignore[assignment]
        if self.parser.should_upgrade():
            # The parser stops at the head of such a request, and takes neither a body nor another one after it.
            self._deaf, self.cycle.keep_alive = True, False

    def on_message_complete(self) -> None:
        """Note the end of a body."""
        if self._lingering:
            self.transport.close()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words
        """Answer what is no request."""
        self._end(problems.raw("bad-request", "This is no HTTP request that can be understood."))

    def on_response_complete(self) -> None:
        """Let go of what came of a body that nobody reads: the connection may stay open for long."""
        if self._lingering:
            self.cycle.body = bytearray()
            self.flow.resume_reading()
            return
        if self.cycle.response_complete:
            # Else it is that of the next request, which came before this answer.
            self.cycle.body = bytearray()
        super().on_response_complete()

    def _check(self) -> None:
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) > 1:
            raise ValueError("two hosts")
        if self.parser.get_http_version() == "1.0" and any(name == b"transfer-encoding" for name, _ in self.headers):
            raise ValueError("a coding that HTTP/1.0 has not")
        if whole := re.match(rb"https?://([^/?#]*)", self.url, re.IGNORECASE):
            # As it is written to a proxy: it goes before the header.
            self.headers[:] = [(b"host", whole[1]), *((name, value) for name, value in self.headers if name != b"host")]

    def _close(self, cycle: RequestResponseCycle) -> None:
        """Close the connection after an answer; where more of the request is to come, in a moment."""
        if self._deaf or not cycle.more_body or self.transport.is_closing() or not self.transport.can_write_eof():
            self.transport.close()
            return
        self._lingering = True
        self.transport.write_eof()
        self.loop.call_later(LINGER, self.transport.close)

    def _between(self) -> bool:
        """Return whether no request is under way."""
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


class _Closing:
    """A transport whose closing is somebody's decision."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self.close = close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
