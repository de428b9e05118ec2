"""The client against a real service, in both kinds of programs."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from tests.service.http.conftest import LOG, PATIENCE
from vllm_triage.classifier.question import Question
from vllm_triage.service.client import AsyncClient, Client, ProblemError, UnreachableError
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.keys import make_key
from vllm_triage.service.http.settings import Settings

OPENAPI = Path(__file__).parents[3] / "docs" / "openapi.json"
KEY, LINE = make_key("tests", ["admin"])


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> Iterator[str]:
    """A service with a history, that asks for a key."""
    database = f"sqlite:///{tmp_path_factory.mktemp('history')}/h.sqlite"
    app = create_app(Settings(database=database, rate_limit=0, api_keys=(LINE,), web=False))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.fixture
def client(url) -> Iterator[Client]:
    """A client with the key."""
    with Client(url, KEY) as client:
        yield client


def test_a_log_comes_from_wherever_it_is(client, tmp_path):
    """Text, bytes, a path, an open file, pieces."""
    path = tmp_path / "server.log"
    path.write_bytes(LOG)
    with path.open("rb") as file:
        for log in (LOG.decode(), LOG, path, file, io.BytesIO(LOG), iter([LOG[:100], LOG[100:]])):
            answer = client.triage(log, store=False)
            assert ("kv_cache_oom/context_exceeds_cache", 51, None) == (
                answer.cause,
                answer.input.lines,
                answer.incident,
            )


def test_questions_and_formats(client, tmp_path):
    """The same as the API's."""
    path = tmp_path / "server.log"
    path.write_bytes(LOG)
    answer = client.triage(path, service="chat", question=Question(ignore=["kv_cache_oom"], vllm_version="0.8.5"))

    assert not answer.failed
    assert answer.facts["vllm_version"] == "0.8.5"
    assert client.triage_as("text/markdown", LOG).startswith("## ✖")
    assert ["kv_cache_oom", None] == [
        item.report and item.report.bucket for item in client.batch([{"log": LOG.decode()}, {"log": ""}]).results
    ]
    assert "kv_cache_oom" == client.bucket("kv_cache_oom").id


@pytest.mark.slow
def test_the_life_of_an_incident(client):
    """Made, listed, shown, judged, counted, removed."""
    incident = client.triage(LOG, service="life").incident
    assert incident is not None
    said = client.feedback(incident.id, "wrong", bucket="runtime_oom", note="another process")

    assert [incident.id] == [item.id for item in client.incidents(service="life").items]
    assert ("wrong", "runtime_oom", "tests") == (said.verdict, said.bucket, said.source)
    assert "wrong" == client.incident(incident.id).incident.feedback
    assert 1 == client.stats(service="life", step="day").total
    assert "" == client.unnamed().problem
    client.remove(incident.id)
    with pytest.raises(ProblemError) as caught:
        client.incident(incident.id)
    assert (404, "not-found") == (caught.value.status, caught.value.name)


def test_events_of_a_stream(client):
    """The last is the report."""
    events = list(client.stream(LOG, store="false"))

    assert ["report", "kv_cache_oom"] == [events[-1].event, events[-1].report and events[-1].report.bucket]


def test_problems_are_errors_with_a_name(client, url):
    """And what to do; the request's id is for those who run the service."""
    with pytest.raises(ProblemError, match="no log") as caught:
        client.triage("")
    assert ("not-a-log", 422, 16) == (caught.value.name, caught.value.status, len(caught.value.request_id))
    with Client(url) as stranger, pytest.raises(ProblemError) as caught:
        stranger.triage(LOG)
    assert ("key-missing", 401) == (caught.value.name, caught.value.status)
    with pytest.raises(ProblemError, match="422"):
        list(client.stream(LOG, service="x" * 300))


def test_a_service_that_is_not_there():
    """One kind of error, that names the address."""
    with Client("http://127.0.0.1:9", retries=0) as client, pytest.raises(UnreachableError, match=r"127\.0\.0\.1:9"):
        client.triage(LOG)


