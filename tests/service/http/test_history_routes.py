"""Incidents and feedback over HTTP, on a real SQLite file."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from tests.service.history.conftest import server_of_its_own  # noqa: F401 - a fixture
from tests.service.http.conftest import LOG, eventually
from vllm_triage.service.http.keys import make_key
from vllm_triage.service.http.recording import LATE, SENTENCE

pytest.importorskip("sqlalchemy")
HEALTHY = b'INFO:     Application startup complete.\nINFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'

RULE = """
id = "acme_proxy"
title = "Acme's proxy cut the connection"
meaning = "The proxy between the gateway and vLLM closes connections that are idle. Not vLLM's own time-out."
[[cause]]
id = "cut_off"
title = "The proxy cut an idle connection"
summary = "The proxy closed the connection."
[[cause.fix]]
title = "Raise the proxy's idle time"
kind = "step"
change = "idle_timeout 600s"
why = "Long generations look idle to it."
cost = "None."
verify = "The message is gone."
source = "https://proxy.example/docs"
[[rule]]
id = "cut"
role = "cause"
cause = "cut_off"
pattern = "acme-proxy: upstream cut off"
source = "proxy"
match = ["acme-proxy: upstream cut off"]
reject = ["acme-proxy: started"]
"""


@pytest.fixture
def kept(service, tmp_path):
    """A service that keeps a history."""
    return service(database=f"sqlite:///{tmp_path}/history.sqlite", public_url="https://t.example")


def post(client, log: bytes = LOG, **query: object) -> Any:
    """Post a log; return the answer."""
    answer = client.post("/v1/triage", content=log, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_same_failure_is_one_incident_in_each_service(kept):
    """Counted, whatever the pids and times; another service has its own."""
    first = post(kept, service="chat")["incident"]
    again = post(kept, LOG.replace(b"pid=4190", b"pid=77").replace(b"11-02", b"12-24"), service="chat")["incident"]
    other = post(kept, service="search")["incident"]

    assert (first["id"], 1, True) == (first["id"], first["occurrences"], first["new"])
    assert (first["id"], 2, False) == (again["id"], again["occurrences"], again["new"])
    assert (True, first["fingerprint"]) == (other["id"] != first["id"], other["fingerprint"])
    assert f"https://t.example/incidents/{first['id']}" == first["url"]


def test_what_is_not_to_be_kept_is_not(kept):
    """``store=false``, and logs without a failure."""
    assert post(kept, store="false")["incident"] is None
    assert post(kept, HEALTHY)["incident"] is None
    assert [] == kept.get("/v1/incidents").json()["items"]


def test_incidents_are_listed_shown_counted_and_removed(kept):
    """As they were answered; the log is not among what is kept."""
    incident = post(kept, service="chat", name="/var/log/server.log")["incident"]["id"]
    listed = kept.get("/v1/incidents", params={"service": "chat", "bucket": "kv_cache_oom"}).json()
    shown = kept.get(f"/v1/incidents/{incident}").json()
    counted = kept.get("/v1/incidents/stats", params={"step": "day"}).json()

    assert ([incident], None) == ([item["id"] for item in listed["items"]], listed["next"])
    assert ("server.log", "kv_cache_oom", 1) == (
        shown["incident"]["name"],
        shown["report"]["bucket"],
        len(shown["occurrences"]),
    )
    assert ("kv_cache_oom", 1) == (counted["buckets"][0]["bucket"], counted["total"])
    assert [204, 404, 404] == [
        kept.delete(f"/v1/incidents/{incident}").status_code, kept.get(f"/v1/incidents/{incident}").status_code,
        kept.delete(f"/v1/incidents/{incident}").status_code,
    ]  # fmt: skip


def test_pages_follow_each_other(kept):
    """By the cursor, to the end."""
    for name in ("a", "b", "c"):
        post(kept, service=name)
    found, cursor = [], ""
    while True:
        page = kept.get("/v1/incidents", params={"limit": 1, "cursor": cursor}).json()
        found += [item["service"] for item in page["items"]]
        cursor = page["next"]
        if not cursor:
            break

    assert ["c", "b", "a"] == found
    assert 422 == kept.get("/v1/incidents", params={"cursor": "nonsense"}).status_code


def test_feedback_is_kept_and_exported(kept):
    """Right, wrong and what it was; rows to train with."""
    incident = post(kept)["incident"]["id"]
    said = kept.post("/v1/feedback", json={"incident": incident, "verdict": "wrong", "bucket": "runtime_oom"})
    rows = [json.loads(line) for line in kept.get("/v1/feedback/export").text.splitlines()]

    assert (201, "wrong", "runtime_oom") == (said.status_code, said.json()["verdict"], said.json()["bucket"])
    assert ["runtime_oom"] == [row["bucket"] for row in rows]
    assert "wrong" == kept.get(f"/v1/incidents/{incident}").json()["incident"]["feedback"]
    assert 404 == kept.post("/v1/feedback", json={"incident": "inc_none", "verdict": "right"}).status_code
    assert 422 == kept.post("/v1/feedback", json={"incident": incident, "verdict": "perhaps"}).status_code
    assert (
        422
        == kept.post("/v1/feedback", json={"incident": incident, "verdict": "wrong", "bucket": "none such"}).status_code
    )


@pytest.mark.parametrize(
    ("said", "near"),
    [
        ({"bucket": "runtime_oomm"}, "runtime_oom"),
        ({"bucket": "kv_cache"}, "kv_cache_oom"),
        ({"cause": "kv_cache_oom/context_exceeds"}, "kv_cache_oom/context_exceeds_cache"),
        ({"bucket": "kv_cache_oom", "cause": "kv_cache_oom/no_cache_memry"}, "kv_cache_oom/context_exceeds_cache"),
    ],
)
def test_feedback_names_what_there_is(kept, said, near):
    """A name that is misspelt would be a bucket of its own in the training rows; the nearest are named."""
    incident = post(kept)["incident"]["id"]
    refused = kept.post("/v1/feedback", json={"incident": incident, "verdict": "wrong", **said})

    assert (422, "invalid") == (refused.status_code, refused.json()["type"].rpartition(":")[2])
    assert near in refused.json()["near"]
    assert near in refused.json()["detail"]
    assert "" == kept.get("/v1/feedback/export").text


def test_feedback_may_name_a_bucket_of_ones_own_rules(service, tmp_path):
    """Rules of a folder count as those of the corpus do."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "acme_proxy.toml").write_text(RULE)
    client = service(database=f"sqlite:///{tmp_path}/h.sqlite", rules=(str(tmp_path / "rules"),))
    incident = post(client)["incident"]["id"]
    said = client.post("/v1/feedback", json={"incident": incident, "verdict": "wrong", "cause": "acme_proxy/cut_off"})

    assert (201, "acme_proxy", "acme_proxy/cut_off") == (said.status_code, said.json()["bucket"], said.json()["cause"])


