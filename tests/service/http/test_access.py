"""Who may do what: keys, scopes, pages of other sites, names of the host."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.service.http.conftest import LOG, PATIENCE, eventually
from vllm_triage.service.cli.main import main
from vllm_triage.service.http.keys import Scope, find_key, make_key, read_key
from vllm_triage.service.http.settings import Settings

KEYS = {name: make_key(name, [name]) for name in Scope}
LINES = tuple(line for _, line in KEYS.values())


def with_key(name: str) -> dict[str, str]:
    """Return the header that brings a key."""
    return {"Authorization": f"Bearer {KEYS[Scope(name)][0]}"}


class OnSocket:
    """A service on a Unix socket."""

    def __init__(self, path: Path) -> None:
        self.path = path
        words = ["serve", "--socket", str(path), "--database", "none"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vllm_triage.service", *words], stderr=subprocess.PIPE, text=True
        )

    def errors(self) -> str:
        """Return what it wrote, once it has ended."""
        return self.process.communicate()[1]

    def post(self, log: bytes) -> bytes:
        """Post a log as soon as it listens; return the whole answer."""
        end = time.monotonic() + PATIENCE
        while True:
            with socket.socket(socket.AF_UNIX) as one:
                if not one.connect_ex(str(self.path)):
                    head = f"POST /v1/triage HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(log)}\r\nConnection: close\r\n\r\n"
                    one.sendall(head.encode() + log)
                    return b"".join(iter(lambda: one.recv(65536), b""))
            assert self.process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.fixture
def serve_socket(tmp_path) -> Iterator[Callable[..., OnSocket]]:
    """Start services on a socket."""
    started: list[OnSocket] = []

    def start(path: Path = tmp_path / "triage.sock") -> OnSocket:
        started.append(OnSocket(path))
        if len(started) == 1:
            started[0].post(LOG)
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        if one.process.stderr is not None:
            one.process.stderr.close()


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("POST", "/v1/triage", "triage"),
        ("POST", "/v1/triage/stream", "triage"),
        ("POST", "/v1/triage/batch", "triage"),
        ("POST", "/v1/plan", "triage"),
        ("GET", "/v1/buckets", "triage"),
        ("GET", "/v1/buckets/kv_cache_oom", "triage"),
        ("GET", "/v1/rules", "triage"),
        ("GET", "/v1/incidents", "read"),
        ("GET", "/v1/incidents/stats", "read"),
        ("GET", "/v1/messages", "read"),
        ("GET", "/v1/incidents/inc_1", "read"),
        ("DELETE", "/v1/incidents/inc_1", "admin"),
        ("POST", "/v1/feedback", "feedback"),
        ("GET", "/v1/feedback/export", "admin"),
    ],
)
def test_every_endpoint_asks_for_its_scope(service, method, path, needed):
    """Without a key, with a strange one, with one of another scope, with the right one, with an admin's."""
    client = service(api_keys=LINES)

    def status(headers: dict[str, str]) -> int:
        return int(client.request(method, path, headers=headers).status_code)

    other = next(name for name in ("read", "triage") if name != needed)
    assert [401, 401, 401, 403] == [
        status({}), status({"Authorization": "Bearer vtk_strange"}), status({"Authorization": "Basic abc"}), status(with_key(other)),
    ]  # fmt: skip
    assert status(with_key(needed)) not in (401, 403)
    assert status(with_key("admin")) not in (401, 403)
    assert status({"X-API-Key": KEYS[Scope(needed)][0]}) not in (401, 403)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"])
def test_probes_and_reference_need_no_key(service, path):
    """Whoever runs the service needs them before there are keys."""
    assert service(api_keys=LINES).get(path).status_code == 200


def test_every_route_below_v1_asks_for_a_key(service):
    """Also those that are added later."""
    client = service(api_keys=LINES)
    for path, item in client.get("/openapi.json").json()["paths"].items():
        for method in item:
            answer = client.request(method, path.replace("{id}", "x"))
            assert (path.startswith("/v1/"), path) == (answer.status_code == 401, path)


