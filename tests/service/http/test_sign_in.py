"""People who sign in: with an OpenID provider, or as a proxy in front says."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from joserfc.jwk import OctKey, RSAKey
from pydantic import ValidationError

from tests.service.http.conftest import BASE, LOG, eventually
from tests.service.http.openid_provider import CLIENT, SECRET, OpenIdProvider
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.auth import Caller
from vllm_triage.service.http.keys import make_key
from vllm_triage.service.http.settings import Settings
from vllm_triage.service.http.sign_in.people import NoEntryError, Role, person
from vllm_triage.service.http.sign_in.provider import AGAIN
from vllm_triage.service.http.sign_in.settings import OidcSettings, ProxySettings, RoleSettings
from vllm_triage.service.http.sign_in.tokens import Tokens

ROLES = {"viewer": ["ml"], "operator": ["oncall"], "admin": ["sre"]}
KEY, LINE = make_key("ci", ["triage", "read"])
UNSAFE = {"Origin": BASE}


@pytest.fixture(scope="module")
def provider():
    with OpenIdProvider() as made:
        yield made


@pytest.fixture(autouse=True)
def _as_it_was(provider):
    yield
    provider.claims, provider.told, provider.issuer, provider.signing = {}, {}, provider.url, None
    provider.header, provider.keys = {"alg": "RS256", "kid": "one"}, provider.keys[:1]


@pytest.fixture
def start(service, provider, tmp_path):
    """Start a service that people sign in to."""

    def starter(**more: Any) -> TestClient:
        oidc = {"issuer": provider.url, "client_id": CLIENT, "client_secret": SECRET, **ROLES, **more}
        client: TestClient = service(
            oidc=oidc, public_url=BASE, api_keys=(LINE,), database=f"sqlite:///{tmp_path}/history.sqlite"
        )
        return client

    return starter


def sign_in(client: TestClient, provider: OpenIdProvider, after: str = "/", **claims: Any) -> Any:
    """Go the whole way; return the last answer."""
    there = client.get("/auth/login", params={"after": after}, follow_redirects=False)
    assert 303 == there.status_code, there.text
    back = provider.authorize(there.headers["location"], **claims)
    return client.get("/auth/callback", params=back, follow_redirects=False)


def test_a_person_signs_in_looks_around_and_leaves(start, provider):
    client = start()
    assert 401 == client.get("/v1/incidents").status_code
    assert {"name": "", "scopes": [], "sign_in": "/auth/login"} == {
        name: value for name, value in client.get("/auth/me").json().items() if name in ("name", "scopes", "sign_in")
    }
    back = sign_in(client, provider, "/history?q=x")

    assert (303, f"{BASE}/history?q=x") == (back.status_code, back.headers["location"])
    me = client.get("/auth/me").json()
    assert ("kim@example.com", ["triage", "read"], True) == (me["name"], me["scopes"], me["signed_in"])
    assert 200 == client.get("/v1/incidents").status_code

    copied = client.cookies["vllm_triage_session"]
    assert {"provider": None} == client.post("/auth/logout", headers=UNSAFE).json()
    assert 401 == client.get("/v1/incidents").status_code
    # Ended for good, not in this browser alone.
    client.cookies.set("vllm_triage_session", copied)
    assert 401 == client.get("/v1/incidents").status_code


def test_a_cookie_is_kept_from_scripts_and_other_sites(start, provider):
    client = start()
    there = client.get("/auth/login", follow_redirects=False)
    cookies = there.headers.get_list("set-cookie")
    back = sign_in(client, provider)
    cookies += back.headers.get_list("set-cookie")

    assert 3 == len(cookies)
    assert all("httponly" in cookie.lower() and "samesite=lax" in cookie.lower() for cookie in cookies)
    assert "secret" not in "".join(cookies)


@pytest.mark.parametrize(
    ("group", "allowed"),
    [
        ("ml", [200, 403, 403, 403, 403]),
        ("oncall", [200, 201, 200, 403, 403]),
        ("sre", [200, 201, 200, 200, 204]),
    ],
)
def test_what_a_role_allows(start, provider, group, allowed):
    client = start()
    sign_in(client, provider, groups=["others", group])
    made = client.post("/v1/triage", content=LOG, headers=UNSAFE)
    incident = made.json()["incident"]["id"]
    statuses = [
        made.status_code,
        client.post("/v1/feedback", json={"incident": incident, "verdict": "right"}, headers=UNSAFE).status_code,
        client.patch(f"/v1/incidents/{incident}", json={"state": "acknowledged"}, headers=UNSAFE).status_code,
        client.get("/v1/feedback/export").status_code,
        client.delete(f"/v1/incidents/{incident}", headers=UNSAFE).status_code,
    ]
    assert allowed == statuses


def test_names_stand_on_what_people_say_and_do(start, provider):
    client = start()
    sign_in(client, provider, groups=["oncall"])
    incident = client.post("/v1/triage", content=LOG, headers=UNSAFE).json()["incident"]["id"]
    client.post("/v1/feedback", json={"incident": incident, "verdict": "right"}, headers=UNSAFE)
    client.patch(f"/v1/incidents/{incident}", json={"state": "muted"}, headers=UNSAFE)
    found = client.get(f"/v1/incidents/{incident}").json()

    assert "kim@example.com" == found["feedback"][0]["source"] == found["incident"]["handled_by"]


def test_who_is_in_no_group_does_not_come_in(start, provider):
    client = start()
    answer = sign_in(client, provider, groups=["marketing"])
    assert (403, "urn:vllm-triage:problem:no-role") == (answer.status_code, answer.json()["type"])
    assert 401 == client.get("/v1/incidents").status_code


def test_a_page_of_another_site_does_nothing_in_a_persons_name(start, provider):
    client = start()
    sign_in(client, provider, groups=["sre"])
    foreign = client.post("/v1/triage", content=LOG, headers={"Origin": "https://evil.example"})
    assert (403, "urn:vllm-triage:problem:cross-site") == (foreign.status_code, foreign.json()["type"])
    assert 403 == client.post("/auth/logout", headers={"Origin": "https://evil.example"}).status_code


def test_keys_go_before_sessions(start, provider):
    client = start()
    sign_in(client, provider, groups=["sre"])
    bearer = {"Authorization": f"Bearer {KEY}"}
    assert "ci" == client.get("/auth/me", headers=bearer).json()["name"]
    assert 403 == client.get("/v1/feedback/export", headers=bearer).status_code
    assert 401 == client.get("/v1/incidents", headers={"X-API-Key": "vtk_wrong"}).status_code


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example"}, {"aud": "somebody"}, {"exp": 1_000_000_000}, {"nonce": "another"},
        {"aud": [CLIENT, "other"], "azp": "other"}, {"iat": None}, {"at_hash": "AAAA"},
    ],
)  # fmt: skip
def test_a_token_that_is_not_for_us_is_not_accepted(start, provider, claims):
    client = start()
    provider.claims = claims
    answer = sign_in(client, provider)
    assert (403, "urn:vllm-triage:problem:sign-in-failed") == (answer.status_code, answer.json()["type"])


@pytest.mark.parametrize("way", ["another key", "a shared secret"])
def test_a_token_that_the_provider_has_not_signed_is_not_accepted(start, provider, way):
    """The last is the old trick: signed with what both know."""
    client = start()
    if way == "another key":
        provider.signing = RSAKey.generate_key(2048, {"kid": "one"})
    else:
        provider.signing, provider.header = OctKey.import_key(SECRET), {"alg": "HS256"}
    assert 403 == sign_in(client, provider).status_code


def test_keys_that_change_are_read_anew(start, provider, monkeypatch):
    """But not for every token that somebody makes up."""
    client = start()
    assert 303 == sign_in(client, provider).status_code
    provider.keys = [RSAKey.generate_key(2048, {"kid": "two"}), *provider.keys]
    provider.header = {"alg": "RS256", "kid": "two"}
    before = provider.asked.count("/keys")
    assert 403 == sign_in(client, provider).status_code
    assert before == provider.asked.count("/keys")
    monkeypatch.setattr("vllm_triage.service.http.sign_in.provider.AGAIN", -AGAIN)
    assert 303 == sign_in(client, provider).status_code
    provider.keys = provider.keys[1:]


def test_a_sign_in_ends_in_the_browser_that_began_it(start, provider):
    """A link with somebody else's code signs nobody in."""
    client = start()
    there = client.get("/auth/login", follow_redirects=False)
    back = provider.authorize(there.headers["location"])
    other = TestClient(client.app, base_url=BASE)
    assert 403 == other.get("/auth/callback", params=back, follow_redirects=False).status_code
    assert 403 == client.get("/auth/callback", params={**back, "state": "x"}, follow_redirects=False).status_code
    assert 403 == client.get("/auth/callback", params={"error": "access_denied", "state": back["state"]}).status_code
    # A code is good for one.
    assert 303 == client.get("/auth/callback", params=back, follow_redirects=False).status_code
    assert 403 == client.get("/auth/callback", params=back, follow_redirects=False).status_code


