"""People sign in with a certified OpenID provider: oidc-provider of npm, in a process of its own.

It is looked for where `OIDC_PROVIDER` says (a folder with `node_modules`), else among the global packages of npm.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import pytest
from fastapi.testclient import TestClient

from tests.service.http.conftest import BASE
from tests.service.http.openid_provider import CLIENT, SECRET

SCRIPT = Path(__file__).with_name("certified_provider.mjs")
ROLES = {"viewer": ["ml"], "operator": ["oncall"], "admin": ["sre"]}
UNSAFE = {"Origin": BASE}
pytestmark = pytest.mark.slow


def packages() -> str:
    """Return the folder whose `node_modules` have the provider; skips where nobody has."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    folder = os.environ.get("OIDC_PROVIDER", "")
    if not folder and shutil.which("npm"):
        found = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False)
        folder = str(Path(found.stdout.strip() or "/").parent)
    if not (Path(folder) / "node_modules" / "oidc-provider").is_dir():
        pytest.skip("oidc-provider is not installed (npm install -g oidc-provider@8)")
    return folder


@pytest.fixture
def certified() -> Iterator[Callable[..., str]]:
    """Start providers; gives the issuer."""
    with ExitStack() as ends:

        def start(**settings: Any) -> str:
            folder = packages()
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            told = json.dumps(
                {"port": port, "home": BASE, "secret": SECRET, "conform": True, "scope": False, **settings}
            )
            process = subprocess.Popen(["node", str(SCRIPT), folder, told], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
            ends.callback(process.wait)
            ends.callback(process.kill)
            assert process.stdout is not None
            ends.callback(process.stdout.close)
            assert b"ready" in process.stdout.readline()
            return f"http://127.0.0.1:{port}"

        yield start


@pytest.fixture
def start(service: Callable[..., TestClient], tmp_path: Path) -> Callable[..., TestClient]:
    """Start services that people sign in to."""

    def starter(issuer: str, **more: Any) -> TestClient:
        oidc = {"issuer": issuer, "client_id": CLIENT, "client_secret": SECRET, **ROLES, **more}
        return service(oidc=oidc, public_url=BASE, database=f"sqlite:///{tmp_path}/history.sqlite")

    return starter


def sign_in(client: TestClient, login: str, *, cancel: bool = False) -> Any:
    """Do what a person does in a browser, at the provider and here; return our answer to the way back."""
    there = client.get("/auth/login", follow_redirects=False)
    assert there.status_code == 303, there.text
    with httpx2.Client() as browser:
        at = there.headers["location"]
        answer = browser.get(at)
        for _ in range(12):
            if answer.status_code in (302, 303):
                at = urljoin(at, answer.headers["location"])
                if at.startswith(BASE):
                    query = {name: values[0] for name, values in parse_qs(urlsplit(at).query).items()}
                    return client.get("/auth/callback", params=query, follow_redirects=False)
                answer = browser.get(at)
            elif cancel and (abort := re.search(r'href="([^"]+/abort)"', answer.text)):
                at = urljoin(at, abort[1])
                answer = browser.get(at)
            else:
                form = re.search(r'action="([^"]+)"', answer.text)
                prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
                assert form, answer.text[:500]
                assert prompt
                at = urljoin(at, form[1])
                answer = browser.post(at, data={"prompt": prompt[1], "login": login, "password": "x"})
    raise AssertionError("the provider sends nobody back")


@pytest.mark.parametrize("conform", [True, False], ids=["userinfo", "id-token"])
@pytest.mark.parametrize(("login", "scope"), [("kim", "triage"), ("olga", "operate"), ("sam", "admin")])
def test_people_come_in_with_their_roles(certified, start, conform, login, scope):
    """With a provider as the standard has it, and with one that puts all into the ID token."""
    client = start(certified(conform=conform))
    back = sign_in(client, login)
    assert (303, f"{BASE}/") == (back.status_code, back.headers["location"])
    me = client.get("/auth/me").json()
    assert (f"{login}@example.com", True) == (me["name"], scope in me["scopes"])


def test_groups_may_need_a_scope(certified, start):
    """And what is missing is said."""
    issuer = certified(scope=True)
    told = sign_in(start(issuer), "sam")
    assert (403, True) == (
        told.status_code,
        "has a claim groups (settings groups_claim, scopes)" in told.json()["detail"],
    )
    client = start(issuer, scopes=["openid", "email", "groups"])
    assert 303 == sign_in(client, "sam").status_code
    assert "admin" in client.get("/auth/me").json()["scopes"]


def test_who_may_not_come_in_ends_who_was_there(certified, start):
    """And who cancels is told what the provider says."""
    client = start(certified())
    sign_in(client, "sam")
    assert 403 == sign_in(client, "eve").status_code
    assert 401 == client.get("/v1/buckets").status_code
    assert "access_denied" in sign_in(client, "kim", cancel=True).json()["detail"]


def test_a_session_of_another_service_is_none_here(certified, start, service):
    """Of the same client, with other roles."""
    issuer = certified()
    client = start(issuer)
    sign_in(client, "kim")
    other = start(issuer, admin=["ml"])
    other.cookies.set("vllm_triage_session", client.cookies["vllm_triage_session"])
    assert (200, 401) == (client.get("/v1/buckets").status_code, other.get("/v1/buckets").status_code)


def test_signing_out_leads_to_the_provider_where_that_is_wanted(certified, start):
    """Which knows the client and where to go back to."""
    client = start(certified(), provider_logout=True)
    sign_in(client, "kim")
    where = client.post("/auth/logout", headers=UNSAFE).json()["provider"]
    assert 200 == httpx2.get(where).status_code