def test_a_key_is_kept_as_a_hash_and_found_by_itself():
    """The line does not tell the key; no other text finds it."""
    key, line = make_key("ci", ["triage", "read"])
    kept = read_key(line)

    assert key not in line
    assert ("ci", {Scope.TRIAGE, Scope.READ}) == (kept.name, set(kept.scopes))
    assert kept == find_key([read_key(LINES[0]), kept], key)
    assert find_key([kept], key[:-1]) is None
    assert find_key([kept], kept.digest) is None
    assert len({make_key("ci", ["triage"])[0] for _ in range(50)}) == 50


@given(
    st.text(
        min_size=12, max_size=80, alphabet=st.characters(exclude_characters=":+", exclude_categories=["Cs", "Z", "C"])
    )
)
def test_a_line_that_is_none_is_not_repeated(text):
    """It may be the key itself, put in the wrong place."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - what it says is what is tested
        read_key(f"ci:triage:{text}")

    assert text not in str(caught.value)


def test_a_key_in_place_of_its_line_is_refused_without_being_shown():
    """Neither the message nor the error's input has it."""
    key, _ = make_key("ci", ["triage"])
    with pytest.raises(ValidationError) as caught:
        Settings(database="none", api_keys=(f"ci:triage:{key}",))

    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "needs"),
    [
        ({}, False),
        ({"host": "::1"}, False),
        ({"host": "localhost"}, False),
        ({"api_keys": LINES}, True),
        ({"host": "0.0.0.0", "api_keys": LINES}, True),
        ({"host": "0.0.0.0", "require_key": "no"}, False),
        ({"require_key": "yes", "api_keys": LINES}, True),
    ],
)
def test_a_key_is_needed_where_others_reach_the_port(settings, needs):
    """And wherever keys are set: a proxy may stand before this machine's own address."""
    assert needs == Settings(database="none", **settings).needs_key


@pytest.mark.parametrize("settings", [{"host": "0.0.0.0"}, {"host": "example.org"}, {"require_key": "yes"}])
def test_an_open_port_without_keys_is_refused(settings):
    """Unless somebody says so."""
    with pytest.raises(ValidationError, match="needs API keys"):
        Settings(database="none", **settings)


def test_the_command_makes_keys(capsys):
    """The key once, and the line for the settings."""
    assert main(["serve", "--make-key", "ci", "--scope", "triage", "--scope", "read"]) == 0
    key, line = (row.split()[-1] for row in capsys.readouterr().out.splitlines())
    assert find_key([read_key(line)], key) is not None
    assert main(["serve", "--make-key", "no such name!"]) == 2


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("localhost:8501", 200), ("127.0.0.1", 200), ("[::1]:8501", 200), ("LOCALHOST", 200),
        ("evil.example", 421), ("localhost.evil.example", 421), ("", 421), ("127.0.0.1.nip.io:80", 421),
    ],
)  # fmt: skip
def test_without_keys_only_local_names_are_answered(service, host, status):
    """A stranger's name that points to this machine does not open it to pages in a browser (DNS rebinding)."""
    assert service().get("/v1/buckets", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"X-Forwarded-For": "203.0.113.9"}, 403),
        ({"X-Forwarded-For": "127.0.0.1, 203.0.113.9"}, 403),
        ({"X-Forwarded-For": "127.0.0.1, 127.0.0.1:4711, [::1]:80"}, 200),
        ({"Forwarded": 'for="[2001:db8::1]:4711";proto=https'}, 403),
        ({"Forwarded": "for=127.0.0.1;by=127.0.0.1"}, 200),
        ({"Forwarded": "for=_hidden"}, 403),
        ({"X-Real-IP": "203.0.113.9"}, 403),
        ({"Via": "1.1 proxy"}, 403),
        ({"CF-Connecting-IP": "2001:db8::1"}, 403),
    ],
)
def test_without_keys_nobody_is_answered_whom_a_proxy_brings(service, headers, status):
    """All routes with something to lose; whoever wants it so says require_key = no, or sets keys."""
    client = service(database="")
    answers = [
        client.get("/v1/incidents", headers=headers), client.get("/v1/feedback/export", headers=headers),
        client.post("/v1/triage", content=LOG, headers=headers), client.get("/v1/messages", headers=headers),
    ]  # fmt: skip

    assert {status} == {answer.status_code for answer in answers}
    assert 200 == service(require_key="no").post("/v1/triage", content=LOG, headers=headers).status_code
    assert 200 == service(api_keys=LINES).get("/v1/buckets", headers=headers | with_key("triage")).status_code


