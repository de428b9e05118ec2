from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
import json
import shutil
import ssl
import subprocess
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.service.chat.loopback import Loopback, Reply
from tests.service.samples import failure
from vllm_triage.classifier.report.model import Filtered
from vllm_triage.service.chat.http_out import is_public, retry_after
from vllm_triage.service.chat.interface import Event, RetryError, UndeliverableError
from vllm_triage.service.chat.platforms.webhooks import WebhookSettings, WebhookTarget

REPORT = failure().report
KEYS = [bytes(range(24)), bytes(range(1, 33))]
SECRETS = ["whsec_" + base64.b64encode(key).decode() for key in KEYS]
EVENT = Event(REPORT, service="chat", link="https://triage.example/incidents/inc_1", recurrence=3, id="msg_1", key="k")


@pytest.fixture
def receiver():
    with Loopback() as server:
        yield server


def target(url: str, **fields) -> WebhookTarget:
    return WebhookTarget(WebhookSettings(url=url, secrets=SECRETS, **fields))


def test_an_event_is_posted_as_versioned_json(receiver):
    target(f"{receiver.url}/hook?x=1").send(EVENT)
    [call] = receiver.calls
    assert ("POST", "/hook?x=1", "application/json") == (call.method, call.path, call.headers["content-type"])
    body = json.loads(call.body)
    assert {"version", "event", "id", "incident", "report", "evidence", "recurrence", "link"} == set(body)
    assert ("1", "incident", "msg_1", None, 3, EVENT.link) == tuple(
        body[name] for name in ("version", "event", "id", "incident", "recurrence", "link")
    )
    assert json.loads(REPORT.to_json()) == body["report"]


def test_every_secret_signs_by_the_standard(receiver):
    """A receiver that knows the old or the new secret finds a signature of its own."""
    target(receiver.url).send(EVENT)
    [call] = receiver.calls
    signed = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode() + call.body
    expected = ["v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode() for key in KEYS]
    assert expected == call.headers["webhook-signature"].split(" ")
    assert "msg_1" == call.headers["idempotency-key"]
    assert 60 > abs(time.time() - int(call.headers["webhook-timestamp"]))


def test_the_example_of_the_standard_is_signed_as_it_says():
    """The vector of the specification's own libraries."""
    from vllm_triage.service.chat.platforms.webhooks import signatures

    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    told = signatures([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" == told


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(receiver, status):
    receiver.planned.append(Reply(status, headers={"Retry-After": "7"}))
    with pytest.raises(RetryError, match=str(status)) as raised:
        target(receiver.url).send(EVENT)
    assert 7 == raised.value.after


def test_a_connection_that_breaks_is_tried_again(receiver):
    receiver.planned.append(None)
    with pytest.raises(RetryError):
        target(receiver.url).send(EVENT)


def test_nobody_listening_is_tried_again():
    with Loopback() as gone:
        url = gone.url
    with pytest.raises(RetryError):
        target(url).send(EVENT)


@pytest.mark.parametrize("status", [400, 401, 404, 410])
def test_a_refusal_is_final(receiver, status):
    receiver.planned.append(Reply(status))
    with pytest.raises(UndeliverableError):
        target(receiver.url).send(EVENT)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(receiver, status):
    """What is meant for one address must not be led to another, within the network or without."""
    receiver.planned.append(Reply(status, headers={"Location": f"{receiver.url}/elsewhere"}))
    with pytest.raises(UndeliverableError):
        target(receiver.url).send(EVENT)
    assert 1 == len(receiver.calls)


def test_an_answer_that_never_ends_is_cut_off():
    """The time limit is for the whole exchange, not for each byte."""
    import socket
    import threading

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while True:
                    try:
                        connection.sendall(b"X-Slow: 1\r\n")
                    except OSError:
                        return
                    if stop.wait(0.05):
                        return

        stop = threading.Event()
        thread = threading.Thread(target=drip)
        thread.start()
        with pytest.raises(RetryError):
            target(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout_seconds=0.3).send(EVENT)
        stop.set()
        thread.join()


def test_private_addresses_can_be_forbidden(receiver):
    """By the address that is connected to, whatever the name says."""
    for host in ("127.0.0.1", "localhost"):
        url = receiver.url.replace("127.0.0.1", host)
        with pytest.raises(UndeliverableError, match="private address"):
            target(url, forbid_private=True).send(EVENT)
    assert [] == receiver.calls


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_addresses_are_told_from_others(address, public):
    assert public == is_public(address)


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "ftp://a.example/"},
        {"url": "file:///etc/passwd"},
        {"url": "javascript:alert(1)"},
        {"url": "https://user:secret@a.example/"},
        {"secrets": []},
        {"secrets": ["whsec_c2hvcnQ="]},
        {"secrets": ["not base64!"]},
        {"filter": {}},
    ],
)
def test_settings_that_are_no_use_are_refused_without_being_repeated(fields):
    with pytest.raises(ValidationError) as refused:
        WebhookSettings(**{"url": "https://a.example/", "secrets": SECRETS, **fields})
    assert "secret@" not in str(refused.value)
    assert "c2hvcnQ" not in str(refused.value)


@given(st.integers(0, 10**8))
def test_retry_after_in_seconds(seconds):
    assert seconds == retry_after(str(seconds))


@given(st.integers(-1000, 10**6))
def test_retry_after_as_a_date(seconds):
    now = datetime(2026, 11, 2, tzinfo=UTC)
    assert max(0, seconds) == retry_after(format_datetime(now + timedelta(seconds=seconds), usegmt=True), lambda: now)


@given(st.text())
def test_retry_after_may_be_anything(value):
    told = retry_after(value)
    assert told is None or told >= 0


def test_a_target_is_named_by_its_host_not_by_its_path():
    """Paths of such addresses are often secrets."""
    assert "hooks.example" == target("https://hooks.example/services/T0/B0/secret").name


def test_a_stored_incident_is_told_as_the_api_tells_it(serve, receiver):
    service = serve(webhooks=[WebhookSettings(url=receiver.url, secrets=SECRETS)])
    for _ in range(3):
        report, incident = service.chat.context.triage(
            b"ValueError: No available memory for the cache blocks.", service="chat"
        )
        service.chat.notify(report, incident, service="chat")
        service.settle()
    [call] = receiver.calls
    body = json.loads(call.body)
    assert {"id", "fingerprint", "occurrences", "first_seen", "last_seen", "service", "new", "url"} == set(
        body["incident"]
    )
    assert ("chat", True, 1) == tuple(body["incident"][name] for name in ("service", "new", "occurrences"))
    assert body["link"] == f"https://triage.example{body['incident']['url']}"


def test_what_is_no_failure_or_is_ignored_is_not_told(serve, receiver):
    service = serve(webhooks=[WebhookSettings(url=receiver.url, secrets=SECRETS)])
    report, incident = service.chat.context.triage(b"INFO:     Application startup complete.\n")
    assert "no_failure" == report.bucket
    service.chat.notify(report, incident)
    service.chat.notify(dataclasses.replace(REPORT, filtered=Filtered(by="ignore", ids=("kv_cache_oom",))), None)
    service.settle()
    assert [] == receiver.calls


@pytest.mark.parametrize("trusted", [True, False])
def test_certificates_are_checked(tmp_path, monkeypatch, trusted):
    """Signed or not, a report goes to nobody who only claims to be the target."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=loopback", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Loopback(tls=context) as receiver:
        if trusted:
            target(receiver.url).send(EVENT)
        else:
            with pytest.raises(RetryError, match="SSLCertVerificationError"):
                target(receiver.url).send(EVENT)
        assert int(trusted) == len(receiver.calls)
