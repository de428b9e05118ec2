from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.service.chat.conftest import FAILED
from tests.service.chat.loopback import wait_until
from tests.service.chat.slack_server import texts
from vllm_triage.service.chat.alert import Alert
from vllm_triage.service.chat.alert_logs import log_path, opened_tail
from vllm_triage.service.chat.interface import ALERTS, BusyError
from vllm_triage.service.chat.letters import pack_alerts, unpack_alerts
from vllm_triage.service.chat.platforms.alertmanager import AlertmanagerSettings
from vllm_triage.service.chat.settings import NotifySettings
from vllm_triage.service.history import HistoryError
from vllm_triage.service.letter import Letter

TOKEN = "alert-token-0123456789"
PATH = "/v1/hooks/alertmanager"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def alert(number: int = 0, *, status: str = "firing", log: str = FAILED, **labels: str) -> dict[str, Any]:
    """Return an alert as Alertmanager writes it."""
    return {
        "status": status,
        "labels": {"alertname": "VLLMDown", "service": "chat", "instance": f"10.0.0.{number}"} | labels,
        "annotations": {"vllm_triage_log": log} if log else {},
        "startsAt": "2026-11-02T09:15:01.000Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example/graph",
        "fingerprint": f"{number:016x}",
    }


def notification(*alerts: dict[str, Any], **fields) -> dict[str, Any]:
    """Return a request of Alertmanager's webhook."""
    return {
        "version": "4",
        "groupKey": '{}:{alertname="VLLMDown"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "triage",
        "groupLabels": {},
        "commonLabels": {},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager.example",
        "alerts": list(alerts),
        **fields,
    }


@pytest.fixture
def service(serve, slack_settings):
    return serve(slack=slack_settings(), alertmanager=AlertmanagerSettings(token=TOKEN))


def send(service, *alerts: dict[str, Any], **fields) -> Any:
    answer = service.client.post(PATH, json=notification(*alerts, **fields), headers=BEARER)
    assert (202, len(alerts)) == (answer.status_code, answer.json()["taken"])
    return service.outcomes()


def counter(service) -> str:
    [shown] = [text for text in texts((service.slack.updated or service.slack.posted)[-1]["blocks"]) if "×* in" in text]
    return shown


def test_an_alert_with_a_log_is_told_with_its_cause(service):
    [result] = send(service, alert())
    assert ("told", "kv_cache_oom") == (result["outcome"], result["bucket"])
    [message] = service.slack.posted
    assert "C9" == message["channel"]
    assert "Alert VLLMDown fires." in texts(message["blocks"])
    assert service.history.incident(result["incident"]).incident.service == "chat"


@pytest.mark.parametrize(("stateless", "alerts"), [(True, 10_000), pytest.param(False, 2_000, marks=pytest.mark.slow)])
def test_thousands_of_alerts_are_one_message_and_a_counter(serve, slack_settings, stateless, alerts):
    """Alike in all but the place, as a fleet that goes down reports them; fewer where each is written to a disk."""
    service = serve(slack=slack_settings(), alertmanager=AlertmanagerSettings(token=TOKEN), stateless=stateless)
    for start in range(0, alerts, 1000):
        send(service, *(alert(number) for number in range(start, start + 1000)))
    assert 1 == len(service.slack.posted)
    assert f"*{alerts:,} ×* in this window" == counter(service)
    assert [] == service.slack.refused


def test_an_alert_that_still_fires_is_no_new_occurrence(service):
    """Alertmanager reports a whole group again whenever it changes."""
    for count in range(1, 11):
        send(service, *(alert(number) for number in range(count)))
    assert 1 == len(service.slack.posted)
    assert "*10 ×* in this window (reported 55 times)" == counter(service)


def test_equal_alerts_are_one_message(service):
    for _ in range(100):
        send(service, alert())
    assert 1 == len(service.slack.posted)
    assert "*1 ×* in this window (reported 100 times)" == counter(service)