@pytest.mark.skipif(sys.platform == "win32", reason="Unix sockets")
def test_a_unix_socket_is_for_its_owner(serve_socket):
    """Mode 0600; answers without a key; what an earlier service left is taken away, a running one is not."""
    first = serve_socket()
    assert stat.S_ISSOCK(first.path.stat().st_mode)
    assert 0o600 == stat.S_IMODE(first.path.stat().st_mode)
    assert b'"bucket":"kv_cache_oom"' in first.post(LOG)
    second = serve_socket(first.path)
    assert (2, True) == (second.process.wait(60), "another service listens there" in second.errors())
    first.process.kill()
    first.process.wait()
    assert b'"bucket":"kv_cache_oom"' in serve_socket(first.path).post(LOG)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_link_that_is_printed_holds_the_key(serve, workers):
    """Made at the start, known to all workers, in no log; without it nothing is answered."""
    server = serve("--workers", workers, require_key="link")
    eventually(lambda: any("#key=" in line for line in server.lines))
    [link] = [line.split()[1] for line in server.lines if "#key=" in line]
    address, _, key = link.partition("/#key=")

    assert (server.url, True) == (address, key.startswith("vtk_"))
    assert 401 == server.get("/v1/incidents").status_code
    for _ in range(6):
        assert 200 == server.get("/v1/buckets", headers={"Authorization": f"Bearer {key}"}).status_code
    server.stop()
    assert 1 == sum(key in line for line in server.lines)


def test_names_may_be_set(service):
    """And with keys, all are answered."""
    assert (
        service(allowed_hosts=("triage.example",)).get("/healthz", headers={"Host": "triage.example"}).status_code
        == 200
    )
    assert service(public_url="https://t.example").get("/healthz", headers={"Host": "t.example"}).status_code == 200
    assert service(api_keys=LINES).get("/healthz", headers={"Host": "any.example"}).status_code == 200


def test_pages_of_other_sites_may_not_post(service):
    """A browser sends such a request without asking; only pages of our own, and origins that are named, may."""
    client = service(cors_origins=("https://grafana.example",))

    def status(origin: str) -> int:
        return int(client.post("/v1/triage", content=LOG, headers={"Origin": origin}).status_code)

    assert [403, 403, 200, 200] == [
        status("https://evil.example"), status("null"), status("http://localhost"), status("https://grafana.example"),
    ]  # fmt: skip


def test_cors_is_off_unless_set(service):
    """No header lets a page of another site read an answer."""
    ask = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}

    assert "access-control-allow-origin" not in service().get("/v1/buckets", headers=ask).headers
    allowed = service(cors_origins=("https://a.example",)).options("/v1/triage", headers=ask)
    assert (200, "https://a.example") == (allowed.status_code, allowed.headers["access-control-allow-origin"])


def test_answers_protect_themselves(client):
    """No sniffing, no frame, no script, no cache, no name of the server."""
    headers = client.get("/v1/buckets").headers

    assert ("nosniff", "DENY", "no-store", "no-referrer") == (
        headers["x-content-type-options"], headers["x-frame-options"], headers["cache-control"], headers["referrer-policy"],
    )  # fmt: skip
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers
