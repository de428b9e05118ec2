"""No tenant sees another's incidents: every route that there is, with the ids of somebody else, on both databases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.everyday import sample
from tests.service.history.conftest import postgresql, server, sqlite, url  # noqa: F401 - fixtures
from tests.service.http.conftest import LOG
from vllm_triage.service.history import Filter, History
from vllm_triage.service.http.keys import make_key, read_key
from vllm_triage.service.http.openapi import document

MARK = "harbor-of-a"
KEYS = {tenant: make_key(f"key-{tenant or 'none'}", ["admin"], tenant) for tenant in ("a", "b", "")}


def of(tenant: str) -> dict[str, str]:
    """Return the header that brings a tenant's key."""
    return {"Authorization": f"Bearer {KEYS[tenant][0]}"}


@pytest.fixture
def kept(service, url):  # noqa: F811
    return service(database=url, api_keys=tuple(line for _, line in KEYS.values()))


def post(client: Any, tenant: str, service: str = MARK) -> dict[str, Any]:
    found = client.post("/v1/triage", content=LOG, params={"service": service}, headers=of(tenant)).json()["incident"]
    assert found is not None
    return dict(found)


def listed(client: Any, tenant: str, **wanted: str) -> list[str]:
    page = client.get("/v1/incidents", params=wanted, headers=of(tenant)).json()
    return [item["id"] for item in page["items"]]


def test_the_same_failure_of_two_tenants_is_two_incidents(kept):
    """Each counts its own; the fingerprint that is told is the same."""
    found = {tenant: [post(kept, tenant), post(kept, tenant)][1] for tenant in ("a", "b", "")}

    assert 3 == len({incident["id"] for incident in found.values()})
    assert {2} == {incident["occurrences"] for incident in found.values()}
    [fingerprint] = {incident["fingerprint"] for incident in found.values()}
    for tenant, incident in found.items():
        assert [incident["id"]] == listed(kept, tenant)
        assert [incident["id"]] == listed(kept, tenant, fingerprint=fingerprint)
        shown = kept.get(f"/v1/incidents/{incident['id']}", headers=of(tenant)).json()["incident"]
        assert (fingerprint, 2) == (shown["fingerprint"], shown["occurrences"])


@pytest.mark.parametrize("other", sample(["b", ""], 2))
def test_no_route_tells_or_changes_what_is_another_tenants(kept, other):
    """All operations of the document, and none of them is left out."""
    mine = post(kept, "a")["id"]
    said = {"incident": mine, "verdict": "wrong", "note": MARK}
    assert 201 == kept.post("/v1/feedback", json=said, headers=of("a")).status_code
    before = kept.get(f"/v1/incidents/{mine}", headers=of("a")).json()
    tried = []
    for path, operations in document(kept.app)["paths"].items():
        for method, operation in operations.items():
            address = path.replace("{id}", mine)
            content: dict[str, Any] = {}
            if path == "/v1/feedback":
                content = {"json": said}
            elif method == "patch":
                content = {"json": {"state": "muted", "assignee": other}}
            elif "requestBody" in operation:
                content = {"content": LOG}
            answer = kept.request(method.upper(), address, headers=of(other), params={"q": MARK}, **content)
            assert MARK not in answer.text, (method, path)
            assert mine not in answer.text.replace(address, ""), (method, path)
            if mine in address:
                assert 404 == answer.status_code, (method, path)
            tried.append((method, path))

    assert {("delete", "/v1/incidents/{id}"), ("patch", "/v1/incidents/{id}"), ("get", "/v1/feedback/export")} <= {
        *tried
    }
    assert before == kept.get(f"/v1/incidents/{mine}", headers=of("a")).json()
    assert 1 == kept.get("/v1/incidents/stats", headers=of("a")).json()["total"]
    own = kept.get("/v1/incidents/stats", headers=of(other), params={"service": MARK}).json()["total"]
    assert 0 == own
    assert [mine] == [
        json.loads(row)["id"] for row in kept.get("/v1/feedback/export", headers=of("a")).text.splitlines()
    ]


def test_batches_and_streams_are_counted_to_the_tenant_as_well(kept):
    text = LOG.decode()
    batch = kept.post("/v1/triage/batch", json={"logs": [{"log": text, "service": "batch"}]}, headers=of("a")).json()
    form = kept.post("/v1/triage/batch", files=[("file", ("x.log", LOG))], headers=of("a")).json()
    streamed = kept.post("/v1/triage/stream", content=LOG, params={"service": "stream"}, headers=of("a")).text
    last = json.loads(streamed.splitlines()[-1])["report"]["incident"]["id"]
    ids = {batch["results"][0]["report"]["incident"]["id"], form["results"][0]["report"]["incident"]["id"], last}

    assert ids == {*listed(kept, "a")}
    assert [] == listed(kept, "") == listed(kept, "b")


def test_the_operators_own_tools_see_all(kept, url):  # noqa: F811
    post(kept, "a")
    post(kept, "")
    history = History(url)
    try:
        assert 2 == len(history.incidents(Filter(tenant=None)).items)
        assert 1 == len(history.incidents(Filter()).items)
        assert 1 == len(history.incidents(Filter(tenant="a")).items)
        [fingerprint] = {one.fingerprint for one in history.incidents(Filter(tenant=None)).items}
        assert 2 == len(history.incidents(Filter(tenant=None, fingerprint=fingerprint)).items)
    finally:
        history.close()


def test_what_waits_for_chats_is_not_told_to_tenants(kept):
    assert [] == kept.get("/v1/messages", headers=of("a")).json()["lanes"]


@pytest.mark.parametrize("line", ["x@:read:sha256=", "x@a b:read:sha256=", "@a:read:sha256=", "x@a@b:read:sha256="])
def test_names_of_tenants(line):
    assert "acme" == read_key(make_key("x", ["read"], "acme")[1]).tenant
    with pytest.raises(ValueError, match="tenants have letters"):
        read_key(line + "0" * 64)
