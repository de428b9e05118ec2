"""The server as clients really reach it: a child process, and HTTP with keys."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.service.agents.conftest import ROOT
from tests.service.agents.test_tools import GOOD
from vllm_triage.classifier.api import shared
from vllm_triage.service.agents import transport
from vllm_triage.service.agents.desk import Desk
from vllm_triage.service.agents.interface import names
from vllm_triage.service.agents.server import make_server
from vllm_triage.service.http.keys import make_key, read_key

pytestmark = pytest.mark.anyio
LINE = b'INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'


@contextmanager
def listening(desk: Desk, keys: list[str] | None = None) -> Iterator[str]:
    """Serve over HTTP in a thread; give the address."""
    app = transport.http_app(make_server(desk), "127.0.0.1", [read_key(line) for line in keys or []])
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{sock.getsockname()[1]}{transport.PATH}"
        server.should_exit = True
        thread.join(10)


class Counted:
    """A session that counts what it is fed."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.blocks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    def feed(self, block: Any) -> None:
        self.blocks += 1
        self.session.feed(block)


@pytest.fixture
def large(folder: Path) -> int:
    """A log of 12 MiB in the folder; return its size."""
    with (folder / "large.log").open("wb") as file:
        for _ in range(12):
            file.write(LINE * ((1 << 20) // len(LINE) + 1))
    return (folder / "large.log").stat().st_size


async def every_tool(client: Client) -> None:
    assert [tool.name for tool in (await client.list_tools()).tools] == list(names())
    for name, arguments in GOOD.items():
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result.content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_http_answers_every_tool(folder, mode):
    """By the protocol of today, and by that of clients before."""
    with listening(Desk(shared(), [folder])) as url:
        async with Client(url, mode=mode) as client:
            await every_tool(client)


@pytest.mark.slow
async def test_a_child_process_answers_every_tool(folder):
    words = ["-m", "vllm_triage.service", "mcp", "--root", str(folder)]
    async with Client(StdioServerParameters(command=sys.executable, args=words, cwd=ROOT)) as client:
        await every_tool(client)


async def test_progress_is_told_and_grows(ask, large):
    told: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async with ask() as client:
        result = await client.call_tool("triage_log", {"path": "large.log"}, progress_callback=note)

    assert not result.is_error
    assert len(told) > 5
    assert told == sorted(set(told))
    assert {total for _, total in told} == {large}


@pytest.mark.parametrize("over", ["http", "stdio-like"])
async def test_a_cancelled_call_stops_reading(folder, large, over, monkeypatch):
    """The client goes away when the first progress is told; the rest of the log is left unread, and the next call works."""
    triage, sessions = shared(), []
    begin = triage.start

    def start(question: Any) -> Counted:
        sessions.append(Counted(begin(question)))
        return sessions[-1]

    monkeypatch.setattr(triage, "start", start)
    desk = Desk(triage, [folder])

    async def cancel(client: Client) -> None:
        with anyio.CancelScope() as scope:

            async def stop(progress: float, total: float | None, message: str | None) -> None:
                scope.cancel()
                await anyio.lowlevel.checkpoint()

            await client.call_tool("triage_log", {"path": "large.log"}, progress_callback=stop)
        assert scope.cancelled_caught
        result = await client.call_tool("triage_log", {"path": "server.log"})
        assert result.structured_content["bucket"] == "kv_cache_oom"

    if over == "http":
        with listening(desk) as url:
            async with Client(url) as client:
                await cancel(client)
    else:
        async with Client(make_server(desk), mode="legacy") as client:
            await cancel(client)

    assert sessions[0].blocks < 12


async def test_keys_are_asked_for_before_anything_is_read(folder):
    right, line = make_key("agents", ["triage"])
    wrong, _ = make_key("other", ["triage"])
    reader, read_line = make_key("reader", ["read"])
    with listening(Desk(shared(), [folder]), [line, read_line]) as url:
        for headers in (
            {},
            {"Authorization": f"Bearer {wrong}"},
            {"Authorization": f"Bearer {reader}"},
            {"Authorization": right},
        ):
            async with httpx2.AsyncClient() as http:
                answer = await http.post(url, content=b"{" * 1000, headers=headers)
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {right}"})
        async with http, Client(streamable_http_client(url, http_client=http)) as client:
            assert len((await client.list_tools()).tools) == len(GOOD)


async def test_pages_of_other_sites_are_refused(folder):
    with listening(Desk(shared(), [folder])) as url:
        async with httpx2.AsyncClient() as http:
            for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
                answer = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)
                assert answer.status_code in (403, 421)


def test_an_address_that_others_reach_needs_keys():
    with pytest.raises(ValueError, match="--keys"):
        transport.http_app(make_server(Desk(shared())), "0.0.0.0")


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("example.com", False)],
)
def test_what_is_local(host, local):
    assert transport.is_local(host) is local
