"""For those who run the service: probes, figures, logs, traces, stopping, several workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.service.http.conftest import LOG, PATIENCE, children, eventually
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.settings import Settings

SECRET = "hf_" + "q9W8" * 8


def test_figures_tell_what_happened(service):
    """Requests by route, answers by bucket, unknown ones, what runs; nothing that a client sent."""
    client = service()
    client.post("/v1/triage", content=LOG, params={"service": "label-of-a-client"})
    client.post("/v1/triage", content=LOG, params={"min_confidence": 1})
    client.get("/v1/buckets/name-of-a-client")
    client.get("/path-of-a-client")
    text = client.get("/metrics").text

    for line in (
        'vllm_triage_http_requests_total{method="POST",route="/v1/triage",status="200"} 2.0',
        'vllm_triage_http_requests_total{method="GET",route="/v1/buckets/{id}",status="404"} 1.0',
        'vllm_triage_http_requests_total{method="GET",route="(none)",status="404"} 1.0',
        'vllm_triage_answers_total{bucket="kv_cache_oom",decided_by="rule"} 1.0',
        "vllm_triage_unknown_total 1.0",
        'vllm_triage_refused_total{problem="not-found"} 2.0',
        "vllm_triage_http_in_flight 1.0",
        "vllm_triage_queue_waiting 0.0",
    ):
        assert f"\n{line}\n" in text
    assert 'vllm_triage_info{model="' in text
    assert "of-a-client" not in text


def test_the_probes(service):
    """Alive is alive; ready is corpus, history, and not about to end."""
    client = service()
    assert (200, {"corpus": "ok", "history": "none", "draining": "no"}) == (
        client.get("/readyz").status_code, client.get("/readyz").json()["checks"],
    )  # fmt: skip
    client.app.state.service.draining.set()

    assert (200, 503, "yes") == (
        client.get("/healthz").status_code, client.get("/readyz").status_code, client.get("/readyz").json()["checks"]["draining"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abc-123", True), ("a" * 128, True), ("a" * 129, False), ("a b", False), ("<x>", False), ("", False)],
)
def test_a_request_has_an_id(client, given, kept):
    """The client's own where it is one, else a new one; in the answer's head and in a problem."""
    answer = client.get("/v1/buckets/none", headers={"X-Request-ID": given})

    assert kept == (answer.headers["x-request-id"] == given)
    assert answer.headers["x-request-id"] == answer.json()["request_id"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "text"])
def test_our_log_holds_no_text_of_a_log(serve, form):
    """Not of the body, the query, the path, headers, or of what went wrong with them."""
    server = serve(log_format=form, log_level="debug")
    words: Any = {
        "params": {"service": SECRET, "only": SECRET},
        "headers": {"X-Request-ID": "our-id", "User-Agent": SECRET},
    }
    server.post("/v1/triage", content=LOG + SECRET.encode(), **words)
    server.post("/v1/triage", json={"lgo": SECRET})
    server.get(f"/{SECRET}")
    server.get(f"/v1/incidents/{SECRET}", headers={"Authorization": f"Bearer {SECRET}"})
    server.stop()
    text = "".join(server.lines)

    assert SECRET not in text
    assert "our-id" in text
    assert "harbor" not in text
    if form == "json":
        records = [json.loads(line) for line in server.lines]
        first = next(record for record in records if record.get("request_id") == "our-id")
        assert ("our-id", "POST", "/v1/triage", 422) == tuple(
            first[name] for name in ("request_id", "method", "route", "status")
        )


@pytest.mark.slow
def test_a_request_to_upgrade_is_answered_and_nobody_is_told_to_install_anything(serve):
    """As HTTP/1.1, or refused where it has a body, which could not be read."""
    server = serve()
    wanted = {"Connection": "Upgrade", "Upgrade": "websocket"}
    answers = [
        server.get("/healthz", headers=wanted),
        server.post("/v1/triage", content=LOG, headers=wanted),
        server.post("/v1/triage", content=LOG, headers={**wanted, "Upgrade": "h2c"}),
    ]
    server.stop()

    assert [200, 400, 400] == [answer.status_code for answer in answers]
    assert "urn:vllm-triage:problem:bad-request" == answers[1].json()["type"]
    assert [] == [line for line in server.lines if "upgrade" in line.lower() or "websocket" in line.lower()]


def test_an_error_of_ours_is_a_problem_and_its_message_is_not_logged(service, caplog, monkeypatch):
    """An exception's text may be a line of a log: its kind and place are enough."""

    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    client = service()
    monkeypatch.setattr(client.app.state.service.desk.engine, "start", broken)
    with caplog.at_level("DEBUG"):
        answer = client.post("/v1/triage", content=LOG)

    assert (500, "urn:vllm-triage:problem:internal") == (answer.status_code, answer.json()["type"])
    record = next(record for record in caplog.records if record.message == "internal error")
    assert ("RuntimeError", "test_operations.py") == (record.error, record.place.rpartition(":")[0])
    assert SECRET not in answer.text + caplog.text


