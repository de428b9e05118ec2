"""Discord: what it signed is answered, once; what is posted is within its limits."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from tests.service.chat.conftest import FAILED
from tests.service.chat.loopback import Call, Loopback, Reply, wait_until
from tests.service.samples import failure, found_failure, healthy, unknown
from vllm_triage.classifier.lines.types import Evidence
from vllm_triage.service.chat import discord_embed
from vllm_triage.service.chat.interface import Brief, Event
from vllm_triage.service.chat.platforms.discord import DiscordSettings

keys = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
KEY = keys.Ed25519PrivateKey.generate()
PATH = "/v1/hooks/discord"
APP = "112233445566778899"


class Discord(Loopback):
    """Files, answers to interactions, and a channel's webhook."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        super().__init__(self._reply)

    def _reply(self, call: Call) -> Reply:
        if call.method == "GET":
            data = self.files.get(call.path)
            return Reply(404) if data is None else Reply(200, data)
        return Reply(200 if call.method == "PATCH" else 204)

    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(call.body) for call in self.calls if call.method == "PATCH"]


@pytest.fixture
def discord():
    with Discord() as server:
        yield server


@pytest.fixture
def app(serve, discord):
    """A service with the application and a channel."""
    return serve(discord=settings(discord))


def settings(discord: Discord, **fields: Any) -> DiscordSettings:
    public = KEY.public_key().public_bytes_raw().hex()
    given = {"public_key": public, "application_id": APP, "api_url": f"{discord.url}/api", "file_hosts": ["127.0.0.1"]}
    return DiscordSettings(**{**given, "webhook_url": f"{discord.url}/webhooks/1/secret", **fields})


def send(app: Any, told: dict[str, Any] | bytes, *, at: float = 0, key: Any = KEY, **headers: str) -> Any:
    body = told if isinstance(told, bytes) else json.dumps(told).encode()
    stamp = str(int(time.time() + at))
    signed = {"X-Signature-Timestamp": stamp, "X-Signature-Ed25519": key.sign(stamp.encode() + body).hex()}
    return app.client.post(PATH, content=body, headers={"Content-Type": "application/json", **signed, **headers})


def command(name: str = "1", text: str = "", file: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    options: list[dict[str, Any]] = [{"name": "text", "type": 3, "value": text}] if text else []
    data: dict[str, Any] = {"id": "7", "name": "triage", "type": 1, "options": options}
    if file is not None:
        options.append({"name": "log", "type": 11, "value": "42"})
        data["resolved"] = {"attachments": {"42": {"id": "42", "filename": "server.log", **file}}}
    return {
        "type": 2,
        "id": name,
        "application_id": APP,
        "token": f"aW50.{name}-x_y",
        "guild_id": "9",
        "data": data,
        **more,
    }


def test_the_ping_by_which_an_endpoint_is_registered(app):
    answer = send(app, {"type": 1, "id": "1", "token": "t"})

    assert (answer.status_code, answer.json()) == (200, {"type": 1})


def test_a_pasted_log_is_answered_to_who_asked(app, discord):
    answer = send(app, command(text=f"```{FAILED}```"))
    wait_until(lambda: bool(discord.answers()))

    assert answer.json() == {"type": 5, "data": {"flags": 64}}
    assert [call.path for call in discord.calls if call.method == "PATCH"] == [
        f"/api/webhooks/{APP}/aW50.1-x_y/messages/@original"
    ]
    assert "kv\\_cache\\_oom/no\\_cache\\_blocks" in discord.answers()[0]["embeds"][0]["description"]


def test_an_attached_log_is_fetched_and_read(app, discord):
    discord.files["/attachments/1/server.log"] = FAILED.encode() * 1000
    send(app, command(file={"url": f"{discord.url}/attachments/1/server.log", "size": 70}))
    wait_until(lambda: bool(discord.answers()))

    assert discord.answers()[0]["embeds"][0]["title"].startswith("✖ Nothing is left")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ({"url": "https://evil.example/x"}, "does not lie with Discord"),
        ({"url": "file:///etc/passwd"}, "does not lie with Discord"),
        ({"url": "{}/missing"}, "status 404"),
        ({"url": "{}/x", "size": 1 << 40}, "larger than"),
        ({"url": "{}/empty"}, "empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(app, discord, file, told):
    discord.files["/empty"] = b" \n"
    send(app, command(file={**file, "url": file["url"].replace("{}", discord.url)}))
    wait_until(lambda: bool(discord.answers()))

    assert told in discord.answers()[0]["content"].replace("\\", "")


@pytest.mark.parametrize("at", [-301, 301, -10_000])
def test_what_is_late_or_early_is_refused(app, discord, at):
    assert send(app, command(text=FAILED), at=at).status_code == 401
    app.settle()
    assert discord.calls == []


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Signature-Ed25519": ""}, {"X-Signature-Ed25519": "00" * 64}, {"X-Signature-Ed25519": "xyz"},
        {"X-Signature-Timestamp": ""}, {"X-Signature-Timestamp": "1e9"}, {"X-Signature-Timestamp": "-5"},
    ],
)  # fmt: skip
def test_what_is_not_signed_is_refused(app, discord, headers):
    assert send(app, command(text=FAILED), **headers).status_code == 401
    app.settle()
    assert discord.calls == []