def test_the_same_with_an_event_loop(url, tmp_path):
    """Logs from files and from asynchronous iterators, events, problems."""
    path = tmp_path / "server.log"
    path.write_bytes(LOG)

    async def pieces():
        for start in range(0, len(LOG), 1000):
            yield LOG[start : start + 1000]

    async def run() -> None:
        async with AsyncClient(url, KEY) as client:
            for log in (LOG.decode(), LOG, path, pieces(), io.BytesIO(LOG)):
                assert "kv_cache_oom" == (await client.triage(log, store=False)).bucket
            events = [event async for event in client.stream(pieces(), store=False)]
            assert "report" == events[-1].event
            with pytest.raises(ProblemError):
                await client.incident("inc_none")

    asyncio.run(run())


def busy(times: int, status: int = 503) -> tuple[httpx2.MockTransport, list[bytes]]:
    """Return a service that is busy for some requests, and the bodies that it saw."""
    bodies: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.read())
        if len(bodies) <= times:
            return httpx2.Response(status, headers={"Retry-After": "0"}, json={"type": "urn:vllm-triage:problem:busy"})
        return httpx2.Response(200, text="done")

    return httpx2.MockTransport(answer), bodies


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again(status, monkeypatch):
    """With the whole body; after what it asked to wait."""
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    transport, bodies = busy(2, status)
    with Client("http://x", transport=transport) as client:
        assert "done" == client.triage_as("text/plain", io.BytesIO(LOG))

    assert [LOG] * 3 == bodies


def test_every_call_is_an_operation_of_the_api():
    """With its method, its path, and what is asked or changed."""
    asked: list[tuple[str, str, dict[str, Any]]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.read() or b"{}")
        asked.append((request.method, request.url.path, {**dict(request.url.params), **body}))
        return httpx2.Response(409, json={"type": "urn:vllm-triage:problem:seen"})

    until = datetime(2026, 11, 2, tzinfo=UTC)
    with Client("http://x", transport=httpx2.MockTransport(answer)) as client:
        for call in (
            lambda: client.plan(gpu_memory="80GiB"), lambda: client.bucket("nccl hang"), lambda: client.incidents(service="a"),
            lambda: client.incident("inc_1"), lambda: client.pack("inc_1", 900), lambda: client.lines("inc_1", find="x"),
            lambda: client.handle("inc_1", state="muted", muted_until=until, assignee=""), lambda: client.remove("inc_1"),
            lambda: client.stats(step="day"), client.unnamed, lambda: client.feedback("inc_1", "wrong", note="n"),
        ):  # fmt: skip
            with pytest.raises(ProblemError, match="409"):
                call()
    document = json.loads(OPENAPI.read_text("utf-8"))["paths"]
    known = {(method.upper(), path) for path, item in document.items() for method in item}

    assert {(method, path.replace("inc_1", "{id}").replace("nccl hang", "{id}")) for method, path, _ in asked} <= known
    assert {"state": "muted", "muted_until": until.isoformat(), "assignee": ""} in [said for _, _, said in asked]
    assert {"incident": "inc_1", "verdict": "wrong", "note": "n"} in [said for _, _, said in asked]


def test_not_for_ever_and_not_what_is_used_up(monkeypatch):
    """After so many tries the problem stands; pieces that are gone cannot be sent again."""
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    for log, retries, sent in ((LOG, 2, 3), (iter([LOG]), 2, 1)):
        transport, bodies = busy(99)
        with (
            Client("http://x", retries=retries, transport=transport) as client,
            pytest.raises(ProblemError, match="503"),
        ):
            client.triage(log)
        assert sent == len(bodies)


def test_the_client_needs_no_server():
    """What a program installs to talk to a service is not the service."""
    import subprocess
    import sys

    ask = "import sys, vllm_triage.service.client; print([name for name in ('fastapi', 'uvicorn', 'sqlalchemy') if name in sys.modules])"
    assert (
        "[]" == subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    )


def test_the_evidence_of_an_incident_and_more_of_its_lines(url, client):
    """In both kinds of programs."""
    incident = client.triage(LOG).incident.id

    async def asked():
        async with AsyncClient(url, KEY) as other:
            return await other.pack(incident, 2000), await other.lines(incident, lines="1-9")

    pack, found = asyncio.run(asked())
    assert client.pack(incident, 2000) == pack
    assert client.lines(incident, lines="1-9") == found
    assert pack.lines
    assert {line.text for line in found.lines} <= {line.text for line in client.pack(incident, 60_000).lines}
