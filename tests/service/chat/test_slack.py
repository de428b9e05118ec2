from __future__ import annotations

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.signature import SignatureVerifier

from tests.service.chat.conftest import FAILED, Service, command_body, event_body
from tests.service.chat.slack_server import SECRET, sign, texts
from vllm_triage.service.chat.settings import NotifySettings

MENTION = {"type": "app_mention", "ts": "1700.1", "text": f"<@UBOT> ```{FAILED}```"}


def test_a_slash_command_is_acknowledged_and_answered_through_its_response_url(service: Service):
    """What Slack gets at once is a word; the report follows."""
    acknowledged = service.command(f"```{FAILED}```")
    service.settle()
    assert (200, "Reading the log …") == (acknowledged.status_code, acknowledged.json()["text"])
    [answer] = service.slack.responded
    assert "ephemeral" == answer["response_type"]
    assert "kv_cache_oom" in json.dumps(answer["blocks"])
    assert [] == service.slack.refused


def test_a_slash_command_without_a_log_says_how_to_use_it(service: Service):
    acknowledged = service.command("  ")
    assert "Paste a vLLM log" in acknowledged.json()["text"]
    assert [] == service.slack.responded


def test_a_mention_is_answered_in_its_thread(service: Service):
    assert 200 == service.event(MENTION).status_code
    service.settle()
    [answer] = service.slack.posted
    assert ("C1", "1700.1", False, False) == (
        answer["channel"],
        answer["thread_ts"],
        answer["unfurl_links"],
        answer["unfurl_media"],
    )
    assert "No available memory for the cache blocks" in json.dumps(answer["blocks"])


@pytest.mark.parametrize(
    "event",
    [
        {"channel_type": "channel"},
        {"channel_type": "im", "subtype": "message_changed"},
        {"channel_type": "im", "bot_id": "B1"},
        {"channel_type": "im", "user": ""},
    ],
)
def test_messages_that_are_not_for_the_app_are_left_alone(service: Service, event):
    assert 200 == service.event({"type": "message", "ts": "1.1", "text": FAILED} | event).status_code
    service.settle()
    assert [] == service.slack.messages


def test_a_direct_message_is_answered(service: Service):
    service.event({"type": "message", "channel_type": "im", "ts": "1.1", "text": FAILED})
    service.settle()
    assert 1 == len(service.slack.posted)


def test_a_shared_file_is_downloaded_with_the_token_and_read(service: Service):
    service.slack.files["server.log"] = ("text/plain", FAILED.encode())
    file = {
        "id": "F1",
        "name": "server.log",
        "size": 70,
        "url_private_download": f"{service.slack.url}/files/server.log",
    }
    service.event({"type": "message", "subtype": "file_share", "channel_type": "im", "ts": "1.1", "files": [file]})
    service.settle()
    [answer] = service.slack.posted
    assert "server.log" in json.dumps(answer["blocks"])


def test_a_file_of_another_workspace_is_looked_up_first(service: Service):
    service.slack.files["x"] = ("text/plain", FAILED.encode())
    service.slack.infos["F1"] = {"id": "F1", "name": "x", "url_private": f"{service.slack.url}/files/x"}
    service.event(MENTION | {"files": [{"id": "F1", "file_access": "check_file_info"}]})
    service.settle()
    assert "kv_cache_oom" in json.dumps(service.slack.posted[0]["blocks"])


def test_a_mention_alone_in_a_thread_reads_the_message_that_it_begins_with(service: Service):
    service.slack.thread.append({"text": FAILED, "user": "U1", "ts": "1699.1"})
    service.event({"type": "app_mention", "ts": "1700.1", "thread_ts": "1699.1", "text": "<@UBOT>"})
    service.settle()
    [answer] = service.slack.posted
    assert "1699.1" == answer["thread_ts"]
    assert "kv_cache_oom" in json.dumps(answer["blocks"])


def test_a_file_that_lies_elsewhere_is_not_fetched(service: Service):
    """The token goes to Slack's hosts and nowhere else."""
    file = {"id": "F1", "name": "x.log", "url_private": "http://localhost:9/files/x.log"}
    service.event(MENTION | {"files": [file]})
    service.settle()
    [answer] = service.slack.posted
    assert "does not lie with Slack" in answer["text"]


def test_a_file_that_is_too_large_is_refused_by_its_size_and_by_its_content(serve, slack_settings, slack):
    service = serve(slack=slack_settings(max_file_bytes=1000))
    slack.files["big"] = ("text/plain", b"x" * 5000)
    url = f"{slack.url}/files/big"
    service.event(MENTION | {"files": [{"id": "1", "name": "told", "size": 5000, "url_private": url}, {"id": "2", "name": "untold", "url_private": url}]})  # fmt: skip
    service.settle()
    assert ["told: the file is larger", "untold: the file is too large"] == [
        " ".join(answer["text"].split()[:5]) if i == 0 else answer["text"] for i, answer in enumerate(slack.posted)
    ]
    assert 1 == sum(call.path == "/files/big" for call in slack.calls)