def test_traces_are_sent_where_they_are_wanted():
    """A span for each request, with the route and the status, as part of the caller's trace; no query."""
    pytest.importorskip("opentelemetry.sdk")
    from fastapi.testclient import TestClient
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from starlette.middleware import Middleware

    from vllm_triage.service.http.middleware import Envelope
    from vllm_triage.service.http.tracing import OpenTelemetry

    exporter = InMemorySpanExporter()
    traces = OpenTelemetry("http://127.0.0.1:1", exporter)
    app = create_app(Settings(database="none"))
    app.user_middleware[0] = Middleware(Envelope, state=app.state.service, tracing=traces)
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    with TestClient(app, base_url="http://localhost") as client:
        client.post(
            "/v1/triage",
            content=LOG,
            params={"service": "chat"},
            headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"},
        )
    traces.close()
    (span,) = exporter.get_finished_spans()
    attributes = dict(span.attributes or {})

    assert ("POST /v1/triage", 200, trace) == (
        span.name, attributes["http.response.status_code"], format(span.context.trace_id, "032x"),
    )  # fmt: skip
    assert "chat" not in str(attributes)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_is_under_way_is_finished_when_the_service_is_stopped(serve):
    """A large log that is half sent is answered after SIGTERM; the process then ends, its workers with it."""
    server = serve()
    ready, finish = threading.Event(), threading.Event()

    def pieces():
        yield LOG * 60
        ready.set()
        finish.wait(PATIENCE)
        yield LOG

    answers: list[httpx2.Response] = []
    thread = threading.Thread(target=lambda: answers.append(server.post("/v1/triage", content=pieces())))
    thread.start()
    ready.wait(PATIENCE)
    workers = eventually(lambda: children(server.process.pid))
    server.process.send_signal(signal.SIGTERM)
    eventually(lambda: "Shutting down" in "".join(server.lines))
    finish.set()
    thread.join(PATIENCE)

    assert [(200, "kv_cache_oom")] == [(answer.status_code, answer.json()["bucket"]) for answer in answers]
    assert server.ended() in (0, -signal.SIGTERM)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)  # noqa: PTH110


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_readiness_goes_before_the_listening_does(serve):
    """A load balancer gets time to notice; Ctrl-C ends the wait."""
    server = serve(drain_seconds=1000)
    server.process.send_signal(signal.SIGTERM)
    assert eventually(lambda: server.get("/readyz").status_code == 503)
    assert 200 == server.post("/v1/triage", content=LOG).status_code
    assert server.stop(signal.SIGINT) in (0, 130, -signal.SIGTERM, -signal.SIGINT)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_several_workers_have_their_figures_together(serve):
    """Whichever worker is asked."""
    server = serve("--workers", "2")
    for _ in range(20):
        assert 200 == server.post("/v1/triage", content=LOG).status_code
    line = 'vllm_triage_answers_total{bucket="kv_cache_oom",decided_by="rule"} 20.0'
    assert eventually(lambda: line in server.get("/metrics").text)
    assert server.stop() == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_worker_that_is_killed_is_replaced_and_its_answers_stay_counted(serve):
    """What it had under way is not."""
    server = serve("--workers", "2")
    assert 200 == server.post("/v1/triage", content=LOG).status_code
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as half:
        half.sendall(b"POST /v1/triage HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nINFO")
        eventually(lambda: "\nvllm_triage_http_in_flight 2.0\n" in server.get("/metrics").text)
        before = _serving(server)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: len(_serving(server)) == 2 and not before & _serving(server))
    text = eventually(lambda: _figures(server))

    assert 'vllm_triage_answers_total{bucket="kv_cache_oom",decided_by="rule"} 1.0' in text
    assert "\nvllm_triage_http_in_flight 1.0\n" in text


def test_the_reference_needs_nothing_from_elsewhere(client):
    """No script, no address of another host; every operation is on it."""
    page = client.get("/docs")

    assert 200 == page.status_code
    assert "script" not in page.headers["content-security-policy"]
    assert "<script" not in page.text
    assert 'src="http' not in page.text
    for path in client.get("/openapi.json").json()["paths"]:
        assert f"<code>{path}</code>" in page.text


def test_what_is_switched_off_is_not_there(service):
    """Reference, figures, page."""
    client = service(docs=False, metrics=False, web=False)

    assert [404] * 4 == [client.get(path).status_code for path in ("/docs", "/openapi.json", "/metrics", "/")]


@pytest.mark.slow
def test_a_proxys_word_on_the_client_is_believed_only_from_trusted_proxies(serve):
    """The address that is counted and logged."""
    told = {"X-Forwarded-For": "203.0.113.9"}
    trusting, wary = serve(), serve(forwarded_allow_ips="10.0.0.1")
    for server in (trusting, wary):
        server.get("/v1/buckets", headers=told)
        server.stop()

    def clients(server) -> list[str]:
        records = [json.loads(line) for line in server.lines]
        return [record["client"] for record in records if record.get("route") == "/v1/buckets"]

    assert (["203.0.113.9"], ["127.0.0.1"]) == (clients(trusting), clients(wary))


def _serving(server) -> set[int]:
    """Return the pids of its workers; a helper of multiprocessing's own is none."""
    return {pid for pid in children(server.process.pid) if b"spawn_main" in _command(pid)}


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _figures(server) -> str:
    try:
        return str(server.get("/metrics").text)
    except httpx2.TransportError:
        return ""
