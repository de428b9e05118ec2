"""The page's files: where they are, how long they may be kept, and what they may do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from vllm_triage.service.web import page_router
from vllm_triage.service.web.page import STATIC

SOURCES = sorted(path for path in STATIC.iterdir() if path.is_file())


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    app.include_router(page_router())
    return TestClient(app)


def addresses(text: str) -> list[str]:
    return re.findall(r'(?:href|src)="([^"#]+)"', text)


@pytest.mark.parametrize("path", ["/", "/history", "/incidents/inc_1"])
def test_the_same_document_answers_every_address_under_a_strict_policy(client: TestClient, path: str):
    answer = client.get(path)
    assert 200 == answer.status_code
    assert "no-cache" == answer.headers["cache-control"]
    policy = answer.headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "form-action 'none'",
                 "frame-ancestors 'none'", "require-trusted-types-for 'script'"):  # fmt: skip
        assert part in policy
    assert "unsafe" not in policy
    assert "nosniff" == answer.headers["x-content-type-options"]


@pytest.mark.parametrize("path", ["/", "/history", "/incidents/inc_1"])
def test_every_address_in_the_document_leads_somewhere_from_where_it_stands(client: TestClient, path: str):
    base = client.base_url.join(path)
    found = addresses(client.get(path).text)
    assert 10 <= len(found)
    for address in found:
        assert not address.startswith("/"), "an absolute address would break below a root path"
        assert 200 == client.get(str(base.join(address))).status_code


def test_files_are_kept_for_ever_under_their_hash_and_asked_for_again_under_another(client: TestClient):
    (script,) = [address for address in addresses(client.get("/").text) if address.endswith("/main.js")]
    now, before = client.get(f"/{script}"), client.get("/static/0000/main.js")
    assert "immutable" in now.headers["cache-control"]
    assert "no-cache" == before.headers["cache-control"]
    assert now.content == before.content


def test_what_the_browser_has_is_not_sent_again(client: TestClient):
    tag = client.get("/static/0/base.css").headers["etag"]
    again = client.get("/static/0/base.css", headers={"If-None-Match": f'"other", W/{tag}'})
    assert (304, b"") == (again.status_code, again.content)
    assert 200 == client.get("/static/0/base.css", headers={"If-None-Match": '"other"'}).status_code


@pytest.mark.parametrize("name", ["page.py", "..%2fpage.py", "%2e%2e%2f__init__.py", "index.html", ".", "none.js"])
def test_nothing_else_is_served(client: TestClient, name: str):
    assert 404 == client.get(f"/static/0/{name}").status_code


def test_what_stands_in_the_address_does_not_come_back_in_the_document(client: TestClient):
    assert "marker" not in client.get("/incidents/%22%3E%3Cscript%3Emarker").text


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_sources_ask_for_nothing_outside_and_make_no_markup_from_text(path: Path):
    text = path.read_text("utf-8")
    hosts = set(re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", text)) - {"www.w3.org"}
    assert set() == hosts
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
    ):
        assert word not in text
    if path.suffix == ".html":
        assert [] == re.findall(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", text)


def test_the_example_is_a_log_with_an_answer(client: TestClient):
    assert "ValueError: To serve at least one request" in client.get("/static/0/example.log").text
