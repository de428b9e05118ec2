"""Collectors against the service, with the process that reads streams, a history, and OpenTelemetry's own exporter."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from tests.service.collect.conftest import LOG
from tests.service.collect.test_protocols import loki_push
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.settings import Settings

pytest.importorskip("sqlalchemy")
CAUSE = "kv_cache_oom/context_exceeds_cache"


def readers() -> Iterator[int]:
    """Give the processes below this one that read streams: another test's service may still have its own."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
            if b"collect.worker" in path.read_bytes() and parent == os.getpid():
                yield int(path.parent.name)
        except (OSError, ValueError):
            continue


class Service:
    """A running service."""

    def __init__(self, **settings: Any) -> None:
        self._others = set(readers())
        app = create_app(Settings(**settings))
        self.state: Any = app.state.service
        self._sock = socket.socket()
        self._sock.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="warning", loop="asyncio", timeout_graceful_shutdown=2)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._sock]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self._sock.getsockname()[1]}"
        self.http = httpx2.Client(base_url=self.url)

    def stop(self) -> None:
        """End it as a signal does."""
        self.http.close()
        self._server.should_exit = True
        self._thread.join(30)
        self._sock.close()

    def reader(self) -> int:
        """Return the process that reads its streams."""
        until = time.monotonic() + 30
        while not (found := set(readers()) - self._others):
            assert time.monotonic() < until
            time.sleep(0.05)
        (reader,) = found
        return reader

    def incidents(self) -> list[tuple[str, str, str]]:
        items = self.http.get("/v1/incidents").json()["items"]
        return sorted((item["service"], item["name"], item["cause"]) for item in items)

    def wait_for(self, number: int) -> list[tuple[str, str, str]]:
        until = time.monotonic() + 60
        while len(found := self.incidents()) < number and time.monotonic() < until:
            time.sleep(0.05)
        return found


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start services with some settings."""
    running: list[Service] = []

    def start(**settings: Any) -> Service:
        given = {"collect": True, "database": f"sqlite:///{tmp_path}/h{len(running)}.db", "rate_limit": 0}
        running.append(Service(**(given | settings)))
        return running[-1]

    yield start
    for service in running:
        service.stop()


def lines(**more: Any) -> list[dict[str, Any]]:
    return [{"log": line, **more} for line in LOG.splitlines(keepends=True)]


@pytest.mark.slow
def test_each_protocol_makes_an_incident_of_its_own(serve):
    """Answered before anything is read; the verdict comes by itself, under the stream's name."""
    service = serve()
    push = loki_push('{service_name="one", namespace="prod", pod="chat-0", container="vllm"}', *LOG.splitlines())
    answers = [
        service.http.post("/loki/api/v1/push", content=push, headers={"Content-Type": "application/x-protobuf"}),
        service.http.post("/v1/collect?service=two", json=lines(kubernetes={"pod_name": "p", "namespace_name": "n"})),
    ]
    export("three", service.url)
    found = service.wait_for(3)

    assert [(answer.status_code, answer.content) for answer in answers] == [(204, b""), (200, b"{}")]
    assert found == [("one", "prod.chat-0.vllm", CAUSE), ("three", "", CAUSE), ("two", "n.p", CAUSE)]
    figures = service.http.get("/metrics").text
    assert 'vllm_triage_collected_lines_total{protocol="loki"} 51.0' in figures
    assert "vllm_triage_collected_streams 3.0" in figures


def export(name: str, url: str) -> None:
    """Send the log by OpenTelemetry's own SDK and exporter."""
    exporter_module = pytest.importorskip("opentelemetry.exporter.otlp.proto.http._log_exporter")
    from opentelemetry._logs import LogRecord
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.resources import Resource

    provider = LoggerProvider(Resource({"service.name": name}))
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter_module.OTLPLogExporter(f"{url}/v1/logs")))
    logger = provider.get_logger("vllm")
    for number, line in enumerate(LOG.splitlines()):
        logger.emit(LogRecord(timestamp=1_700_000_000_000_000_000 + number, body=line))
    provider.force_flush()
    provider.shutdown()


@pytest.mark.slow
def test_nothing_is_lost_where_the_process_dies_before_it_has_taken_it(serve):
    """What was acknowledged is handed to the next one."""
    service = serve()
    collector = service.state.collector
    child = service.reader()
    os.kill(child, signal.SIGSTOP)
    assert service.http.post("/v1/collect?pod=a", json=lines()).status_code == 200
    os.kill(child, signal.SIGKILL)

    assert [cause for _, _, cause in service.wait_for(1)] == [CAUSE]
    assert collector is service.state.collector