def test_feedback_is_the_keys_own_voice(service, tmp_path):
    """The name of the key stands with it."""
    key, line = make_key("dashboard", ["triage", "feedback", "read"])
    client = service(database=f"sqlite:///{tmp_path}/h.sqlite", api_keys=(line,))
    client.headers["X-API-Key"] = key
    incident = post(client)["incident"]["id"]

    assert "dashboard" == client.post("/v1/feedback", json={"incident": incident, "verdict": "right"}).json()["source"]


def test_incidents_are_found_by_what_people_said(kept):
    """Right, wrong, or nothing yet."""
    ids = [
        kept.post("/v1/triage", content=LOG, params={"service": name}).json()["incident"]["id"]
        for name in ("a", "b", "c")
    ]
    for incident, verdict in zip(ids, ("right", "wrong"), strict=False):
        kept.post("/v1/feedback", json={"incident": incident, "verdict": verdict})

    def listed(feedback: str) -> list[str]:
        return [item["id"] for item in kept.get("/v1/incidents", params={"feedback": feedback}).json()["items"]]

    assert [[ids[0]], [ids[1]], [ids[2]]] == [listed("right"), listed("wrong"), listed("none")]
    assert set(ids) == set(listed(""))
    assert 422 == kept.get("/v1/incidents", params={"feedback": "perhaps"}).status_code


def test_without_a_history_there_are_answers_and_no_incidents(client):
    """A problem says why."""
    assert post(client)["incident"] is None
    assert "urn:vllm-triage:problem:no-history" == client.get("/v1/incidents").json()["type"]