def test_a_page_for_signing_in_is_no_log(service: Service):
    service.slack.files["x"] = ("text/html; charset=utf-8", b"<html>Sign in")
    service.event(MENTION | {"files": [{"id": "1", "name": "x", "mimetype": "text/plain", "url_private": f"{service.slack.url}/files/x"}]})  # fmt: skip
    service.settle()
    assert "files:read" in service.slack.posted[0]["text"]


@pytest.mark.parametrize("name", ["events", "commands", "interactions"])
def test_a_forged_request_is_refused(service: Service, name, caplog):
    """Nothing is done, and nothing of it is written to the log."""
    body = event_body(MENTION | {"text": "planted-log-text"})
    with caplog.at_level(logging.DEBUG):
        answer = service.post(name, body, secret="another secret")
    service.settle()
    assert 401 == answer.status_code
    assert [] == service.slack.calls
    assert "planted-log-text" not in caplog.text


def test_a_request_whose_body_was_changed_is_refused(service: Service):
    body = event_body(MENTION)
    headers = sign(body, int(time.time()))
    answer = service.client.post("/v1/hooks/slack/events", content=body.replace("U7", "U8"), headers=headers)
    assert 401 == answer.status_code


@pytest.mark.parametrize("at", [-301, -3600, 400])
def test_a_late_or_early_request_is_refused(service: Service, at):
    assert 401 == service.event(MENTION, at=at).status_code
    service.settle()
    assert [] == service.slack.calls


@given(timestamp=st.text(), signature=st.text(), body=st.binary(max_size=64))
def test_whatever_stands_in_the_headers_is_refused(timestamp, signature, body):
    """A broken time stamp or signature is no error of the service."""
    from fastapi import HTTPException
    from starlette.requests import Request

    from vllm_triage.service.chat.slack_app import SlackEndpoint

    endpoint = object.__new__(SlackEndpoint)
    endpoint._verifier = SignatureVerifier(SECRET)
    headers = [
        (b"x-slack-request-timestamp", timestamp.encode("latin-1", "replace")),
        (b"x-slack-signature", signature.encode("latin-1", "replace")),
    ]
    with pytest.raises(HTTPException) as refused:
        endpoint._verified(Request({"type": "http", "headers": headers}), body)
    assert 401 == refused.value.status_code


def test_a_replayed_request_is_answered_and_done_once(service: Service):
    """The same signature within the window: recorded traffic moves nothing."""
    body = command_body(service.slack, FAILED)
    headers = sign(body, int(time.time())) | {"Content-Type": "application/x-www-form-urlencoded"}
    codes = {
        service.client.post("/v1/hooks/slack/commands", content=body, headers=headers).status_code for _ in range(20)
    }
    service.settle()
    assert {200} == codes
    assert 1 == len(service.slack.responded)


def test_retries_of_an_event_are_done_once_though_they_come_at_one_time(service: Service):
    with ThreadPoolExecutor(8) as threads:
        codes = set(
            threads.map(lambda n: service.event(MENTION, at=-n, **{"X-Slack-Retry-Num": str(n)}).status_code, range(16))
        )
    service.settle()
    assert {200} == codes
    assert 1 == len(service.slack.posted)


def test_retries_are_recognised_by_another_process(serve, slack_settings):
    """Two applications on one history stand for two workers."""
    settings = slack_settings()
    first, second = serve(slack=settings), serve(slack=settings)
    first.event(MENTION)
    second.event(MENTION, at=-1)
    first.settle()
    second.settle()
    assert 1 == len(first.slack.posted)


def test_where_the_queue_is_full_slack_is_asked_to_try_again(serve, slack_settings):
    """The retry that follows is not taken for a repetition of work that was done."""
    service = serve(slack=slack_settings(), notify=NotifySettings(queue=1, workers=1))
    with service.chat._jobs._changed:
        service.chat._jobs._jobs.append((float("inf"), -1, lambda: None))
    refused = service.event(MENTION)
    told = service.command(FAILED)
    with service.chat._jobs._changed:
        service.chat._jobs._jobs.clear()
    taken = service.event(MENTION, at=-1)
    service.settle()
    assert (503, 200) == (refused.status_code, taken.status_code)
    assert "try again" in told.json()["text"]
    assert 1 == len(service.slack.posted)


def test_of_many_files_the_first_five_are_read(service: Service):
    service.slack.files["x"] = ("text/plain", FAILED.encode())
    files = [{"id": str(n), "name": f"{n}.log", "url_private": f"{service.slack.url}/files/x"} for n in range(7)]
    service.event(MENTION | {"files": files})
    service.settle()
    assert 6 == len(service.slack.posted)
    assert "I read the first 5 files only." == service.slack.posted[-1]["text"]


def test_a_mention_of_nothing_says_how_to_use_the_app(service: Service):
    service.slack.thread.append({"text": "", "user": "U1", "ts": "1699.1"})
    service.event({"type": "app_mention", "ts": "1700.1", "thread_ts": "1699.1", "text": "<@UBOT>"})
    service.event({"type": "app_mention", "ts": "1701.1", "text": "<@UBOT> "}, "Ev2")
    service.settle()
    assert ["Paste a vLLM log"] * 2 == [answer["text"][:16] for answer in service.slack.posted]