def test_the_last_resolved_alert_closes_the_thread_and_the_counter(service):
    send(service, alert(1), alert(2))
    [first] = send(service, alert(1, status="resolved"), status="resolved")
    assert ("resolved", 1) == (first["outcome"], len(service.slack.posted))
    send(service, alert(2, status="resolved"), status="resolved")
    closing = service.slack.posted[1]
    assert ("Resolved after 2 times.", "1700000000.000001") == (closing["text"], closing["thread_ts"])
    assert any("*Resolved*" in text for text in texts(service.slack.updated[-1]["blocks"]))
    send(service, alert(1) | {"startsAt": "2026-11-02T10:00:00.000Z"})
    assert 3 == len(service.slack.posted)


@pytest.mark.parametrize("restarted", [False, True])
def test_what_fires_again_is_told_again_by_any_process_of_the_history(serve, slack_settings, restarted):
    """Firing, resolved, firing: each by another worker, or by one that was started in between."""
    notify = NotifySettings(update_seconds=0, digest_after=1000)
    settings = {"slack": slack_settings(), "alertmanager": AlertmanagerSettings(token=TOKEN)}
    one, other = (serve(notify=notify, **settings) for _ in range(2))
    if restarted:
        one.chat.close()
    again = "2026-11-02T10:00:00.000Z"
    for number in range(10):
        service = f"service-{number}"
        for at, body in enumerate((
            alert(number, service=service), alert(number, status="resolved", service=service),
            alert(number, service=service) | {"startsAt": again},
        )):  # fmt: skip
            sender = other if restarted or at == number % 2 else one
            assert 202 == sender.client.post(PATH, json=notification(body), headers=BEARER).status_code
    for service in (one, other):
        service.settle()
    outcomes = [result["outcome"] for service in (one, other) for result in service.outcomes()]
    assert {"told": 20, "resolved": 10} == Counter(outcomes)
    assert 20 == len([message for message in one.slack.posted if "thread_ts" not in message])


def test_every_alert_counts_in_its_incident_once(serve, slack_settings):
    """Also where one text is answered for many, and another process goes on."""
    one, other = (serve(slack=slack_settings(), alertmanager=AlertmanagerSettings(token=TOKEN)) for _ in range(2))
    results = send(one, *(alert(number, pod=f"pod-{number}") for number in range(120)))
    send(one, *(alert(number, pod=f"pod-{number}") for number in range(120)))
    send(other, *(alert(number, pod=f"pod-{number}") for number in range(100, 150)))
    stored = one.history.incident(results[0]["incident"])
    assert (150, "pod-149") == (stored.incident.occurrences, stored.incident.name)
    assert [f"pod-{number}" for number in range(149, 99, -1)] == [one.name for one in stored.occurrences]


def test_an_unknown_alert_may_be_resolved(service):
    [result] = send(service, alert(status="resolved"), status="resolved")
    assert "unknown" == result["outcome"]
    assert [] == service.slack.messages


def test_an_alert_without_log_points_to_the_latest_incident_of_its_service(service):
    _, incident = service.chat.context.triage(FAILED.encode(), service="chat")
    [result] = send(service, alert(log=""))
    assert (incident.id, "told") == (result["incident"], result["outcome"])
    assert any("It brought no log" in text for text in texts(service.slack.posted[0]["blocks"]))


def test_an_alert_without_log_and_without_history_says_so(service):
    [result] = send(service, alert(log="", service="other"))
    assert {"alert": "0" * 16, "outcome": "no_log", "incidents": []} == result
    assert [] == service.slack.messages


def test_a_log_without_failure_is_not_told(service):
    [result] = send(service, alert(log="INFO:     Application startup complete.\n"))
    assert "no_failure" == result["outcome"]
    assert [] == service.slack.messages


def test_a_log_that_is_none_is_unreadable(service):
    [result] = send(service, alert(log="\0" * 5000))
    assert "unreadable" == result["outcome"]


def test_a_log_file_is_found_by_labels_and_its_end_is_read(serve, slack_settings, tmp_path):
    root = tmp_path / "logs"
    (root / "prod").mkdir(parents=True)
    (root / "prod" / "vllm-0.log").write_text("INFO: words before\n" * 1000 + FAILED)
    service = serve(
        slack=slack_settings(), alertmanager=AlertmanagerSettings(token=TOKEN, log_root=root, log_bytes=500)
    )
    [result] = send(service, alert(log="", namespace="prod", pod="vllm-0"))
    assert ("told", "kv_cache_oom") == (result["outcome"], result["bucket"])
    assert service.history.incident(result["incident"]).report.input.bytes <= 500


