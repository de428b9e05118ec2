"""The one door: what unfinished heads and bodies, and clients that leave, may take from others."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request

from tests.service.http.conftest import LOG, PATIENCE, eventually, resident
from vllm_triage.service.http.disconnect import cancel_on_disconnect
from vllm_triage.service.reading import BASE, STATE_KEY, BodyError, BodyMemory, Hold, Within, pieces

Connect = Callable[[int, bytes], socket.socket]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Open connections and send some bytes; they are closed at the end."""
    with contextlib.ExitStack() as stack:

        def start(port: int, data: bytes = b"") -> socket.socket:
            made = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            with contextlib.suppress(ConnectionError):
                # Refused before all was sent.
                made.sendall(data)
            return made

        yield start


def answered(connection: socket.socket) -> bytes:
    """Return all that comes until the other side closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            found += piece
    return found


def request_of(messages: list[dict[str, Any]], hold: Hold) -> Request:
    """Return a request whose body comes as told; after that, nothing comes for long."""

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop(0)
        await asyncio.sleep(PATIENCE)
        raise AssertionError("nobody waits for so long")

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "state": {STATE_KEY: hold}}
    return Request(scope, receive)


def piece(data: bytes, more: bool = True) -> dict[str, Any]:
    """Return a piece of a body."""
    return {"type": "http.request", "body": data, "more_body": more}


def test_where_memory_is_short_the_body_that_is_silent_goes():
    """It is told so, and its bytes are there for the newcomer."""

    async def run() -> tuple[str, int, int]:
        memory = BodyMemory(2 * BASE + 1000)
        silent, new = memory.hold(), memory.hold()
        within = Within(size=1000, pause=PATIENCE, kept=1000)

        async def slow() -> str:
            try:
                async for _ in pieces(request_of([piece(b"x" * 600)], silent), within):
                    silent.heard -= 2
            except BodyError as error:
                return error.kind
            return ""

        task = asyncio.create_task(slow())
        await asyncio.sleep(0)
        while silent.held < BASE + 600:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
        body = [part async for part in pieces(request_of([piece(b"y" * 600, more=False)], new), within)]
        kind, held = await task, memory.held
        new.close()
        assert [b"y" * 600] == body
        return kind, held, memory.held

    assert ("slow", BASE + 600, 0) == asyncio.run(run())


def test_where_all_bodies_are_coming_in_the_newcomer_is_refused():
    """Nobody who sends is given up; nor is what has come as a whole, nor a stream."""

    async def run() -> str:
        memory = BodyMemory(3 * BASE)
        busy, whole, stream, new = (memory.hold() for _ in range(4))
        busy.take(BASE)
        whole.take(BASE)
        whole.done()
        stream.yields = False
        stream.take(BASE)
        whole.heard = stream.heard = 0.0
        with pytest.raises(BodyError) as caught:
            new.take(BASE)
        return caught.value.kind

    assert "busy" == asyncio.run(run())


@pytest.mark.parametrize(
    ("within", "kind"),
    [
        (Within(size=10, pause=PATIENCE), "large"),
        (Within(size=1000, pause=0.01), "slow"),
        (Within(size=1000, pause=PATIENCE, seconds=0.01), "slow"),
        (Within(size=1000, pause=0.01, rate=1_000_000), "slow"),
    ],
)
def test_a_body_is_read_within_limits(within, kind):
    """Of size, of pauses, of time, of pace."""

    async def run() -> str:
        with pytest.raises(BodyError) as caught:
            async for _ in pieces(request_of([piece(b"x" * 20)], BodyMemory(1 << 20).hold()), within):
                pass
        return caught.value.kind

    assert kind == asyncio.run(run())


def test_a_client_that_leaves_takes_its_work_along():
    """Work that waits or runs is cancelled as soon as the connection is gone."""

    async def run() -> bool:
        hold = BodyMemory(1 << 20).hold()
        request = request_of([piece(b"x", more=False), {"type": "http.disconnect"}], hold)
        cancelled = asyncio.Event()

        async def work() -> None:
            async for _ in pieces(request, Within(size=10, pause=PATIENCE)):
                pass
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                cancelled.set()
                raise

        with pytest.raises(ClientDisconnect):
            await cancel_on_disconnect(request, work())
        return cancelled.is_set()

    assert asyncio.run(run())


def test_what_waits_in_line_for_clients_that_are_gone_is_not_worked_out(serve, connect):
    """Two hundred logs, all of their clients gone at once: nothing is left under way, and few were answered."""
    server = serve(queue=300)
    head = b"POST /v1/triage HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    body = LOG * 4
    for one in [connect(server.port, head % len(body) + body) for _ in range(200)]:
        one.close()
    eventually(lambda: "\nvllm_triage_http_in_flight 1.0\n" in server.get("/metrics").text)

    text = server.get("/metrics").text
    assert 'status="499"' in text
    done = [line for line in text.splitlines() if line.startswith("vllm_triage_log_lines_total ")]
    assert float(done[0].split()[1]) < 200 * body.count(b"\n")


def test_heads_and_silent_connections_are_cut(serve, connect):
    """Nothing sent, half a head, half a head after an answer: all closed in time, and others answered meanwhile."""
    server = serve(head_seconds=1)
    silent, half = connect(server.port), connect(server.port, b"GET /healthz HTTP/1.1\r\nHost: local")
    later = connect(server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert later.recv(65536).startswith(b"HTTP/1.1 200 ")
    later.sendall(b"\r\nGET ")

    assert b"" == answered(silent)
    assert answered(half).startswith(b"HTTP/1.1 408 ")
    assert b"HTTP/1.1 408 " in answered(later)
    assert 200 == server.get("/healthz").status_code


def test_an_endless_head_is_refused(serve, connect):
    """However fast it comes."""
    server = serve()
    one = connect(
        server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-Filler: %s\r\n" % (b"a" * 1000) * 100
    )

    assert answered(one).startswith(b"HTTP/1.1 431 ")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.slow
def test_unfinished_bodies_take_no_memory_and_no_place_of_others(serve, connect):
    """Three hundred of them on each kind of route; all are cut, and others answered meanwhile."""
    server = serve(idle_seconds=4, body_memory=8 << 20)
    before = resident(server.process.pid)
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: %b\r\nContent-Length: 250000\r\n\r\n"
    began = time.monotonic()
    ours = [
        connect(server.port, head % (path, kind) + b'{"log": "' + b"a" * 60_000)
        for path, kind in [(b"/v1/triage", b"text/plain"), (b"/v1/triage", b"application/json"), (b"/v1/render", b"application/json")]
        for _ in range(300)
    ]  # fmt: skip
    answer = server.post("/v1/triage", content=LOG)
    grown = resident(server.process.pid) - before

    assert "kv_cache_oom" == answer.json()["bucket"]
    assert grown < 60
    statuses = {answered(one)[9:12] for one in ours}
    assert statuses <= {b"408", b"503", b""}
    assert b"408" in statuses
    assert time.monotonic() - began < PATIENCE