@pytest.mark.parametrize(
    "after", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb"]
)
def test_nobody_is_sent_elsewhere_after_signing_in(start, provider, after):
    assert f"{BASE}/" == sign_in(start(), provider, after).headers["location"]


def test_a_session_ends_and_cannot_be_made_up(start, provider):
    client = start()
    sessions = client.app.state.service.sessions
    said = {"name": "eve", "role": "admin", "tenant": ""}
    for token in (
        Tokens("another secret, as long", "session").make(said, 60),
        Tokens(SECRET, "session").make(said, 60),
        sessions._ways.make(said, 60),
        sessions._people.make(said, -1),
        "x.y.z",
    ):
        client.cookies.set("vllm_triage_session", token)
        assert 401 == client.get("/v1/incidents").status_code
    client.cookies.set("vllm_triage_session", sessions._people.make(said, 60))
    assert 200 == client.get("/v1/incidents").status_code


def test_people_of_a_tenant(start, provider):
    """Who has none is not let in to what belongs to nobody."""
    client = start(tenant_claim="org")
    assert 403 == sign_in(client, provider).status_code
    assert 403 == sign_in(client, provider, org="no good name!").status_code
    assert 303 == sign_in(client, provider, org="acme").status_code
    client.post("/v1/triage", content=LOG, headers=UNSAFE)
    assert "acme" == client.get("/auth/me").json()["tenant"]
    assert 1 == len(client.get("/v1/incidents").json()["items"])
    assert [] == client.get("/v1/incidents", headers={"X-API-Key": KEY}).json()["items"]