def test_files_outside_the_folder_are_refused(tmp_path):
    """By dots, by slashes, by links, by what is no file."""
    root = tmp_path / "logs"
    (root / "a").mkdir(parents=True)
    outside = tmp_path / "outside.log"
    outside.write_text(FAILED)
    (root / "a" / "link.log").symlink_to(outside)
    (root / "away").symlink_to(tmp_path)
    (root / "a" / "inner.log").write_text(FAILED)
    (root / "a" / "near.log").symlink_to(root / "a" / "inner.log")
    settings = AlertmanagerSettings(token=TOKEN, log_root=root)
    for namespace, pod in (
        ("a", "link"), ("away", "outside"), ("..", "outside"), ("a", "../../outside"), ("a/..", "x"), ("", "inner"),
        ("a", ""), ("a", "/etc/passwd"), ("a", "absent"), ("a", ".."), ("a", "inner\0"), ("a", "in\nner"), ("~", "x"),
    ):  # fmt: skip
        assert log_path({"namespace": namespace, "pod": pod}, settings) is None
    assert root / "a" / "inner.log" == log_path({"namespace": "a", "pod": "inner"}, settings)
    assert root / "a" / "inner.log" == log_path({"namespace": "a", "pod": "near"}, settings)


@given(st.text(), st.text())
def test_no_label_leads_out_of_the_folder(namespace, pod):
    root = Path(__file__).parent
    settings = AlertmanagerSettings(token=TOKEN, log_root=root, log_template="{namespace}/{pod}")
    found = log_path({"namespace": namespace, "pod": pod}, settings)
    assert found is None or found.is_relative_to(root.resolve())


def test_a_pipe_in_the_place_of_a_log_is_refused(tmp_path):
    """It would hold the request for ever."""
    os.mkfifo(tmp_path / "pipe.log")
    with pytest.raises(OSError, match="regular"), opened_tail(tmp_path / "pipe.log", 10):
        pass


def test_the_end_of_a_file_begins_with_a_whole_line(tmp_path):
    (tmp_path / "x.log").write_text("first line\nsecond line\nthird\n")
    with opened_tail(tmp_path / "x.log", 10) as tail:
        assert b"third\n" == tail.read()


@pytest.mark.parametrize(
    ("fields", "headers", "status"),
    [
        ({"token": TOKEN}, BEARER, 202),
        ({"token": TOKEN}, {"X-API-Key": TOKEN}, 202),
        ({"token": TOKEN}, {}, 401),
        ({"token": TOKEN}, {"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"token": TOKEN}, {"Authorization": "Bearer"}, 401),
        ({"token": TOKEN}, {"Authorization": "Basic " + base64.b64encode(f"x:{TOKEN}".encode()).decode()}, 401),
        (
            {"username": "am", "password": "p:w"},
            {"Authorization": "Basic " + base64.b64encode(b"am:p:w").decode()},
            202,
        ),
        ({"username": "am", "password": "p:w"}, {"Authorization": "Basic " + base64.b64encode(b"am:no").decode()}, 401),
        ({"username": "am", "password": "p:w"}, {"Authorization": "Basic \xff"}, 401),
        ({"username": "am", "password": "p:w"}, {"Authorization": "Bearer "}, 401),
        ({"anonymous": True}, {}, 202),
    ],
)
def test_who_may_post_alerts(serve, fields, headers, status):
    service = serve(alertmanager=AlertmanagerSettings(**fields))
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    assert status == service.client.post(PATH, json=notification(), headers=raw).status_code


@pytest.mark.parametrize("fields", [{}, {"username": "am"}, {"token": TOKEN, "log_template": "{a.b}"}, {"token": TOKEN, "log_template": "{}"}])  # fmt: skip
def test_settings_that_leave_the_door_open_are_refused(fields):
    with pytest.raises(ValidationError):
        AlertmanagerSettings(**fields)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10))  # fmt: skip
def test_whatever_is_posted_is_understood_or_refused(value):
    from vllm_triage.service.chat.alert_receiver import Notification

    for body in (value, notification(alerts=value)):
        try:
            Notification.model_validate_json(json.dumps(body))
        except ValidationError:
            continue


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[]", json.dumps(notification(version="3")).encode()])
def test_what_is_no_notification_is_refused(service, body):
    assert 422 == service.client.post(PATH, content=body, headers=BEARER).status_code