@pytest.mark.slow
def test_more_than_may_wait_is_refused_and_taken_later(serve):
    """503 with Retry-After, which all of these collectors honour."""
    service = serve(collect_memory=5_000)
    child = service.reader()
    os.kill(child, signal.SIGSTOP)
    first = service.http.post("/v1/collect?pod=a", json=lines())
    second = service.http.post("/v1/collect?pod=b", json=lines())
    os.kill(child, signal.SIGCONT)
    until = time.monotonic() + 30
    while (
        later := service.http.post("/v1/collect?pod=b", json=lines())
    ).status_code != 200 and time.monotonic() < until:
        time.sleep(0.05)

    assert (first.status_code, second.status_code, later.status_code) == (200, 503, 200)
    assert int(second.headers["retry-after"]) >= 1
    assert [cause for _, _, cause in service.wait_for(1)] == [CAUSE]


@pytest.mark.slow
def test_what_was_taken_is_answered_when_the_service_ends(serve, tmp_path):
    from vllm_triage.service.history import Filter, History

    service = serve()
    assert service.reader()
    assert service.http.post("/v1/collect?pod=a", json=lines()).status_code == 200
    url = service.state.settings.database_url
    service.stop()
    history = History(url)

    assert [item.cause for item in history.incidents(Filter()).items] == [CAUSE]
    history.close()


@pytest.mark.parametrize(
    ("path", "headers", "body", "status", "told"),
    [
        ("/loki/api/v1/push", {"Content-Type": "application/json"}, b"{}", 422, "A push is"),
        ("/loki/api/v1/push", {"Content-Type": "application/x-protobuf"}, b"\xff\xff", 422, "snappy"),
        ("/loki/api/v1/push", {"Content-Type": "text/plain"}, b"x", 415, "application/x-protobuf"),
        ("/v1/logs", {"Content-Type": "application/x-protobuf"}, b"\xff\xff", 422, "ExportLogsServiceRequest"),
        ("/v1/collect", {"Content-Type": "application/json"}, b"{", 422, "lines of JSON"),
        ("/v1/collect", {"Content-Type": "application/json", "Content-Encoding": "gzip"}, b"x", 400, "gzip"),
        ("/v1/collect", {"Content-Type": "application/json", "Content-Encoding": "deflate"}, b"x", 400, "deflate"),
    ],
)
def test_what_cannot_be_read_is_refused_for_good(serve, path, headers, body, status, told):
    """4xx other than 429: a collector does not send it again."""
    answer = serve().http.post(path, content=body, headers=headers)

    assert (answer.status_code, told in answer.text) == (status, True), answer.text


@pytest.mark.parametrize("frame", [zlib.MAX_WBITS, -zlib.MAX_WBITS])
def test_deflated_bodies_are_taken(serve, frame):
    """As OpenTelemetry's exporters send them; in zlib's frame, or in none."""
    packer = zlib.compressobj(wbits=frame)
    body = packer.compress(b'[{"log": "ERROR x"}]') + packer.flush()
    headers = {"Content-Type": "application/json", "Content-Encoding": "deflate"}

    assert serve().http.post("/v1/collect", content=body, headers=headers).status_code == 200


def test_keys_are_asked_for(serve):
    from vllm_triage.service.http.keys import make_key

    key, line = make_key("alloy", ["triage"])
    service = serve(api_keys=[line])
    given = [
        service.http.post("/v1/collect", json=[], headers=headers).status_code
        for headers in ({}, {"X-API-Key": key}, {"Authorization": f"Bearer {key}"})
    ]

    assert given == [401, 200, 200]


@pytest.mark.slow
def test_a_stream_is_its_tenants(serve):
    """The same pod of two tenants is two streams; each sees its own."""
    from vllm_triage.service.http.keys import make_key

    made = [make_key(name, ["triage", "read"], name) for name in ("one", "two")]
    service = serve(api_keys=[line for _, line in made])
    for key, _ in made:
        service.http.post("/v1/collect?pod=a", json=lines(), headers={"X-API-Key": key})
    seen = []
    for key, _ in made:
        service.http.headers["X-API-Key"] = key
        seen.append([cause for _, _, cause in service.wait_for(1)])

    assert seen == [[CAUSE], [CAUSE]]


def test_without_the_setting_there_are_no_endpoints(serve):
    assert serve(collect=False).http.post("/v1/collect", json=[]).status_code == 404


def test_several_workers_cannot_collect():
    with pytest.raises(ValueError, match="workers = 1"):
        Settings(collect=True, workers=2)
