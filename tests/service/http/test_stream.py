"""Streams, on a real server: answers while the log comes in, clients that leave, memory."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import signal
import socket
import sys
from typing import Any

import pytest

from tests.service.http.conftest import LOG, PATIENCE, children, eventually, resident

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc")
HEAD = b"POST %b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n%b\r\n"


class Upload:
    """A request whose body is sent piece by piece, and whose answer is read meanwhile."""

    def __init__(self, port: int, path: str = "/v1/triage/stream", headers: bytes = b"") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.sendall(HEAD % (path.encode(), headers))
        self._file = self._socket.makefile("rb")
        self.text = b""

    def send(self, data: bytes) -> None:
        """Send a piece; none ends the body."""
        self._socket.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def until(self, pattern: bytes) -> bytes:
        """Read until a text was answered; return all of the answer so far."""
        while not re.search(pattern, self.text):
            line = self._file.readline()
            assert line, f"the answer ended: {self.text[-2000:]!r}"
            self.text += line
        return self.text

    def events(self) -> list[dict[str, Any]]:
        """Return the events so far (NDJSON)."""
        return [json.loads(line) for line in self.text.splitlines() if line.startswith(b"{")]

    def close(self) -> None:
        """Hang up, in the middle of whatever is under way."""
        self._file.close()
        self._socket.close()


@pytest.fixture
def upload():
    """Start uploads; they are closed at the end."""
    with contextlib.ExitStack() as stack:

        def start(*arguments, **options) -> Upload:
            made = Upload(*arguments, **options)
            stack.callback(made.close)
            return made

        yield start


def test_the_verdict_comes_before_the_log_ends(serve, upload):
    """Progress and a verdict while the body is open; the report, that of the whole, when it is closed."""
    server = serve()
    sent = upload(server.port)
    sent.send(LOG[:3000])
    sent.until(rb'"event":"verdict"')
    sent.send(LOG[3000:])
    sent.until(rb'"bucket":"kv_cache_oom"')
    before = {event["event"] for event in sent.events()}
    sent.send(b"")
    sent.until(rb'"event":"report"')
    last = sent.events()[-1]

    assert {"progress", "verdict"} == before
    assert ("report", "kv_cache_oom/context_exceeds_cache", 51, None) == (
        last["event"], last["report"]["cause"], last["report"]["input"]["lines"], last["report"]["incident"],
    )  # fmt: skip


def test_events_of_a_browser(serve, upload):
    """Server-sent events, when asked for."""
    sent = upload(serve().port, headers=b"Accept: text/event-stream\r\n")
    sent.send(LOG)
    sent.send(b"")
    text = sent.until(rb"event: report\r?\ndata: .*\n")

    assert b"content-type: text/event-stream" in text
    assert b"x-accel-buffering: no" in text


def test_a_problem_in_the_middle_is_an_event(serve, upload):
    """The status has been sent by then."""
    sent = upload(serve(max_lines=1000).port)
    sent.send(LOG)
    sent.until(rb'"event":"verdict"')
    sent.send(b"INFO x\n" * 2000)
    sent.until(rb'"event":"problem"')

    assert "urn:vllm-triage:problem:log-too-large" == sent.events()[-1]["problem"]["type"]


def test_a_problem_at_the_start_is_a_status(serve):
    """Nothing has been sent by then."""
    server = serve()
    refused = server.post("/v1/triage/stream", content=b"x", headers={"Content-Encoding": "br"})
    empty = server.post("/v1/triage/stream")

    assert (415, "application/problem+json") == (refused.status_code, refused.headers["content-type"])
    assert (422, "urn:vllm-triage:problem:not-a-log") == (empty.status_code, empty.json()["type"])


@LINUX
def test_a_client_that_leaves_takes_its_process_along(serve, upload):
    """In the middle of a plain upload."""
    server = serve()
    sent = upload(server.port, "/v1/triage")
    sent.send(LOG * 60)
    eventually(lambda: bool(_workers(server)))
    sent.close()
    eventually(lambda: not _workers(server))
    assert 200 == server.post("/v1/triage", content=LOG).status_code


@pytest.mark.slow
def test_a_watcher_that_leaves_makes_room(serve, upload):
    """Its process stays, for the next."""
    server = serve(watchers=1)
    sent = upload(server.port)
    sent.send(LOG)
    sent.until(rb'"event":"verdict"')
    sent.close()
    eventually(lambda: server.post("/v1/triage/stream", content=LOG).status_code == 200)
    assert len(_workers(server)) <= 1


@pytest.mark.slow
@LINUX
def test_watchers_share_processes(serve, upload):
    """The usual sixteen are in one: they take no more than its memory."""
    server = serve()
    watching = [upload(server.port) for _ in range(16)]
    for one in watching:
        one.send(LOG[:-1])
    for one in watching:
        one.until(rb'"event":"verdict"')
    assert 1 == len(_workers(server))
    for one in watching:
        one.send(LOG[-1:])
        one.send(b"")
        one.until(rb'"event":"report"')
        assert "kv_cache_oom" == one.events()[-1]["report"]["bucket"]


@pytest.mark.slow
def test_a_stream_ends_with_an_answer_when_its_time_is_over(serve, upload):
    """What is known by then is told."""
    sent = upload(serve(stream_seconds=2).port)
    sent.send(LOG)
    sent.until(rb'"event":"report"')

    assert "kv_cache_oom" == sent.events()[-1]["report"]["bucket"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_stream_ends_with_an_answer_when_the_service_is_stopped(serve, upload):
    """The client need not be done: what is known by then is told, and the service ends."""
    server = serve()
    sent = upload(server.port)
    sent.send(LOG)
    sent.until(rb'"event":"verdict"')
    server.process.send_signal(signal.SIGTERM)
    sent.until(rb'"event":"report"')

    assert "kv_cache_oom" == sent.events()[-1]["report"]["bucket"]
    assert server.ended() in (0, -signal.SIGTERM)


def test_a_slow_upload_keeps_nobody_waiting(serve, upload):
    """It has its process; others have theirs."""
    server = serve(concurrency=1)
    sent = upload(server.port)
    sent.send(LOG[:2000])
    sent.until(rb'"event":"progress"')

    assert 200 == server.post("/v1/triage", content=LOG).status_code
    sent.send(b"")
    sent.until(rb'"event":"report"')


@pytest.mark.slow
def test_too_many_at_once_are_refused_at_once(serve, upload):
    """And let in when one is done."""
    server = serve(watchers=1)
    first, second = upload(server.port), upload(server.port)
    first.send(LOG)
    first.until(rb'"event":"verdict"')
    second.send(LOG)
    refused = second.until(rb"urn:vllm-triage:problem:busy")
    first.send(b"")
    first.until(rb'"event":"report"')

    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 1\r\n" in refused
    assert 200 == server.post("/v1/triage/stream", content=LOG).status_code


@pytest.mark.slow
def test_watchers_take_no_place_of_others(serve, upload):
    """As many as there may be: small logs, packed ones and large ones are answered meanwhile."""
    server = serve(watchers=2, concurrency=1, small=20_000, large_queue=0)
    watching = [upload(server.port) for _ in range(2)]
    for one in watching:
        one.send(LOG)
        one.until(rb'"event":"verdict"')

    for log in (LOG, gzip.compress(LOG), LOG * 10, gzip.compress(LOG * 10)):
        assert "kv_cache_oom" == server.post("/v1/triage", content=log).json()["bucket"]
    for one in watching:
        one.send(b"")
        assert one.until(rb'"event":"report"')


@LINUX
@pytest.mark.slow
def test_memory_does_not_grow_with_the_log(serve):
    """What a hundred megabytes add to all processes together is far less than what they are."""
    server = serve()
    piece = b'INFO:     10.0.0.7:3000 - "POST /v1/completions HTTP/1.1" 200 OK\n' * 15_000
    held: list[float] = []

    def pieces():
        for number in range(100):
            yield piece if number % 20 else LOG + piece
            if number >= 10:
                held.append(resident(server.process.pid))

    answer = server.post("/v1/triage", content=pieces())

    assert (200, 100 * len(piece) + 5 * len(LOG)) == (answer.status_code, answer.json()["input"]["bytes"])
    assert max(held) - held[0] < 40


def _workers(server) -> list[int]:
    return children(server.process.pid)