def test_a_history_that_is_gone_is_told_of_beside_the_answer(kept):
    """The diagnosis is given all the same; /readyz, the figures and a header say what is missing."""
    kept.app.state.history.close()
    answer = kept.post("/v1/triage", content=LOG)
    ready = kept.get("/readyz")

    assert (200, "kv_cache_oom", None, "the history was closed") == (
        answer.status_code, answer.json()["bucket"], answer.json()["incident"], answer.json()["not_recorded"],
    )  # fmt: skip
    assert "the history was closed" == answer.headers["x-not-recorded"]
    assert (200, "degraded", "not written: the history was closed") == (
        ready.status_code, ready.json()["status"], ready.json()["checks"]["history"],
    )  # fmt: skip
    assert "\nvllm_triage_incidents_not_recorded_total 1.0\n" in kept.get("/metrics").text
    assert "not_recorded" not in kept.post("/v1/triage", content=LOG, params={"store": "false"}).json()


def limit_pages(kept, pages: int = 0) -> int:
    """Let SQLite's file grow to so many pages, or to as many as it has; return those."""
    with kept.app.state.history._database.engine.connect() as connection:
        has = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    with_limit = pages or has

    def prepare(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA max_page_count={with_limit}")

    engine = kept.app.state.history._database.engine
    engine.dispose()
    event.listen(engine, "connect", prepare)
    return with_limit


def test_a_full_disk_costs_no_answer_and_nothing_that_was_acknowledged(kept):
    """And answers are recorded again as soon as there is space."""
    before = post(kept)["incident"]["id"]
    limit_pages(kept)
    full = []
    # Pages that were given back are written to before the file grows.
    for number in range(200):
        answer = kept.post("/v1/triage", content=LOG, params={"service": f"service-{number}"})
        assert 200 == answer.status_code
        full.append(answer.json().get("not_recorded", ""))
        if full[-1]:
            break
    listed = {item["id"] for item in kept.get("/v1/incidents", params={"limit": 500}).json()["items"]}
    limit_pages(kept, 1_000_000)
    again = eventually(lambda: post(kept)["incident"])

    assert "the disk is full" == full[-1]
    assert len(listed) == len(full)
    assert (before, 2) == (again["id"], again["occurrences"])


def forbid_writing(kept, *, forbidden: bool) -> None:
    """Have SQLite refuse to write, as on a file system that went read-only."""
    engine = kept.app.state.history._database.engine
    engine.dispose()

    def prepare(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA query_only={int(forbidden)}")

    event.listen(engine, "connect", prepare)


def test_a_read_only_disk_costs_no_answer(kept):
    before = post(kept)["incident"]["id"]
    forbid_writing(kept, forbidden=True)
    answers = [kept.post("/v1/triage", content=LOG) for _ in range(5)]
    ready = kept.get("/readyz").json()
    listed = [item["id"] for item in kept.get("/v1/incidents").json()["items"]]
    forbid_writing(kept, forbidden=False)
    again = eventually(lambda: post(kept)["incident"])

    assert {(200, "kv_cache_oom")} == {(answer.status_code, answer.json()["bucket"]) for answer in answers}
    assert all("read-only" in answer.json()["not_recorded"] for answer in answers)
    assert ("degraded", True) == (ready["status"], "read-only" in ready["checks"]["history"])
    assert ([before], before, 2) == (listed, again["id"], again["occurrences"])


def test_a_database_that_is_away_costs_no_answer_and_nothing_that_was_acknowledged(
    service,
    server_of_its_own,  # noqa: F811
):
    """A PostgreSQL server that is stopped and started again, under the service."""
    with server_of_its_own() as url:
        kept = service(database=url)
        before = {post(kept, service=f"service-{number}")["incident"]["id"] for number in range(5)}
    answers = [kept.post("/v1/triage", content=LOG, params={"service": "chat"}) for _ in range(5)]
    ready = kept.get("/readyz")
    with server_of_its_own():
        again = eventually(lambda: post(kept, service="chat")["incident"])
        listed = {item["id"] for item in kept.get("/v1/incidents", params={"limit": 500}).json()["items"]}
        recovered = kept.get("/readyz").json()["status"]

    assert {(200, "kv_cache_oom", None)} == {
        (answer.status_code, answer.json()["bucket"], answer.json()["incident"]) for answer in answers
    }
    assert all(answer.json()["not_recorded"] == answer.headers["x-not-recorded"] for answer in answers)
    assert (200, "degraded") == (ready.status_code, ready.json()["status"])
    assert ("ok", before | {again["id"]}) == (recovered, listed)


def test_readiness_is_told_in_time_while_the_history_hangs(kept, monkeypatch):
    """A probe that takes longer than it may counts as a failure: all logs would be kept from a service that answers them."""
    monkeypatch.setattr("vllm_triage.service.http.recording.PROBE", 0.01)
    state, release, tries = kept.app.state.service, threading.Event(), []

    def hangs() -> None:
        tries.append(1)
        assert release.wait(60)

    monkeypatch.setattr(state.history, "ping", hangs)
    answers = [kept.get("/readyz") for _ in range(3)]
    recorded, tried = post(kept)["incident"], len(tries)
    release.set()
    eventually(lambda: kept.get("/readyz").json()["status"] == "ok")

    assert {(200, "degraded", f"not written: {LATE}")} == {
        (answer.status_code, answer.json()["status"], answer.json()["checks"]["history"]) for answer in answers
    }
    # One attempt for all who ask, and no reason to keep answers from being recorded.
    assert (True, 1) == (recorded is not None, tried)


def test_one_sentence_says_what_happens_without_a_history():
    """In the code, for those who run it, for those who ask, and where somebody is woken up by it."""
    root = Path(__file__).parents[3]
    for name in ("docs/operations.md", "docs/http.md", "docs/history.md", "deploy/prometheus/alerts.yaml"):
        assert SENTENCE in " ".join((root / name).read_text("utf-8").split()), name


def test_secrets_do_not_reach_the_database(kept, tmp_path):
    """Not from the log, not from what the client sends with it."""
    token = "hf_" + "z1Y2" * 8
    post(kept, LOG + f"\nERROR 11-02 09:16:00 [x.py:1] HF_TOKEN={token}\n".encode(), service=token, name=f"{token}.log")
    incident = kept.get("/v1/incidents").json()["items"][0]["id"]
    kept.post("/v1/feedback", json={"incident": incident, "verdict": "right", "note": f"my token is {token}"})

    assert not any(token.encode() in path.read_bytes() for path in tmp_path.glob("history.sqlite*"))


def test_a_log_that_is_sent_again_counts_once(service, tmp_path):
    """Whoever had no answer says so by the key; another key, failure or service is another log."""
    client = service(database=f"sqlite:///{tmp_path}/history.sqlite")

    def post(key: str, service: str = "a") -> tuple[str, int]:
        headers = {"Idempotency-Key": key} if key else {}
        found = client.post("/v1/triage", params={"service": service}, content=LOG, headers=headers).json()["incident"]
        return found["id"], found["occurrences"]

    first = post("abc")
    assert first == post("abc") == (first[0], 1)
    assert [2, 3, 1] == [post("def")[1], post("")[1], post("abc", "b")[1]]
    assert 4 == client.get("/v1/incidents/stats").json()["total"]


def test_a_batch_or_a_stream_that_is_sent_again_counts_once(service, tmp_path):
    """Of a batch each log, though two of them be of one failure."""
    client = service(database=f"sqlite:///{tmp_path}/history.sqlite")
    for _ in range(2):
        headers = {"Idempotency-Key": "abc"}
        client.post("/v1/triage/stream", content=LOG, headers=headers)
        client.post("/v1/triage/batch", json={"logs": [{"log": LOG.decode()}] * 2}, headers=headers)
        client.post("/v1/triage/batch", files=[("file", ("a", LOG))], headers=headers)

    assert 3 == client.get("/v1/incidents/stats").json()["total"]


def test_a_method_that_is_not_allowed_is_told_all_that_are(service, tmp_path):
    client = service(database=f"sqlite:///{tmp_path}/history.sqlite")
    answer = client.put("/v1/incidents/inc_x")
    assert (405, {"DELETE", "GET", "PATCH"}) == (
        answer.status_code,
        set(answer.headers["allow"].split(", ")) - {"HEAD"},
    )