def test_a_provider_that_is_away_or_another_one(start, provider):
    # Before the start: the service looks at once, and remembers what it was told.
    provider.issuer = "https://other.example"
    client = start()
    answer = client.get("/auth/login", follow_redirects=False)
    assert (403, True) == (answer.status_code, "calls itself otherwise" in answer.json()["detail"])
    away = start(issuer="http://127.0.0.1:9")
    refused = away.get("/auth/login", follow_redirects=False)
    assert (503, "10", True) == (
        refused.status_code,
        refused.headers["retry-after"],
        "reached" in refused.json()["detail"],
    )
    assert eventually(lambda: "reached" in away.get("/readyz").json()["checks"]["sign_in"])
    assert (200, "degraded") == ((told := away.get("/readyz")).status_code, told.json()["status"])


def test_under_tls_cookies_are_the_hosts_own(service, provider):
    oidc = {"issuer": provider.url, "client_id": CLIENT, "client_secret": SECRET, **ROLES}
    client = service(oidc=oidc, public_url="https://triage.example/below")
    moved = client.get("/auth/login", params={"after": "/history"}, follow_redirects=False)
    assert "https://triage.example/below/auth/login?after=%2Fhistory&moved=true" == moved.headers["location"]
    there = client.get("/auth/login", params={"moved": "true"}, follow_redirects=False)
    asked = parse_qs(urlsplit(there.headers["location"]).query)
    cookie = there.headers["set-cookie"]
    assert ["https://triage.example/below/auth/callback"] == asked["redirect_uri"]
    assert cookie.startswith("__Host-")
    assert "secure" in cookie.lower()