def test_another_key_and_a_changed_body_are_refused(app, discord):
    other = keys.Ed25519PrivateKey.generate()
    body = json.dumps(command(text=FAILED)).encode()
    stamp = str(int(time.time()))
    headers = {"X-Signature-Timestamp": stamp, "X-Signature-Ed25519": KEY.sign(stamp.encode() + body).hex()}

    assert send(app, command(text=FAILED), key=other).status_code == 401
    assert app.client.post(PATH, content=body + b" ", headers=headers).status_code == 401
    app.settle()
    assert discord.calls == []


def test_what_comes_again_is_refused(app, discord):
    """The same interaction, signed anew or recorded."""
    codes = [send(app, command(text=FAILED)).status_code for _ in range(3)]
    app.settle()

    assert codes == [200, 409, 409]
    assert len(discord.answers()) == 1


@pytest.mark.parametrize(
    "told", [b"{", b"[]", b"7", {"type": 2}, {"id": "1"}, {**command("3", "x"), "token": "../../x"}]
)
def test_a_body_of_another_form_is_refused(app, told):
    assert send(app, told).status_code == 422


def test_without_a_log_the_usage_is_told(app):
    for told in (command("1"), {**command("2"), "data": None}, {**command("3"), "type": 3}):
        answer = send(app, told).json()
        assert (answer["type"], answer["data"]["flags"], "Attach a vLLM log" in answer["data"]["content"]) == (
            4,
            64,
            True,
        )


def test_other_servers_are_not_answered(serve, discord):
    app = serve(discord=settings(discord, guilds=["1"]))

    assert "does not answer here" in send(app, command(text=FAILED)).json()["data"]["content"]
    assert send(app, command("2", FAILED, guild_id="1")).json()["type"] == 5


def test_the_channel_is_told_once(app, discord):
    discord.planned.append(Reply(429, headers={"Retry-After": "0"}))
    for _ in range(3):
        report, incident = app.chat.context.triage(FAILED.encode(), service="chat")
        app.chat.notify(report, incident, service="chat")
    wait_until(lambda: len(discord.calls) == 2)
    app.settle()

    assert [call.path for call in discord.calls] == ["/webhooks/1/secret"] * 2


def within_limits(message: dict[str, Any]) -> None:
    """Discord's documented limits of a message; nobody is called by it."""
    assert message["allowed_mentions"] == {"parse": []}
    (embed,) = message["embeds"]
    assert len(embed["title"]) <= 256
    assert len(embed.get("description", "")) <= 4096
    assert len(embed.get("fields", [])) <= 25
    for field in embed.get("fields", []):
        assert 0 < len(field["name"]) <= 256
        assert 0 < len(field["value"]) <= 1024
    assert discord_embed.size(embed) <= 6000


@pytest.mark.parametrize("sample", [failure, unknown, healthy])
def test_every_answer_is_within_the_limits(sample):
    within_limits(discord_embed.message(Event(sample().report, link="https://t/i")))


@pytest.mark.parametrize("sign", ["x", "*", "```", "@everyone ", "<@1>", "[a](https://evil.example)", "\U0001d54f"])
def test_no_text_is_too_long_or_markup(sign):
    long = sign * 3000
    found = found_failure().saying(title=long, summary=long, evidence=(Evidence(37, long),))
    found = found.advising(long, title=long)
    found = replace(found, advice=replace(found.advice, corrected_command=sign * 400))
    event = Event(found.report, service=sign * 500, note=sign * 2000)
    message = discord_embed.message(event)

    within_limits(message)
    within_limits(discord_embed.digest([Brief.of(event)] * 30))
    description = message["embeds"][0]["description"]
    assert description.count("```") == 2
    outside = description.split("```")[0]
    assert not re.search(r"(?<!\\)[<\[\]]|@(?![\u200b…])", outside)


@pytest.mark.parametrize(
    "fields",
    [
        {"public_key": "xy"},
        {"public_key": "0" * 64},
        {"application_id": "1"},
        {"application_id": "../x", "public_key": "0" * 64},
        {"api_url": "ftp://x"},
        {"webhook_url": "x"},
        {"chanel": "1"},
    ],
)
def test_settings_that_are_no_use(fields):
    with pytest.raises(ValidationError):
        DiscordSettings(**fields)


def test_the_command_that_is_registered_has_what_is_read():
    from pathlib import Path

    import vllm_triage.service.chat as room

    (told,) = json.loads((Path(room.__file__).parent / "discord_command.json").read_text())
    assert {(option["name"], option["type"]) for option in told["options"]} == {("log", 11), ("text", 3)}


def test_the_evidence_is_given_to_who_asks_for_it(app, discord):
    """What an assistant needs to judge a log, in a block that nothing in it ends."""
    send(app, command(text=f"evidence {FAILED}"))
    wait_until(lambda: bool(discord.answers()))

    told = discord.answers()[0]["embeds"][0]
    assert "Evidence" == told["title"]
    assert "| ValueError: No available memory" in told["description"]
    assert len(told["description"]) <= 4096
    assert 2 == told["description"].count("```")
