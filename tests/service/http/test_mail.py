"""Alerts in and messages out on a real service: acknowledged at once, delivered after a kill, seen while they wait."""

from __future__ import annotations

import json
import signal
import socket
import sys
from typing import Any

import pytest

from tests.service.chat.loopback import Loopback
from tests.service.chat.test_alertmanager import TOKEN, alert, notification
from tests.service.http.conftest import LOG, eventually

pytest.importorskip("sqlalchemy")
PATH = "/v1/hooks/alertmanager"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def receiver():
    """A receiver of webhooks."""
    with Loopback() as server:
        yield server


def settings(tmp_path, url: str) -> dict[str, Any]:
    """Return settings with a history, alerts in and one webhook out."""
    return {
        "database": f"sqlite:///{tmp_path}/history.sqlite",
        "alertmanager__token": TOKEN,
        "webhooks": json.dumps([{"url": url, "secrets": [SECRET], "name": "ops"}]),
        "notify__backoff_seconds": 0.2,
    }


def told(receiver) -> set[str]:
    """Return the services that the receiver was told of."""
    return {json.loads(request.body)["incident"]["service"] for request in list(receiver.calls)}


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.slow
def test_a_killed_service_loses_no_alert_and_no_message(serve, receiver, tmp_path):
    """Killed in the middle of the work; the next process tells what is left, some of it perhaps twice."""
    first = serve(**settings(tmp_path, receiver.url))
    services = {f"service-{number:02d}" for number in range(40)}
    for number, name in enumerate(sorted(services)):
        body = notification(alert(number, log=LOG.decode(), service=name), groupKey=name)
        assert 202 == first.post(PATH, json=body, headers=HEADERS).status_code
    eventually(lambda: receiver.calls)
    first.stop(signal.SIGKILL)
    before = told(receiver)

    second = serve(**settings(tmp_path, receiver.url))
    eventually(lambda: told(receiver) == services)
    eventually(lambda: all(lane["waiting"] == 0 for lane in second.get("/v1/messages").json()["lanes"]))

    assert before < services
    ids = [json.loads(request.body)["incident"]["id"] for request in list(receiver.calls)]
    assert len(set(ids)) == len(services)


def test_a_message_for_a_target_that_is_away_is_seen_and_delivered_later(serve, tmp_path):
    """In the figures, and to whoever asks; also when the service was stopped meanwhile."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = serve(**settings(tmp_path, f"http://127.0.0.1:{port}/"))
    assert 200 == server.post("/v1/triage", content=LOG).status_code
    eventually(lambda: 'outcome="retried",target="ops"' in server.get("/metrics").text)
    [lane] = server.get("/v1/messages").json()["lanes"]
    text = server.get("/metrics").text
    server.stop()

    assert ("ops", 1, 0) == (lane["target"], lane["waiting"], lane["failed"])
    assert lane["since"]
    assert '\nvllm_triage_messages_waiting{target="ops"} 1.0\n' in text
    with Loopback(port=port) as receiver:
        serve(**settings(tmp_path, receiver.url))
        eventually(lambda: receiver.calls)
        assert "kv_cache_oom" == json.loads(receiver.calls[0].body)["report"]["bucket"]
