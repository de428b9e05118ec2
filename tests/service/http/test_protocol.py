"""What lies below the requests: how the bytes of a connection become some."""

from __future__ import annotations

import asyncio
import http.client
import json

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


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: evil.example\r\n\r\n",
        b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"no request at all\r\n\r\n",
    ],
)
def test_what_is_no_request_is_a_problem_like_any_other(head):
    """Said as an object; two hosts, and codings that HTTP/1.0 has not, are what proxies read otherwise."""
    wire = _exchange(head)
    first, _, rest = wire.written.partition(b"\r\n")
    assert (b"HTTP/1.1 400 Bad Request", True) == (first, wire.closed)
    assert b"content-type: application/problem+json" in rest
    assert "urn:vllm-triage:problem:bad-request" == json.loads(rest.partition(b"\r\n\r\n")[2])["type"]


def test_the_host_of_a_whole_address_goes_before_the_header():
    """As RFC 9112 has it: a request that is written to a proxy."""
    seen: list[bytes] = []

    async def app(scope, receive, send) -> None:
        seen.extend(value for name, value in scope["headers"] if name == b"host")
        await _app(scope, receive, send)

    async def exchange() -> None:
        connection = Guarded(Config(app, ws="none", log_config=None), ServerState(), {})
        connection.connection_made(_Wire())
        connection.data_received(b"GET http://evil.example/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await asyncio.gather(*connection.tasks)
        connection.connection_lost(None)

    asyncio.run(exchange())
    assert [b"evil.example"] == seen


def test_who_writes_all_of_a_refused_body_first_reads_the_answer():
    """As Python's http.client does: the rest is taken, and dropped, before the connection closes."""

    async def app(scope, receive, send) -> None:
        head = [(b"content-length", b"2"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": head})
        await send({"type": "http.response.body", "body": b"no"})

    async def exchange() -> tuple[int, bytes]:
        loop, config, state = asyncio.get_running_loop(), Config(app, ws="none", log_config=None), ServerState()
        server = await loop.create_server(lambda: Guarded(config, state, {}), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        def ask() -> tuple[int, bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("POST", "/", b"a" * (24 << 20))
            answer = connection.getresponse()
            return answer.status, answer.read()

        found = await asyncio.to_thread(ask)
        server.close()
        return found

    assert (413, b"no") == asyncio.run(exchange())
