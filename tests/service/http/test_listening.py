"""Connections of one port, shared by several that accept them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.http.conftest import children, eventually
from vllm_triage.service.http import listening
from vllm_triage.service.http.listening import SharingLoop, SharingServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers of POSIX")

COUNT = 16


class Echo(asyncio.Protocol):
    """Answers with the name of what accepted it."""

    def __init__(self, name: bytes) -> None:
        self.name = name

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        transport.write(self.name)


class Refusing(socket.socket):
    """A socket whose first connection the system does not give out."""

    refused = False

    def accept(self) -> Any:
        if not self.refused:
            self.refused = True
            raise OSError(24, "Too many open files")
        return super().accept()


def run(work: Callable[[socket.socket], Awaitable[Any]], made: type[socket.socket] = socket.socket) -> Any:
    """Give a bound socket to a coroutine, and run it in the loop of a worker."""
    with made(socket.AF_INET, socket.SOCK_STREAM) as bound, asyncio.Runner(loop_factory=SharingLoop) as runner:
        bound.bind(("127.0.0.1", 0))
        return runner.run(work(bound))  # type: ignore[arg-type]


async def listen(bound: socket.socket, name: bytes) -> Any:
    return await asyncio.get_running_loop().create_server(lambda: Echo(name), sock=bound, backlog=100)


async def connect(bound: socket.socket) -> tuple[bytes, asyncio.StreamWriter]:
    """Return who accepted a connection, and the connection, which stays open."""
    reader, writer = await asyncio.open_connection(*bound.getsockname())
    return await reader.readexactly(1), writer


async def two(bound: socket.socket, opened: Callable[[], Awaitable[list[Any]]]) -> list[int]:
    """Return how many connections each of two that share a socket gets."""
    with bound.dup() as same:
        servers = [await listen(bound, b"a"), await listen(same, b"b")]
        found = await opened()
        for server in servers:
            server.close()
        for _, writer in found:
            writer.close()
            await writer.wait_closed()
        names = [name for name, _ in found]
        return [names.count(b"a"), names.count(b"b")]


def test_connections_that_come_at_once_are_shared():
    """No one takes them all, whoever wakes first."""

    async def work(bound):
        async def burst():
            return await asyncio.gather(*(connect(bound) for _ in range(COUNT)))

        return await two(bound, burst)

    shares = run(work)

    assert COUNT == sum(shares)
    assert min(shares) >= COUNT // 4


def test_connections_that_come_one_after_the_other_and_stay_are_shared():
    """The one that has fewer takes the next."""

    async def work(bound):
        async def one_by_one():
            return [await connect(bound) for _ in range(COUNT)]

        return await two(bound, one_by_one)

    assert min(run(work)) >= COUNT // 4


def test_a_server_that_is_closed_accepts_no_more_and_keeps_what_is_open():
    """As those of other loops."""

    async def work(bound):
        server = await listen(bound, b"a")
        assert isinstance(server, SharingServer)
        assert server.is_serving()
        _, kept = await connect(bound)
        server.close()
        await server.wait_closed()
        with socket.create_connection(bound.getsockname()) as late:
            # Everything that is due has its turn.
            await asyncio.sleep(0.05)
            late.setblocking(False)
            with pytest.raises(BlockingIOError):
                late.recv(1)
        kept.write(b"still here")
        await kept.drain()
        found = (server.is_serving(), kept.is_closing())
        kept.close()
        await kept.wait_closed()
        return found

    assert (False, False) == run(work)


def test_accepting_goes_on_after_the_system_refused(monkeypatch, caplog):
    """Too many files are open, for a while."""
    monkeypatch.setattr(listening, "PAUSE", 0.01)

    async def work(bound):
        server = await listen(bound, b"a")
        name, writer = await connect(bound)
        server.close()
        writer.close()
        await writer.wait_closed()
        return name

    assert b"a" == run(work, Refusing)
    assert ["cannot accept connections"] == [record.message for record in caplog.records if record.name != "asyncio"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_workers_share_the_connections_that_come_at_once(serve):
    """Of the processes of one service."""
    server = serve("--workers", "2")
    # The port answers as soon as one of them listens.
    eventually(lambda: sum("startup complete" in line for line in server.lines) == 2)
    workers = [
        pid for pid in children(server.process.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    before = {pid: sockets(pid) for pid in workers}
    clients = [socket.socket() for _ in range(COUNT)]
    for client in clients:
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", server.port))

    assert 2 == len(workers)
    assert eventually(lambda: all(sockets(pid) > before[pid] for pid in workers))
    for client in clients:
        client.close()


def sockets(pid: int) -> int:
    """Return how many sockets a process has open."""
    found = 0
    for path in Path(f"/proc/{pid}/fd").iterdir():
        # Those that have just been closed are gone.
        with contextlib.suppress(FileNotFoundError):
            found += str(path.readlink()).startswith("socket:")
    return found
