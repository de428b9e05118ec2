"""``/v1/triage`` in every form a log comes in, and every form an answer goes out in."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.everyday import examples
from tests.service.http.conftest import LOG
from vllm_triage.classifier.api import shared

zstandard = pytest.importorskip("zstandard")


def by_library(log: bytes) -> Any:
    """Return the report of a log without the service."""
    return json.loads(shared().report(log).to_json())


EXPECTED = by_library(LOG)
FORMS: dict[str, Any] = {
    "text": {"content": LOG, "headers": {"Content-Type": "text/plain"}},
    "no type": {"content": LOG},
    "octets": {"content": LOG, "headers": {"Content-Type": "application/octet-stream"}},
    "curl's own type": {"content": LOG, "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
    "json": {"json": {"log": LOG.decode()}},
    "form": {"files": {"file": ("server.log", LOG)}},
    "gzip as type": {"content": gzip.compress(LOG), "headers": {"Content-Type": "application/gzip"}},
    "gzip as encoding": {"content": gzip.compress(LOG), "headers": {"Content-Encoding": "gzip"}},
    "zstd as encoding": {"content": zstandard.compress(LOG), "headers": {"Content-Encoding": "zstd"}},
    "gzip file in a form": {"files": {"file": ("server.log.gz", gzip.compress(LOG))}},
    "json packed": {
        "content": gzip.compress(json.dumps({"log": LOG.decode()}).encode()),
        "headers": {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    },
    "utf-16": {"content": LOG.decode().encode("utf-16")},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_answer_is_the_librarys(client, form):
    """Whatever way the log came, the report is that of ``triage``; only how much was read may differ."""
    answer = client.post("/v1/triage", **FORMS[form])
    report = answer.json()

    assert (200, None) == (answer.status_code, report.pop("incident"))
    assert {**EXPECTED, "input": None} == {**report, "input": None}


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize(("engine", "decided"), [("auto", "rule"), ("rules", "rule"), ("model", "model")])
def test_the_engine_may_be_chosen(client, engine, decided, size):
    """In the query, in JSON, in a form; for small and large logs."""
    log = (LOG * size).decode()
    answers = [
        client.post("/v1/triage", content=log, params={"engine": engine}),
        client.post("/v1/triage", json={"log": log, "engine": engine}),
        client.post("/v1/triage", files={"file": ("server.log", log)}, data={"engine": engine}),
    ]

    assert [(200, "kv_cache_oom", decided)] * 3 == [
        (answer.status_code, answer.json()["bucket"], answer.json()["decided_by"]) for answer in answers
    ]
    assert 422 == client.post("/v1/triage", content=log, params={"engine": "oracle"}).status_code
    late = client.post("/v1/triage", files=[("file", ("server.log", log)), ("engine", (None, engine))])
    assert (422, True) == (late.status_code, "before the file" in late.json()["detail"])


def test_a_large_log_is_answered_alike(client):
    """What goes to another process comes back the same."""
    log = b"INFO 01-01 00:00:00 [api_server.py:1] hello\n" * 20_000 + LOG

    assert by_library(log) == {
        name: value for name, value in client.post("/v1/triage", content=log).json().items() if name != "incident"
    }


@pytest.mark.parametrize(
    ("accept", "kind", "begin"),
    [
        ("text/markdown", "text/markdown", "## ✖ The KV cache cannot hold"),
        ("text/plain", "text/plain", "✖ The KV cache cannot hold"),
        ("application/sarif+json", "application/sarif+json", '{\n  "$schema"'),
        ("*/*", "application/json", '{"schema_version"'),
        ("text/*;q=0.5, application/sarif+json;q=0.1", "text/markdown", "## ✖"),
        ("image/png, application/json;q=0.1", "application/json", '{"schema_version"'),
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_the_accept_header_chooses_the_format(client, accept, kind, begin, size):
    """Small and large logs alike."""
    answer = client.post("/v1/triage", content=LOG * size, headers={"Accept": accept})

    assert (kind, begin) == (answer.headers["content-type"].partition(";")[0], answer.text[: len(begin)])


def test_a_format_that_cannot_be_made_is_refused(client):
    """Nobody gets JSON who said that they cannot read it."""
    answer = client.post("/v1/triage", content=LOG, headers={"Accept": "image/png"})

    assert (406, "urn:vllm-triage:problem:not-acceptable") == (answer.status_code, answer.json()["type"])


def test_questions_of_the_query_count(client):
    """The same options as the command's."""

    def ask(**query: object) -> Any:
        return client.post("/v1/triage", content=LOG, params=query).json()

    assert ask(ignore=["kv_cache_oom"])["filtered"] == {"by": "ignore", "ids": ["kv_cache_oom"]}
    assert ask(only=["nccl_hang"])["filtered"] == {"by": "only", "ids": ["nccl_hang"]}
    assert "filtered" not in ask(only=["kv_cache_oom"])
    assert ask(min_confidence=0.999)["cause"] == "unknown/below_threshold"
    assert ask(vllm_version="0.8.5")["facts"]["vllm_version"] == "0.8.5"
    assert ask()["facts"]["vllm_version"] == "0.19.1"
    assert "--port 9999" in str(ask(command="vllm serve acme/x --port 9999")["corrected_command"])


def test_fields_of_json_and_forms_count_too(client):
    """Also those of a form that come after the file."""
    by_json = client.post("/v1/triage", json={"log": LOG.decode(), "command": "vllm serve acme/x --port 9999"})
    by_form = client.post(
        "/v1/triage", files=[("file", ("a.log", LOG)), ("command", (None, "vllm serve acme/x --port 9999"))]
    )

    assert "--port 9999" in by_json.json()["corrected_command"]
    assert "--port 9999" in by_form.json()["corrected_command"]