def test_alerts_that_cannot_be_worked_off_now_are_worked_off_later(service):
    """They are taken all the same, and wait; what is tried again is not taken for known."""
    triage, tries = service.chat.context.triage, []

    def busy(*words: Any, **options: Any) -> Any:
        tries.append(words)
        if len(tries) < 3:
            raise BusyError
        return triage(*words, **options)

    service.chat.context.triage = busy
    assert ["told"] == [result["outcome"] for result in send(service, alert())]
    assert (3, 1) == (len(tries), len(service.slack.posted))


def test_an_alert_is_not_done_with_before_its_incident_is_in_the_history(service):
    """Answers are not recorded for a moment after the history has come back; what was taken is not lost in it."""
    record, tries = service.chat.context.record, []

    def unrecorded(*words: Any) -> Any:
        tries.append(words)
        return record(*words) if len(tries) > 2 else None

    service.chat.context.record = unrecorded
    [result] = send(service, alert())
    assert (3, "told", True) == (len(tries), result["outcome"], bool(service.history.incident(result["incident"])))


def test_what_cannot_be_kept_is_to_be_sent_again(service):
    """The history is away: nothing was taken, and Alertmanager is told so."""
    service.history.close()
    service.chat.context.take_in = lambda _: (_ for _ in ()).throw(HistoryError("away"))
    refused = service.client.post(PATH, json=notification(alert()), headers=BEARER)
    assert (503, "5") == (refused.status_code, refused.headers["retry-after"])


def test_no_alert_is_left_out_however_many_there_are(serve):
    """What Alertmanager itself left out is told."""
    service = serve(alertmanager=AlertmanagerSettings(token=TOKEN))
    body = notification(*(alert(n) for n in range(1203)), truncatedAlerts=4)
    answer = service.client.post(PATH, json=body, headers=BEARER).json()
    assert {"taken": 1203, "left_out_by_alertmanager": 4} == answer
    assert 1203 == len(service.outcomes())


def test_alerts_are_acknowledged_before_they_are_worked_off(service):
    """The answer does not wait for the log to be read."""
    release = threading.Event()
    triage = service.chat.context.triage

    def slow(*words: Any, **options: Any) -> Any:
        assert release.wait(60)
        return triage(*words, **options)

    service.chat.context.triage = slow
    answers = [service.client.post(PATH, json=notification(alert(n)), headers=BEARER).status_code for n in range(3)]
    waiting = service.chat.figures.waiting
    release.set()
    assert [202] * 3 == answers
    assert waiting >= 2
    assert ["told"] * 3 == [result["outcome"] for result in service.outcomes()]


@pytest.mark.slow
def test_many_different_incidents_are_some_messages_and_a_digest(serve, slack_settings):
    """The first ones each, what is beyond in one; none is left out."""
    notify = NotifySettings(update_seconds=0, backoff_seconds=0.001, digest_after=3, digest_seconds=2)
    service = serve(slack=slack_settings(), alertmanager=AlertmanagerSettings(token=TOKEN), notify=notify)
    send(service, *(alert(n, service=f"service-{n:03d}") for n in range(120)))
    heads = [message["blocks"][0]["text"]["text"] for message in service.slack.posted]
    digests = [head for head in heads if head.endswith("more incidents")]
    told = sum(int(head.split()[0]) for head in digests) + len(heads) - len(digests)
    assert 120 == told
    assert len(heads) <= 3 * len(digests) + 3
    assert [] == service.slack.refused


def test_what_ends_within_the_same_letter_was_noted_before(service):
    """Worked off together, an alert that fires and is over again is told, and does not fire for ever."""
    results = send(service, alert(1), alert(1, status="resolved"))
    assert ["told", "resolved"] == [result["outcome"] for result in results]


def test_a_letter_that_cannot_be_read_keeps_no_other_from_being_worked_off(service):
    """Letters are worked off together; one of them is broken."""
    good = list(pack_alerts([Alert.model_validate(alert(n, service=f"s{n}")) for n in range(3)]))
    service.history.outbox.put([Letter(ALERTS, "bad", b"no letter"), Letter(ALERTS, "good", good[0])])
    service.chat._alerts._lane.wake()
    wait_until(lambda: len(service.slack.posted) == 3)
    # A message's letter is taken out after it was posted.
    outbox = service.history.outbox
    wait_until(lambda: [(lane.lane, lane.waiting) for lane in outbox.figures()] == [(ALERTS, 1)])
    service.history.outbox.give_up([1], "test")