@pytest.mark.parametrize(
    "bad",
    [
        {"issuer": "http://idp.example"}, {"client_secret": "short"}, {"viewer": [], "operator": [], "admin": []},
        {"strange": 1},
    ],
)  # fmt: skip
def test_settings_of_a_provider(bad):
    good = {"issuer": "https://idp.example/", "client_id": "x", "client_secret": SECRET, **ROLES}
    assert "https://idp.example" == OidcSettings.model_validate(good).issuer
    with pytest.raises(ValidationError):
        OidcSettings.model_validate({**good, **bad})
    with pytest.raises(ValidationError, match="public_url"):
        Settings(database="none", oidc=good)


def test_roles_the_highest_counts_and_a_star_is_everybody():
    roles = RoleSettings(viewer=frozenset("*"), admin=frozenset({"sre"}))
    assert (Role.ADMIN, Role.VIEWER) == (person("a", ["sre"], "", roles).role, person("b", [], "", roles).role)
    with pytest.raises(NoEntryError):
        person("c", ["ml"], "", RoleSettings(admin=frozenset({"sre"})))


PROXY = {"addresses": ["10.1.0.0/16"], **ROLES}


def through(service: Any, peer: str, **more: Any) -> TestClient:
    """Return a client that connects from an address."""
    app = create_app(Settings(database="none", rate_limit=0, proxy={**PROXY, **more}, public_url="https://t.example"))
    return TestClient(app, base_url=BASE, client=(peer, 5000))


def test_a_proxy_says_who_it_is(service):
    client = through(service, "10.1.2.3")
    told = {"X-Forwarded-User": "kim", "X-Forwarded-Groups": "a, oncall", "X-Forwarded-For": "203.0.113.9"}
    me = client.get("/auth/me", headers=told).json()
    assert ("kim", False, ["triage", "read", "feedback", "operate"]) == (me["name"], me["signed_in"], me["scopes"])
    assert 401 == client.get("/v1/buckets").status_code
    assert 403 == client.get("/v1/buckets", headers={"X-Forwarded-User": "eve"}).status_code


@pytest.mark.parametrize("peer", ["10.2.0.1", "203.0.113.9", "testclient", "127.0.0.1"])
def test_nobody_else_is_believed(service, peer):
    """Neither by coming from elsewhere, nor by saying that it comes from the proxy."""
    client = through(service, peer)
    told = {"X-Forwarded-User": "kim", "X-Forwarded-Groups": "sre", "X-Forwarded-For": "10.1.2.3"}
    assert 401 == client.get("/v1/buckets", headers=told).status_code


def test_a_proxy_that_tells_tenants_tells_one(service):
    client = through(service, "10.1.2.3", tenant_header="X-Org")
    told = {"X-Forwarded-User": "kim", "X-Forwarded-Groups": "sre"}
    assert 403 == client.get("/v1/buckets", headers=told).status_code
    assert "acme" == client.get("/auth/me", headers={**told, "X-Org": "acme"}).json()["tenant"]


@pytest.mark.parametrize("addresses", [[], ["0.0.0.0/0"], ["::/0"], ["proxy.example"]])
def test_settings_of_a_proxy(addresses):
    with pytest.raises(ValidationError):
        ProxySettings.model_validate({**PROXY, "addresses": addresses})


