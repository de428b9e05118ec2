"""Logs that are fetched for alerts: from Loki and from the Kubernetes API, as they answer (recorded shapes, on loopback)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import ValidationError

from tests.service.chat.conftest import FAILED
from tests.service.chat.loopback import Call, Loopback, Reply
from tests.service.chat.test_alertmanager import TOKEN, alert, send
from vllm_triage.service.chat.log_sources.interface import REST, SourceError, Sources
from vllm_triage.service.chat.log_sources.kubernetes import Kubernetes
from vllm_triage.service.chat.log_sources.loki import Loki
from vllm_triage.service.chat.log_sources.settings import KubernetesSettings, LokiSettings
from vllm_triage.service.chat.platforms.alertmanager import AlertmanagerSettings

POD: Any = {"namespace": "serving", "pod": "vllm-0"}
BEGAN = datetime(2026, 11, 2, 9, 15, tzinfo=UTC)
# As Loki 3 answers query_range, latest first; its figures (`stats`) are left out.
STREAMS = {
    "status": "success",
    "data": {
        "resultType": "streams",
        "result": [
            {
                "stream": {"namespace": "serving", "pod": "vllm-0", "stream": "stderr"},
                "values": [["1793610901000000003", "ValueError: No available memory for the cache blocks."], ["1793610901000000001", "INFO: start"]],
            },
            {"stream": {"namespace": "serving", "pod": "vllm-0", "stream": "stdout"}, "values": [["1793610901000000002", "INFO: loading\n"]]},
        ],
    },
}  # fmt: skip


def loki(server: Loopback, **more: Any) -> Loki:
    return Loki(LokiSettings(url=server.url, **more))


@pytest.fixture
def cluster(tmp_path: Path) -> Callable[..., Kubernetes]:
    """Make a source of a cluster that a kubeconfig names."""

    def make(server: Loopback, **more: Any) -> Kubernetes:
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": "pod-token"}}],
        }  # fmt: skip
        (tmp_path / "kubeconfig").write_text(json.dumps(config))
        return Kubernetes(KubernetesSettings(kubeconfig=tmp_path / "kubeconfig", **more))

    return make


def pods(logs: dict[bool, str]) -> Callable[[Call], Reply]:
    """Answer as the API server: logs of the start before, and of this one."""

    def answer(call: Call) -> Reply:
        query = parse_qs(urlsplit(call.path).query)
        text = logs.get(query.get("previous", ["false"])[0].lower() == "true")
        if text is None:
            status = {"kind": "Status", "status": "Failure", "reason": "BadRequest", "code": 400}
            return Reply(400, json.dumps(status).encode(), {"Content-Type": "application/json"})
        return Reply(200, text.encode(), {"Content-Type": "text/plain"})

    return answer


def test_loki_gives_the_lines_of_all_streams_in_their_order():
    with Loopback(lambda _: Reply(200, json.dumps(STREAMS).encode())) as server:
        source = loki(server, pipeline='!= "GET /health"', org_id="prod", token="secret-token", lines=70)
        found = source.log_of({**POD, "other": "x"}, BEGAN)
    [call] = server.calls
    asked = {name: values[0] for name, values in parse_qs(urlsplit(call.path).query).items()}

    assert b"INFO: start\nINFO: loading\nValueError: No available memory for the cache blocks.\n" == found
    assert ("/loki/api/v1/query_range", "GET") == (urlsplit(call.path).path, call.method)
    assert '{namespace="serving", pod="vllm-0"} != "GET /health"' == asked["query"]
    assert (int(BEGAN.timestamp()) - 3600) * 1_000_000_000 == int(asked["start"])
    assert ("70", "backward") == (asked["limit"], asked["direction"])
    assert ("prod", "Bearer secret-token") == (call.headers["x-scope-orgid"], call.headers["authorization"])


@pytest.mark.parametrize("pod", ["", 'x"} or {a="b', "a/b", "..", "x y", "-f", "ü", "a" * 300])
def test_a_label_that_is_no_name_asks_nobody(cluster, pod):
    labels = {"namespace": "serving", "pod": pod}
    with Loopback() as server:
        assert loki(server).log_of(labels, BEGAN) is None
        assert cluster(server).log_of(labels, BEGAN) is None
    assert [] == server.calls


@pytest.mark.parametrize(
    "reply", [Reply(500), Reply(401), Reply(302, b"", {"Location": "http://127.0.0.1:9/"}), Reply(200, b"<html>"), Reply(200, b'{"data": 1}')]
)  # fmt: skip
def test_a_loki_that_answers_otherwise(reply):
    """A redirect is none that is followed."""
    with Loopback(lambda _: reply) as server, pytest.raises(SourceError):
        loki(server).log_of(POD, None)
    assert 1 == len(server.calls)


def test_an_answer_that_is_too_large_is_not_read():
    with (
        Loopback(lambda _: Reply(200, json.dumps(STREAMS).encode())) as server,
        pytest.raises(SourceError, match="max_bytes"),
    ):
        loki(server, max_bytes=100).log_of(POD, None)


def test_kubernetes_gives_the_start_before_and_this_one(cluster):
    with Loopback(pods({True: "ValueError: before", False: "INFO: again\n"})) as server:
        found = cluster(server, container="vllm", lines=9).log_of(POD, None)
    before, now = server.calls
    asked = parse_qs(urlsplit(before.path).query)

    assert b"ValueError: before\nINFO: again\n" == found
    assert "/api/v1/namespaces/serving/pods/vllm-0/log" == urlsplit(before.path).path == urlsplit(now.path).path
    assert (["vllm"], ["9"]) == (asked["container"], asked["tailLines"])
    assert "Bearer pod-token" == before.headers["authorization"]


def test_kubernetes_without_an_earlier_start_or_without_the_pod(cluster):
    with Loopback(pods({False: "INFO: once\n"})) as server:
        assert b"INFO: once\n" == cluster(server).log_of({**POD, "container": "main"}, None)
    assert ["main"] == parse_qs(urlsplit(server.calls[0].path).query)["container"]
    with Loopback(lambda _: Reply(404, b"{}")) as server:
        assert cluster(server).log_of(POD, None) is None
    with Loopback() as server:
        assert cluster(server, namespaces=["other"]).log_of(POD, None) is None
    assert [] == server.calls


def test_kubernetes_that_refuses_or_is_away(cluster):
    with Loopback(lambda _: Reply(403, b"{}")) as server:
        source = cluster(server)
        with pytest.raises(SourceError, match="status 403"):
            source.log_of(POD, None)
    with pytest.raises(SourceError):
        source.log_of(POD, None)


def test_no_cluster_is_said_at_the_start():
    with pytest.raises(ValueError, match="finds no cluster"):
        Kubernetes(KubernetesSettings())


class Broken:
    """A source that fails."""

    name = "broken"

    def __init__(self) -> None:
        self.asked = 0

    def log_of(self, labels: Any, since: Any) -> bytes | None:
        self.asked += 1
        raise SourceError("away")


def test_a_source_that_fails_rests_and_keeps_no_other_from_being_asked():
    now = [0.0]
    broken = Broken()
    with Loopback(lambda _: Reply(200, json.dumps(STREAMS).encode())) as server:
        sources = Sources([broken, loki(server)], lambda: now[0])
        assert sources.log_of(POD, None)
        assert sources.log_of(POD, None)
        assert 1 == broken.asked
        with pytest.raises(SourceError, match="broken rests"):
            sources.log_of({}, None)
        now[0] = REST
        assert sources.log_of(POD, None)
        assert 2 == broken.asked


def test_an_alert_without_a_log_is_answered_from_loki(serve, slack_settings):
    """The address that the alert names is never asked."""
    with Loopback(lambda _: Reply(200, json.dumps(STREAMS).encode())) as server, Loopback() as elsewhere:
        settings = AlertmanagerSettings(token=TOKEN, loki=LokiSettings(url=server.url))
        service = serve(slack=slack_settings(), alertmanager=settings)
        lure = alert(log="", **POD, loki=elsewhere.url) | {"generatorURL": elsewhere.url}
        lure["annotations"] = {"log_url": elsewhere.url, "runbook_url": elsewhere.url}
        [result] = send(service, lure)
        [named] = send(service, alert(1, log=FAILED, **POD))
        server.planned.append(Reply(500))
        [failed] = send(service, alert(2, log="", namespace="serving", pod="vllm-9"))
    assert ("told", "kv_cache_oom") == (result["outcome"], result["bucket"])
    # What comes with the alert needs no fetching.
    assert ("told", 2) == (named["outcome"], len(server.calls))
    assert "unreadable" == failed["outcome"]
    assert [] == elsewhere.calls


@pytest.mark.parametrize(
    "bad",
    [
        {"url": "file:///etc/passwd"}, {"url": "http://u:p@loki"}, {"labels": {}}, {"labels": {'a"': "b"}},
        {"username": "u"}, {"lines": 0},
    ],
)  # fmt: skip
def test_settings(bad):
    with pytest.raises(ValidationError):
        LokiSettings.model_validate({"url": "http://loki", **bad})
