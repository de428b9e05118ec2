"""A Slack Web API on loopback that refuses what Slack refuses, by the SDK's own validators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from slack_sdk.signature import SignatureVerifier

from tests.service.chat.loopback import Call, Loopback, Reply

TOKEN = "xoxb-000000000000-planted-for-tests"
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


class FakeSlack(Loopback):
    """Messages that were posted, updated or sent to a response_url, and files to download."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.posted: list[dict[str, Any]] = []
        self.updated: list[dict[str, Any]] = []
        self.responded: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.files: dict[str, tuple[str, bytes]] = {}
        self.thread: list[dict[str, Any]] = []
        self.infos: dict[str, dict[str, Any]] = {}

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Everything that people would see."""
        return [*self.posted, *self.updated, *self.responded]

    def _answer(self, call: Call) -> Reply:
        method = call.path.partition("?")[0].rpartition("/")[2]
        if call.path.startswith("/response/"):
            payload = json.loads(call.body)
            if problem := problem_of(payload):
                self.refused.append(problem)
                return Reply(400, b"invalid_blocks")
            self.responded.append(payload)
            return Reply(200, b"ok")
        if call.headers.get("authorization") != f"Bearer {TOKEN}":
            return _json(ok=False, error="invalid_auth")
        if call.path.startswith("/files/"):
            kind, content = self.files[method]
            return Reply(200, content, {"Content-Type": kind})
        return self._method(method, _arguments(call))

    def _method(self, method: str, arguments: dict[str, Any]) -> Reply:
        if method in ("chat.postMessage", "chat.update"):
            if problem := problem_of(arguments):
                self.refused.append(problem)
                return _json(ok=False, error=problem)
            seen = self.posted if method == "chat.postMessage" else self.updated
            seen.append(arguments)
            ts = arguments.get("ts") or f"1700000000.{len(self.posted):06}"
            return _json(ok=True, channel=arguments["channel"], ts=ts)
        if method == "conversations.replies":
            return _json(ok=True, messages=self.thread[:1])
        if method == "files.info":
            return _json(ok=True, file=self.infos[str(arguments["file"])])
        return _json(ok=False, error="unknown_method")


def sign(body: str, timestamp: int, secret: str = SECRET) -> dict[str, str]:
    """Return the headers that Slack sends, made by the SDK."""
    signature = SignatureVerifier(secret).generate_signature(timestamp=str(timestamp), body=body)
    assert signature is not None
    return {"X-Slack-Request-Timestamp": str(timestamp), "X-Slack-Signature": signature}


def problem_of(payload: dict[str, Any]) -> str:
    """Return Slack's word for what is wrong with a message, or an empty text."""
    blocks = payload.get("blocks") or []
    if isinstance(blocks, str):
        blocks = json.loads(blocks)
    if len(blocks) > 50:
        return "too_many_blocks"
    if len(payload.get("text") or "") > 4000 or not (payload.get("text") or blocks):
        return "msg_too_long"
    try:
        for block in Block.parse_all(blocks):
            block.to_dict()
    except SlackObjectFormationError:
        return "invalid_blocks"
    for item in walk(blocks):
        text = item.get("text")
        kind = item.get("type")
        wrong = kind in ("mrkdwn", "plain_text") and (not isinstance(text, str) or not 1 <= len(text) <= 3000)
        if wrong or (kind == "button" and len(item["text"]["text"]) > 75):
            return "invalid_blocks_format"
    # Slack refuses what is too long as a whole, and does not tell its limit.
    if sum(len(text) for text in texts(blocks)) > 13_000 and not any(b["type"] == "actions" for b in blocks):
        return "msg_blocks_too_long"
    return ""


def walk(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a payload."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from walk(item)


def texts(value: Any) -> list[str]:
    """Return every text in a payload."""
    return [item["text"] for item in walk(value) if isinstance(item.get("text"), str)]


def _arguments(call: Call) -> dict[str, Any]:
    if "json" in call.headers.get("content-type", ""):
        found = json.loads(call.body)
    else:
        found = {name: values[-1] for name, values in parse_qs(call.body.decode()).items()}
    if isinstance(found.get("blocks"), str):
        found["blocks"] = json.loads(found["blocks"])
    return dict(found)


def _json(**fields: Any) -> Reply:
    return Reply(200, json.dumps(fields).encode(), {"Content-Type": "application/json"})