@pytest.mark.parametrize(
    "other",
    [
        {"public_url": "http://other.example"}, {"issuer": "https://idp.example"}, {"client_id": "another"}, {"admin": ["nobody"]},
        {"tenant_claim": "org"}, {"groups_claim": "roles"},
    ],
)  # fmt: skip
def test_a_session_is_good_where_it_was_given_alone(service, start, provider, other):
    """Not at another service of the same client, and not with other settings of roles, tenants or provider."""
    client = start()
    sign_in(client, provider, groups=["sre"])
    oidc: dict[str, Any] = {"issuer": provider.url, "client_id": CLIENT, "client_secret": SECRET, **ROLES, **other}
    public_url = oidc.pop("public_url", BASE)
    elsewhere = service(oidc=oidc, public_url=public_url, database="none")
    elsewhere.cookies.set("vllm_triage_session", client.cookies["vllm_triage_session"])
    assert (200, 401) == (client.get("/v1/buckets").status_code, elsewhere.get("/v1/buckets").status_code)


def test_what_the_id_token_does_not_say_is_asked_of_user_info(start, provider):
    """As OpenID Core has it; of somebody else nothing is taken, and what is nowhere is said to be missing."""
    client = start()
    provider.claims = {"groups": None, "email": None}
    provider.told = {"groups": ["sre"], "email": "sam@example.com"}
    sign_in(client, provider)
    assert ("sam@example.com", True) == ((me := client.get("/auth/me").json())["name"], "admin" in me["scopes"])
    provider.told = {"sub": "u-2", "groups": ["sre"]}
    assert "somebody else" in sign_in(client, provider).json()["detail"]
    provider.told = {}
    told = sign_in(client, provider).json()["detail"]
    assert "u-1 is in no group that may come in: neither the ID token nor UserInfo has a claim groups" in told


@pytest.mark.parametrize("groups", [3, True, {"a": 1}, [], "others"])
def test_groups_of_any_form_are_groups_or_none(start, provider, groups):
    assert 403 == sign_in(start(), provider, groups=groups).status_code


def test_an_email_that_nobody_verified_is_no_name(start, provider):
    client = start()
    sign_in(client, provider, email_verified=False)
    assert "u-1" == client.get("/auth/me").json()["name"]


def test_a_sign_in_that_fails_leaves_nobody_signed_in(start, provider):
    """Whoever came back is not who was there before; a link that somebody sent ends nothing."""
    client = start()
    sign_in(client, provider, groups=["sre"])
    assert 403 == client.get("/auth/callback", params={"state": "x", "code": "y"}).status_code
    assert 200 == client.get("/v1/buckets").status_code
    assert 403 == sign_in(client, provider, groups=["marketing"]).status_code
    assert 401 == client.get("/v1/buckets").status_code


@pytest.mark.slow
def test_a_session_that_ended_ends_in_other_processes(start, provider):
    """They look into the history."""
    one, other = start(), start()
    sign_in(one, provider)
    other.cookies.set("vllm_triage_session", one.cookies["vllm_triage_session"])
    assert 200 == other.get("/v1/buckets").status_code
    one.post("/auth/logout", headers=UNSAFE)
    deadline = time.monotonic() + 30
    while other.get("/v1/buckets").status_code != 401:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_people_are_told_in_a_page(start, provider):
    """With the provider's reason, as text, and a way on; programs get the usual object."""
    client = start()
    there = client.get("/auth/login", follow_redirects=False)
    back = provider.authorize(there.headers["location"])
    refusal = {"state": back["state"], "error": "access_denied", "error_description": "<b>no</b>"}
    page = client.get("/auth/callback", params=refusal, headers={"Accept": "text/html,*/*"})
    assert (403, True) == (page.status_code, page.headers["content-type"].startswith("text/html"))
    assert "access_denied &lt;b&gt;no&lt;/b&gt;" in page.text
    assert '<a href="/auth/login">Sign in again</a>' in page.text
    assert page.headers["x-request-id"] in page.text


def test_two_tabs_sign_in_at_once(start, provider):
    """And of many that are begun in one browser a few are kept."""
    client = start()
    ways = [client.get("/auth/login", params={"after": f"/{n}"}, follow_redirects=False) for n in range(6)]
    backs = [provider.authorize(way.headers["location"]) for way in ways]
    ends = [client.get("/auth/callback", params=back, follow_redirects=False) for back in backs]
    assert [403, 403] + [303] * 4 == [end.status_code for end in ends]
    assert [f"{BASE}/{n}" for n in range(2, 6)] == [end.headers["location"] for end in ends[2:]]


