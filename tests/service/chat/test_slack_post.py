from __future__ import annotations

import json

import pytest

from tests.service.chat.loopback import Reply
from tests.service.chat.slack_server import TOKEN, FakeSlack, texts
from tests.service.samples import failure
from vllm_triage.service.chat.interface import BusyError, Event, RetryError, UndeliverableError
from vllm_triage.service.chat.slack_post import Slack, SlackTarget

EVENT = Event(failure().report, key="incident:a", id="msg_1", service="chat")


@pytest.fixture
def target(slack_settings) -> SlackTarget:
    settings = slack_settings()
    return SlackTarget(settings, Slack(settings))


@pytest.mark.parametrize(
    ("reply", "reason", "after"),
    [
        (Reply(429, b'{"ok":false,"error":"ratelimited"}', {"Retry-After": "7"}), "ratelimited", 7),
        (Reply(503, b"upstream is away"), "status 503", None),
        (Reply(200, b'{"ok":false,"error":"internal_error"}'), "internal_error", None),
        (None, "RemoteDisconnected", None),
    ],
)
def test_what_may_pass_is_tried_again(target, slack: FakeSlack, reply, reason, after):
    slack.planned.append(reply)
    with pytest.raises(RetryError, match=reason) as raised:
        target.send(EVENT)
    assert after == raised.value.after
    target.send(EVENT)
    assert 1 == len(slack.posted)


@pytest.mark.parametrize("word", ["channel_not_found", "invalid_auth", "not_in_channel"])
def test_a_refusal_is_final_and_named(target, slack: FakeSlack, word):
    slack.planned.append(Reply(200, json.dumps({"ok": False, "error": word}).encode()))
    with pytest.raises(UndeliverableError, match=word):
        target.send(EVENT)


def test_errors_quote_nothing_of_what_was_sent(target, slack: FakeSlack):
    slack.planned.append(Reply(400, b"<html>" + TOKEN.encode()))
    with pytest.raises(UndeliverableError) as raised:
        target.send(EVENT)
    assert "status 400" == str(raised.value)


def test_a_verdict_survives_the_next_update_of_the_counter(serve, slack_settings, slack: FakeSlack):
    service = serve(slack=slack_settings())

    def tell() -> None:
        report, incident = service.chat.context.triage(b"ValueError: No available memory for the cache blocks.")
        service.chat.notify(report, incident)
        service.settle()

    tell()
    button = slack.posted[0]["blocks"][-1]["elements"][0]
    service.click(
        {"type": "button", "action_id": button["action_id"], "value": button["value"]},
        channel_id="C9",
        message_ts="1700000000.000001",
    )
    service.settle()
    tell()
    shown = texts(slack.updated[-1]["blocks"])
    assert any("*2 ×*" in text for text in shown)
    assert any("Right, says <@U7>" in text for text in shown)


def test_an_answer_is_tried_again_while_a_person_waits(serve, slack_settings, slack: FakeSlack):
    service = serve(slack=slack_settings())
    slack.planned.extend([Reply(503), Reply(429, b'{"ok":false,"error":"ratelimited"}', {"Retry-After": "0"})])
    service.event(
        {"type": "app_mention", "ts": "1.1", "text": "<@U1> ValueError: No available memory for the cache blocks."}
    )
    service.settle()
    assert 1 == len(slack.posted)


def test_a_response_url_is_tried_again(serve, slack_settings, slack: FakeSlack):
    service = serve(slack=slack_settings())
    slack.planned.append(Reply(500))
    service.command("ValueError: No available memory for the cache blocks.")
    service.settle()
    assert 1 == len(slack.responded)


def test_a_service_that_has_too_much_to_do_says_so(serve, slack_settings, slack: FakeSlack):
    service = serve(slack=slack_settings())

    def busy(*_: object, **__: object) -> None:
        raise BusyError

    service.chat.context.triage = busy
    service.command("ValueError: x")
    service.event({"type": "app_mention", "ts": "1.1", "text": "<@U1> ValueError: x"})
    service.settle()
    assert ["Too much to do right now: please try again in a minute."] * 2 == [
        message["text"] for message in slack.messages
    ]
