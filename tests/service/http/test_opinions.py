"""The service's second opinion: a job behind the answers, kept by failure, in nobody's way."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

pytest.importorskip("slack_bolt")

from tests.service.ask.double import ANSWER, serving
from tests.service.chat.slack_server import SECRET, TOKEN, FakeSlack, sign
from tests.service.http.conftest import LOG, PATIENCE
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.settings import Settings


@pytest.fixture
def database(tmp_path) -> str:
    """A history of this test's own."""
    return f"sqlite:///{tmp_path / 'history.sqlite'}"


def report_with_proposals(client: TestClient, incident: str) -> dict[str, Any]:
    """Return an incident's report once a model's word is in it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        report: dict[str, Any] = client.get(f"/v1/incidents/{incident}").json()["report"]
        if "proposals" in report:
            return report
        time.sleep(0.05)
    raise AssertionError("no opinion came")


def posted(client: TestClient, log: bytes = LOG, **query: str) -> dict[str, Any]:
    """Post a log."""
    answer: dict[str, Any] = client.post("/v1/triage", content=log, params=query).json()
    return answer


def test_the_answer_waits_for_no_model_and_the_incident_takes_its_word_in(service, database) -> None:
    """With what was checked; the pack that is kept says nothing of it."""
    with serving(late=1.0) as double:
        client = service(database=database, ask=double.url)
        began = time.monotonic()
        answer = posted(client)
        assert time.monotonic() - began < 1.0
        assert (True, False) == (answer["asking"], "proposals" in answer)
        report = report_with_proposals(client, answer["incident"]["id"])
    assert ["acme/oak-70b"] == [one["source"] for one in report["proposals"]]
    (fix,) = [fix for fix in report["fixes"] if "proposed_by" in fix]
    assert "--max-model-len 32768" == fix["change"]
    assert "checked: option exists in 0.19.1, not in force, line 37" in fix["why"]
    assert [answer["fixes"][0]["change"]] == [fix["change"] for fix in report["fixes"] if "proposed_by" not in fix]
    assert [True] == ["no release has" in item["reason"] for item in report["withheld"] if "proposed_by" in item]
    assert "oak-70b" not in client.get(f"/v1/incidents/{answer['incident']['id']}/pack").text
    assert 'vllm_triage_opinions_total{outcome="shown"} 1.0' in client.get("/metrics").text


def test_a_chat_that_was_answered_is_shown_the_opinion_when_it_comes(service, database) -> None:
    """What a person asks for in a chat is asked about as well; the answer there waits for no model."""
    with serving(late=0.5) as double, FakeSlack() as slack:
        settings = {"signing_secret": SECRET, "bot_token": TOKEN, "api_url": f"{slack.url}/"}
        client = service(database=database, ask=double.url, slack=settings, notify={"update_seconds": 0})
        event = {
            "type": "app_mention",
            "user": "U7",
            "channel": "C1",
            "ts": "1.1",
            "text": f"<@U1> ```{LOG.decode()}```",
        }
        body = json.dumps({"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event})
        headers = {"Content-Type": "application/json", **sign(body, int(time.time()))}
        assert client.post("/v1/hooks/slack/events", content=body, headers=headers).is_success
        until = time.monotonic() + PATIENCE
        while not slack.updated and time.monotonic() < until:
            time.sleep(0.05)
    assert "oak-70b" not in json.dumps(slack.posted[0])
    assert "--max-model-len 32768" in json.dumps(slack.updated[-1]["blocks"])


def test_the_same_failure_is_asked_about_once_also_after_a_restart(service, database) -> None:
    """Its lines may stand elsewhere: they are found by their words."""
    later = b"INFO 11-02 09:14:00 [a.py:1] one line more\n" * 3 + LOG
    with serving() as double:
        first = service(database=database, ask=double.url)
        report_with_proposals(first, posted(first)["incident"]["id"])
        second = service(database=database, ask=double.url)
        again = posted(second, later)
        until = time.monotonic() + PATIENCE
        report = report_with_proposals(second, again["incident"]["id"])
        while report["input"]["lines"] != again["input"]["lines"] and time.monotonic() < until:
            report = report_with_proposals(second, again["incident"]["id"])
        assert ([40], 1) == ([line["line"] for line in report["proposals"][0]["evidence"]], len(double.asked))


@pytest.mark.parametrize("ask", ["never", "auto"])
def test_a_request_says_when(service, database, ask) -> None:
    """Over the setting, which is never asked where the first fix is sure."""
    with serving() as double:
        client = service(database=database, ask=double.url, ask_when="always")
        assert (ask != "never") is posted(client, ask=ask).get("asking", False)
        time.sleep(0.2)
        assert (ask != "never") == bool(double.asked)


@pytest.mark.parametrize(
    ("status", "answer"), [(500, None), (200, {"nonsense": 1}), (200, {**ANSWER, "lines": [9999]})], ids=str
)
def test_an_endpoint_that_fails_or_raves_changes_nothing(service, database, monkeypatch, status, answer) -> None:
    """The door stays open, the answer is that of the rules; what came is counted."""
    monkeypatch.setattr("vllm_triage.service.ask.endpoint.time.sleep", lambda _seconds: None)
    with serving(answer, status=status) as double:
        client = service(database=database, ask=double.url, ask_model="m")
        incident = posted(client)["incident"]["id"]
        until = time.monotonic() + PATIENCE
        while "vllm_triage_opinions_total{" not in (told := client.get("/metrics").text) and time.monotonic() < until:
            time.sleep(0.05)
        report = client.get(f"/v1/incidents/{incident}").json()["report"]
    assert not any("proposed_by" in fix for fix in report["fixes"])
    outcome = "failed" if status == 500 or (answer and "cause" not in answer) else "nothing held"
    assert f'outcome="{outcome}"' in told or answer == {"nonsense": 1}


def test_more_than_so_many_questions_an_hour_are_not_asked(service, database) -> None:
    """Another failure waits for the next hour; that is counted."""
    with serving() as double:
        client = service(database=database, ask=double.url, ask_per_hour=1)
        report_with_proposals(client, posted(client)["incident"]["id"])
        posted(client, b"(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845] acme.CogError: cog is gone\n")
        until = time.monotonic() + PATIENCE
        while 'outcome="failed"' not in client.get("/metrics").text and time.monotonic() < until:
            time.sleep(0.05)
        assert 1 == len(double.asked)


def test_asking_needs_a_place_for_what_comes_later() -> None:
    """Without a history there is none."""
    with pytest.raises(ValueError, match="needs a history"):
        create_app(Settings(database="none", ask="http://127.0.0.1:1"))


def test_what_is_no_address_is_told_at_the_start(database) -> None:
    """Not with the first question."""
    with pytest.raises(ValueError, match="not an address"):
        create_app(Settings(database=database, ask="localhost:8000"))


def test_without_the_setting_nothing_of_it_is_told(service, database) -> None:
    """Answers look as they did."""
    assert "asking" not in posted(service(database=database))