def test_while_the_history_is_away_alerts_wait_and_nobody_is_told(service, monkeypatch):
    """What a process told out of its own memory would have no window and no digest: messages by the hundred."""
    monkeypatch.setattr("vllm_triage.service.chat.lanes.LENT", 0.1)
    away, tried = threading.Event(), threading.Event()
    away.set()
    once_each = service.history.once_each

    def gone(*words, **options):
        if away.is_set():
            tried.set()
            raise HistoryError("history: the disk is full", "the disk is full")
        return once_each(*words, **options)

    monkeypatch.setattr(service.history, "once_each", gone)
    monkeypatch.setattr("vllm_triage.service.chat.lanes.LOOK", 0.05)
    alerts = [alert(n, service=f"service-{n}") for n in range(5)]
    assert 202 == service.client.post(PATH, json=notification(*alerts), headers=BEARER).status_code
    wait_until(lambda: tried.is_set() and not service.chat._alerts.busy)
    waiting, told = service.history.outbox.waits(ALERTS), list(service.slack.posted)
    away.clear()
    wait_until(lambda: len(service.slack.posted) == 5)
    assert (True, []) == (waiting, told)


def test_letters_keep_a_text_once_and_those_of_an_earlier_release_are_read():
    alerts = [Alert.model_validate(alert(n, log="x" * 10_000, pod=f"pod-{n}")) for n in range(60)]
    bodies = list(pack_alerts(alerts))
    assert alerts == [one for body in bodies for one in unpack_alerts(body)]
    assert len(zlib.decompress(bodies[0])) < 40_000
    old = zlib.compress(json.dumps([one.model_dump(by_alias=True) for one in alerts]).encode())
    assert alerts == unpack_alerts(old)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.mark.slow
def test_the_real_alertmanager_reaches_us(serve, slack_settings, tmp_path, port):
    """Alerts are posted to Alertmanager's own API; it groups them and calls our hook with its credentials."""
    binary = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if binary is None:
        pytest.skip("Alertmanager is not installed")
    import uvicorn

    service = serve(slack=slack_settings(), alertmanager=AlertmanagerSettings(token=TOKEN))
    config = uvicorn.Config(service.client.app, host="127.0.0.1", port=0, log_level="error")
    server = uvicorn.Server(config)
    listener = config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    (tmp_path / "am.yml").write_text(
        f"""
route:
  receiver: triage
  group_by: [alertname]
  group_wait: 100ms
  group_interval: 200ms
receivers:
  - name: triage
    webhook_configs:
      - url: http://127.0.0.1:{listener.getsockname()[1]}{PATH}
        send_resolved: true
        http_config:
          authorization:
            credentials: {TOKEN}
"""
    )
    api = f"http://127.0.0.1:{port}/api/v2/alerts"
    manager = subprocess.Popen(
        [binary, f"--config.file={tmp_path / 'am.yml'}", f"--storage.path={tmp_path / 'am'}",
         f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def post(alerts: list[dict[str, Any]]) -> None:
        request = urllib.request.Request(api, json.dumps(alerts).encode(), {"Content-Type": "application/json"})
        deadline = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(request, timeout=5).close()
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            else:
                return

    alerts = [
        {"labels": alert(n)["labels"], "annotations": {"vllm_triage_log": FAILED}, "startsAt": "2026-11-02T09:15:01Z"}
        for n in range(20)
    ]
    try:
        post(alerts)
        wait_until(lambda: bool(service.slack.posted))
        wait_until(lambda: any("*20 ×*" in text for m in service.slack.messages for text in texts(m["blocks"])))
        assert 1 == len(service.slack.posted)
        post([one | {"endsAt": "2026-11-02T09:16:00Z"} for one in alerts])
        wait_until(lambda: len(service.slack.posted) == 2)
        assert "Resolved after 20 times." == service.slack.posted[1]["text"]
    finally:
        manager.terminate()
        manager.wait()
        server.should_exit = True
        thread.join()
        listener.close()
    assert [] == service.slack.refused