def test_a_body_that_is_no_text_is_refused(service: Service):
    headers = sign("x", int(time.time()))
    assert 401 == service.client.post("/v1/hooks/slack/events", content=b"\xff\xfe", headers=headers).status_code


def test_signed_nonsense_is_answered_without_an_error(service: Service):
    for body in ("{", "[]", "null", "a=b", "payload=%7B", '{"type": "event_callback"}', "ssl_check=1"):
        for name in ("events", "commands", "interactions"):
            assert 500 != service.post(name, body).status_code, (name, body)


def test_a_bucket_that_does_not_exist_is_not_stored(service: Service):
    service.event(MENTION)
    service.settle()
    incident = service.slack.posted[0]["blocks"][-1]["elements"][0]["value"]
    option = {"text": {"type": "plain_text", "text": "x"}, "value": f"{incident} No Such/Bucket"}
    service.click({"type": "static_select", "action_id": "triage_bucket", "selected_option": option})
    service.settle()
    assert () == service.history.incident(incident).feedback


def test_an_unknown_event_is_acknowledged(service: Service):
    """Slack would send it again and at last switch the app off."""
    assert 200 == service.event({"type": "reaction_added"}).status_code


def test_slacks_question_for_the_address_is_answered(service: Service):
    answer = service.post("events", json.dumps({"type": "url_verification", "challenge": "abc"}))
    assert {"challenge": "abc"} == answer.json()


def test_other_workspaces_are_not_answered(serve, slack_settings):
    service = serve(slack=slack_settings(teams=["T2"]))
    service.event(MENTION)
    service.settle()
    assert [] == service.slack.posted


def test_right_is_stored_and_shown(service: Service):
    service.event(MENTION)
    service.settle()
    [message] = service.slack.posted
    button = message["blocks"][-1]["elements"][0]
    service.click({"type": "button", "action_id": button["action_id"], "value": button["value"]})
    service.settle()
    stored = service.history.incident(button["value"])
    assert [("right", "slack:T1:U7")] == [(said.verdict, said.source) for said in stored.feedback]
    [shown] = service.slack.responded
    assert shown["replace_original"]
    assert any("Right, says <@U7>" in text for text in texts(shown["blocks"]))
    assert "actions" not in {block["type"] for block in shown["blocks"]}


def test_wrong_asks_what_it_was_and_stores_the_choice(service: Service):
    service.event(MENTION)
    service.settle()
    wrong = service.slack.posted[0]["blocks"][-1]["elements"][1]
    service.click({"type": "button", "action_id": wrong["action_id"], "value": wrong["value"]})
    service.settle()
    menu = service.slack.responded[0]["blocks"][-1]["elements"][0]
    option = next(option for option in menu["options"] if option["value"].endswith(" nccl_hang"))
    service.click({"type": "static_select", "action_id": menu["action_id"], "selected_option": option})
    service.settle()
    said = service.history.incident(wrong["value"]).feedback
    assert [("wrong", "nccl_hang")] == [(item.verdict, item.bucket) for item in said]
    assert any("it was `nccl_hang`" in text for text in texts(service.slack.responded[1]["blocks"]))
    assert [] == service.slack.refused


def test_a_click_on_an_incident_that_is_gone_says_so(service: Service):
    service.click({"type": "button", "action_id": "triage_right", "value": "inc_gone"})
    service.settle()
    [answer] = service.slack.responded
    assert (False, "This incident is not stored any more.") == (answer["replace_original"], answer["text"])


def test_without_a_history_there_are_no_buttons(serve, slack_settings):
    service = serve(slack=slack_settings(), stateless=True)
    service.event(MENTION)
    service.settle()
    assert "actions" not in {block["type"] for block in service.slack.posted[0]["blocks"]}


def test_an_answer_goes_to_slacks_hosts_only(service: Service):
    """A response_url elsewhere is not followed, though the request was signed."""
    service.command(FAILED, response_url="http://localhost:9/response/command")
    service.settle()
    assert [] == service.slack.calls


def test_what_is_no_log_is_said_so(service: Service):
    service.slack.files["x"] = ("application/zip", b"PK\x03\x04" + bytes(200))
    service.event(MENTION | {"files": [{"id": "1", "name": "x.zip", "url_private": f"{service.slack.url}/files/x"}]})
    service.settle()
    assert service.slack.posted[0]["text"].startswith("x.zip: ")


def test_a_body_beyond_the_limit_is_refused(service: Service):
    assert 413 == service.post("events", event_body(MENTION | {"text": "x" * (1 << 20)})).status_code


def test_the_evidence_is_given_to_who_asks_for_it(service: Service):
    """Of a pasted log, and of an incident by its id; one that is not there is said."""
    for text in (f"evidence {FAILED}", "evidence inc_nobody"):
        service.command(text)
        service.settle()
    told = [answer["text"] for answer in service.slack.responded]

    assert "| ValueError: No available memory" in told[0]
    assert "no such incident" in told[1]
