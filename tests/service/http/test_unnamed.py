"""What nobody has named, over HTTP: from logs to a rule file, each tenant for itself."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from tests.service.ask.double import serving
from tests.service.http.test_opinions import report_with_proposals
from vllm_triage.service.http.keys import make_key

KEYS = {tenant: make_key(f"key-{tenant or 'none'}", ["triage", "read"], tenant) for tenant in ("a", "b")}


def of(tenant: str) -> dict[str, str]:
    """Return the header that brings a tenant's key."""
    return {"Authorization": f"Bearer {KEYS[tenant][0]}"}


def log(words: str, number: int) -> str:
    """Return a log that ends with words that no rule knows."""
    front = f"(EngineCore_DP0 pid={number}) ERROR 11-02 10:00:0{number} [core.py:708] "
    return "\n".join(
        front + line for line in ("Traceback (most recent call last):", '  File "/a/b.py", line 3, in dock', words)
    )


def test_an_empty_history_has_nothing_unnamed(service, tmp_path):
    """Without any process."""
    client = service(database=f"sqlite:///{tmp_path}/h.sqlite")
    assert {
        "groups": [], "incidents": 0, "alone": 0, "made": None, "pending": False, "problem": "",
    } == client.get("/v1/unnamed").json()  # fmt: skip
    assert 404 == client.get("/v1/unnamed/0a1b2c3d/rule").status_code


def test_no_history_has_no_such_page(service):
    """As all that is about it."""
    assert "no-history" in service().get("/v1/unnamed").json()["type"]


@pytest.mark.slow
def test_from_logs_to_a_rule_that_names_them(service, tmp_path):
    """A group, its rule as a file, a service with that rule; another tenant sees nothing of it."""
    client = service(database=f"sqlite:///{tmp_path}/h.sqlite", api_keys=tuple(line for _, line in KEYS.values()))
    words = "HarborError: the gangway of the {} vessel stays locked until the quartermaster comes"
    for number, name in enumerate(("second", "southern", "other")):
        answer = client.post(
            "/v1/triage", content=log(words.format(name), number), headers=of("a"), params={"service": name}
        )
        assert "unknown" == answer.json()["bucket"], answer.json()

    found = client.get("/v1/unnamed", headers=of("a")).json()
    [group] = found["groups"]
    assert (3, 3, 3, False, "") == (
        group["logs"],
        group["incidents"],
        found["incidents"],
        found["pending"],
        found["problem"],
    )
    shown = {
        client.get(f"/v1/incidents/{example['incident']}", headers=of("a")).status_code for example in group["examples"]
    }
    assert {200} == shown
    rule = client.get(f"/v1/unnamed/{group['id']}/rule", headers=of("a"))
    assert ("application/toml", group["rule"]) == (rule.headers["content-type"], rule.text)
    assert f'attachment; filename="found_{group["id"]}.toml"' == rule.headers["content-disposition"]
    assert f"found_{group['id']}" == tomllib.loads(rule.text)["id"]

    theirs: dict[str, Any] = client.get("/v1/unnamed", headers=of("b")).json()
    assert ([], 0) == (theirs["groups"], theirs["incidents"])
    assert 404 == client.get(f"/v1/unnamed/{group['id']}/rule", headers=of("b")).status_code

    (tmp_path / "mine.toml").write_text(rule.text, "utf-8")
    named = service(rules=(str(tmp_path / "mine.toml"),))
    assert f"found_{group['id']}" == named.post("/v1/triage", content=log(words.format("last"), 5)).json()["bucket"]


@pytest.mark.slow
def test_what_a_model_proposed_and_a_person_confirmed_is_offered_with_the_group(service, tmp_path):
    """For a fix of the rule, to be read first; what nobody confirmed is not."""
    said = {
        "cause": "The gangway stays locked: HarborError until the quartermaster comes.", "candidate": "", "lines": [3], "confidence": 0.9,
        "fixes": [{"title": "Call", "actions": [{"do": "step", "text": "Call the quartermaster"}], "why": "", "predicts": ""}], "missing": "",
    }  # fmt: skip
    words = "HarborError: the gangway of the {} vessel stays locked until the quartermaster comes"
    with serving(said) as double:
        client = service(database=f"sqlite:///{tmp_path}/h.sqlite", ask=double.url)
        posted = [
            client.post("/v1/triage", content=log(words.format(name), number), params={"service": name}).json()
            for number, name in enumerate(("second", "southern", "other"))
        ]
        reports = [report_with_proposals(client, one["incident"]["id"]) for one in posted]
    assert ["Call the quartermaster"] * 3 == [report["fixes"][0]["change"] for report in reports]
    client.post("/v1/feedback", json={"incident": posted[0]["incident"]["id"], "verdict": "right"}).raise_for_status()

    [group] = client.get("/v1/unnamed").json()["groups"]
    assert [f"{said['cause']} › Call the quartermaster"] == group["confirmed"]
    [row] = map(json.loads, client.get("/v1/feedback/export").text.splitlines())
    assert [["Call the quartermaster"]] == [one["changes"] for one in row["proposals"]]


def test_whoever_may_not_read_is_refused(service, tmp_path):
    """As for the other pages of the history."""
    key, line = make_key("ci", ["triage"])
    client = service(database=f"sqlite:///{tmp_path}/h.sqlite", api_keys=(line,))
    assert 403 == client.get("/v1/unnamed", headers={"Authorization": f"Bearer {key}"}).status_code
    assert 401 == client.get("/v1/unnamed").status_code
