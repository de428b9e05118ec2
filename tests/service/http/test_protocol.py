"""What lies below the requests: how the bytes of a connection become some."""

from __future__ import annotations

import asyncio

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from vllm_triage.service.http.protocol import Guarded

BODY = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class _Wire(asyncio.Transport):
    """A connection without a network: holds what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def _app(scope, receive, send) -> None:
    await send({"type": "http.response.start", "status": 400, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"no"})


def _exchange(*pieces: bytes) -> _Wire:
    """Return the connection after it was given the pieces, all before the first is answered."""

    async def exchange() -> _Wire:
        config = Config(_app, ws="none", log_config=None)
        connection, wire = Guarded(config, ServerState(), {}), _Wire()
        connection.connection_made(wire)
        for piece in pieces:
            connection.data_received(piece)
        await asyncio.gather(*connection.tasks)
        connection.connection_lost(None)
        return wire

    return asyncio.run(exchange())


@pytest.mark.parametrize("length", [b"Content-Length: %d" % len(BODY), b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize("body", [BODY, b"INFO 01-01 a log\n"])
def test_the_body_of_a_request_to_upgrade_is_never_read_as_the_next_request(length, body):
    """Its head is answered once, however late the rest comes, and the connection closes."""
    head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n" + length + b"\r\n\r\n"
    wire = _exchange(head, body, body)

    assert (1, True) == (wire.written.count(b"HTTP/1.1 "), wire.closed)
    assert wire.written.endswith(b"\r\n\r\nno")


def test_a_request_to_upgrade_without_a_body_is_answered_and_the_connection_closes():
    """What follows is not read: its sender sees the connection close, and asks anew."""
    wire = _exchange(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", BODY)

    assert (1, True) == (wire.written.count(b"HTTP/1.1 "), wire.closed)
    assert wire.written.endswith(b"\r\n\r\nno")


def test_what_came_of_a_body_that_nobody_read_is_let_go():
    """With the answer, though the connection stays open for the rest of it."""

    async def exchange() -> tuple[int, int, bool]:
        connection, wire = Guarded(Config(_app, ws="none", log_config=None), ServerState(), {}), _Wire()
        connection.connection_made(wire)
        connection.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n" + b"a" * 40_000)
        before = len(connection.cycle.body)
        await asyncio.gather(*connection.tasks)
        found = before, len(connection.cycle.body), wire.closed
        connection.connection_lost(None)
        return found

    assert (40_000, 0, False) == asyncio.run(exchange())


def test_the_body_of_the_next_request_stays():
    """It may be there before the answer to the first."""
    read = []

    async def app(scope, receive, send) -> None:
        read.append((await receive())["body"])
        await _app(scope, receive, send)

    async def exchange() -> None:
        connection, wire = Guarded(Config(app, ws="none", log_config=None), ServerState(), {}), _Wire()
        connection.connection_made(wire)
        for body in (b"one", b"two"):
            connection.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n" + body)
        while connection.tasks:
            await asyncio.gather(*connection.tasks)
        connection.connection_lost(None)

    asyncio.run(exchange())
    assert [b"one", b"two"] == read