@pytest.mark.parametrize(
    ("request_", "status", "name"),
    [
        ({"content": b""}, 422, "not-a-log"),
        ({"content": b"\0" * 5000}, 422, "not-a-log"),
        ({"content": b"\x7fELF" + b"\0" * 600}, 422, "not-a-log"),
        ({"content": b"PK\x03\x04" + b"a" * 600_000}, 422, "not-a-log"),
        ({"content": b"no gzip", "headers": {"Content-Encoding": "gzip"}}, 400, "bad-encoding"),
        ({"content": LOG, "headers": {"Content-Encoding": "br"}}, 415, "unsupported-media-type"),
        ({"content": LOG, "headers": {"Content-Type": "image/png"}}, 415, "unsupported-media-type"),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "bad-request"),
        ({"json": {"log": 1}}, 422, "invalid"),
        ({"json": {"lgo": "x"}}, 422, "invalid"),
        ({"json": {"log": "x", "vllm_version": "newest"}}, 422, "invalid"),
        ({"content": LOG, "params": {"min_confidence": 2}}, 422, "invalid"),
        ({"content": LOG, "params": {"only": "no_such_bucket"}}, 422, "invalid"),
        ({"content": LOG, "headers": {"Content-Type": "multipart/form-data"}}, 400, "bad-request"),
        ({"content": LOG, "headers": {"Content-Type": "multipart/form-data; boundary=x"}}, 400, "bad-request"),
        ({"content": LOG, "headers": {"Content-Type": "multipart/form-data; boundary=\u0142".encode()}}, 400, "bad-request"),
        ({"content": LOG, "headers": {"Content-Type": b"multipart/form-data; boundary*=utf-9''%ff"}}, 400, "bad-request"),
        ({"files": {"service": (None, "chat")}}, 422, "invalid"),
        ({"files": [("file", ("a", LOG)), ("file", ("b", LOG))]}, 422, "invalid"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_told_by_a_problem(client, request_, status, name):
    """RFC 9457, with a name that programs can go by, and not a word of the body."""
    answer = client.post("/v1/triage", **request_)
    problem = answer.json()

    assert (status, "application/problem+json") == (answer.status_code, answer.headers["content-type"])
    assert (f"urn:vllm-triage:problem:{name}", status, "/v1/triage") == (
        problem["type"],
        problem["status"],
        problem["instance"],
    )
    assert answer.headers["x-request-id"] == problem["request_id"]


def test_secrets_are_masked_in_every_format_and_in_what_the_client_sends(client):
    """In the log, in the label, in the name."""
    token = "hf_" + "a1B2" * 8
    log = LOG + f"\nERROR 11-02 09:15:09 [x.py:1] HF_TOKEN={token} ValueError: token {token}\n".encode()
    for accept in ("application/json", "text/markdown", "text/plain", "application/sarif+json"):
        answer = client.post(
            "/v1/triage", content=log, headers={"Accept": accept}, params={"name": f"{token}.log", "service": token}
        )
        assert (200, False) == (answer.status_code, token in answer.text)


def test_a_batch_answers_each_log_for_itself(client):
    """One that is no log keeps nobody from an answer."""
    by_json = client.post("/v1/triage/batch", json={"logs": [{"log": LOG.decode(), "name": "a"}, {"log": " "}]})
    by_form = client.post(
        "/v1/triage/batch", files=[("files", ("a", LOG)), ("files", ("b", b" ")), ("files", ("c", LOG * 80))]
    )

    for answer in (by_json, by_form):
        results = answer.json()["results"]
        assert (200, "kv_cache_oom", None) == (answer.status_code, results[0]["report"]["bucket"], results[1]["report"])
        assert results[1]["problem"]["type"].endswith(":not-a-log")
    assert ["a", "b", "c"] == [item["name"] for item in by_form.json()["results"]]


def test_a_file_may_have_any_name(client):
    """Its last part is shown, whatever the letters, without what is no letter."""
    files = [("files", (name, LOG)) for name in ("журнал.log", "C:\\logs\\a.log", "/var/log/日誌", "a\x1b[1mb\nc", "é")]
    results = client.post("/v1/triage/batch", files=files).json()["results"]

    assert ["журнал.log", "a.log", "日誌", "é"] == [item["name"] for index, item in enumerate(results) if index != 3]
    assert results[3]["name"].isprintable()


@pytest.mark.parametrize("logs", [[], [{"log": "x"}] * 101])
def test_a_batch_has_some_logs_and_not_too_many(client, logs):
    """Neither none nor more than the settings allow."""
    assert client.post("/v1/triage/batch", json={"logs": logs}).status_code in (413, 422)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    body=st.binary(max_size=400),
    kind=st.sampled_from(["text/plain", "application/json", "multipart/form-data; boundary=x", "", "application/gzip"]),
    encoding=st.sampled_from(["", "gzip", "zstd"]),
    path=st.sampled_from(["/v1/triage", "/v1/triage/batch", "/v1/triage/stream", "/v1/plan"]),
)
def test_no_body_is_a_fault_of_ours(client, body, kind, encoding, path):
    """Whatever is posted, the answer is an answer or a problem of the sender's."""
    headers = {name: value for name, value in {"Content-Type": kind, "Content-Encoding": encoding}.items() if value}
    answer = client.post(path, content=body, headers=headers)

    assert answer.status_code < 500
    assert answer.status_code == 200 or answer.json()["status"] == answer.status_code