def test_what_is_strange_on_the_way_back_is_refused(start, provider):
    """A state that is no ASCII, keys that nobody knows, a path that fits in no cookie."""
    client = start()
    there = client.get("/auth/login", params={"after": "/" + "a" * 3000}, follow_redirects=False)
    back = provider.authorize(there.headers["location"])
    assert 403 == client.get("/auth/callback?state=%C3%A9&code=x", follow_redirects=False).status_code
    odd = [{"kty": "EC", "crv": "P-1", "kid": "odd"}, {"kid": "none"}]
    known = provider.get
    provider.get = lambda path, *more: (
        (200, {"keys": [*odd, *known(path)[1]["keys"]]}) if path == "/keys" else known(path, *more)
    )
    try:
        end = client.get("/auth/callback", params=back, follow_redirects=False)
    finally:
        del provider.get
    assert (303, f"{BASE}/") == (end.status_code, end.headers["location"])


@pytest.mark.slow
def test_a_provider_that_hangs_holds_up_nobody_else(start, provider):
    """Thirty sign-ins wait for it; what others ask is answered meanwhile, and the provider is left alone for a while."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = start(issuer=f"http://127.0.0.1:{silent.getsockname()[1]}")
        threads = [threading.Thread(target=lambda: client.get("/auth/login")) for _ in range(30)]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        answer = client.post("/v1/plan", json={"gpu_memory": "24GiB"}, headers={"X-API-Key": KEY})
        took = time.monotonic() - began
        for thread in threads:
            thread.join()
        assert took < 3
        assert answer.status_code in (200, 422)
        assert time.monotonic() - began < 15


def test_a_person_and_a_key_of_one_name_are_two():
    """Their requests are counted apart."""
    assert Caller("ci", "10.0.0.1", kind="role").id != Caller("ci", "10.0.0.1").id


def test_a_session_beside_a_proxy_can_be_ended(service, provider, tmp_path):
    oidc = {"issuer": provider.url, "client_id": CLIENT, "client_secret": SECRET, **ROLES}
    client = service(oidc=oidc, proxy=PROXY, public_url=BASE, database="none")
    sign_in(client, provider)
    assert client.get("/auth/me").json()["signed_in"]


def test_a_proxy_must_remove_what_it_is_sent(service):
    """Of two headers one is the client's. Names are UTF-8."""
    client = through(service, "10.1.2.3")
    two = [("X-Forwarded-User", "eve"), ("X-Forwarded-User", "kim"), ("X-Forwarded-Groups", "sre")]
    assert 403 == client.get("/v1/buckets", headers=two).status_code
    named = {b"X-Forwarded-User": "Jörg".encode(), b"X-Forwarded-Groups": b"sre"}
    assert "Jörg" == client.get("/auth/me", headers=named).json()["name"]


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://t.example", 200), ("http://t.example", 403), ("ftp://t.example", 403), ("http://testserver", 200), ("ftp://testserver", 403)],
)  # fmt: skip
def test_an_origin_has_a_scheme(service, origin, status):
    """A page without TLS is another site than one with it."""
    client = through(service, "10.1.2.3")
    told = {"X-Forwarded-User": "kim", "X-Forwarded-Groups": "sre", "Origin": origin, "Host": urlsplit(BASE).netloc}
    origin = {"http://testserver": BASE, "ftp://testserver": BASE.replace("http:", "ftp:")}.get(origin, origin)
    assert status == client.post("/v1/triage", content=LOG, headers={**told, "Origin": origin}).status_code


@pytest.mark.parametrize("bad", ["triage.example.com", "ftp://x"])
def test_a_public_url_is_an_address(bad):
    with pytest.raises(ValidationError, match="public_url is an address"):
        Settings(public_url=bad)
