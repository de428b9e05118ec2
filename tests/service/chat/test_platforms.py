from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.service.chat.conftest import FAILED, command_body
from tests.service.chat.loopback import wait_until
from tests.service.chat.slack_server import sign
from vllm_triage.service.chat.platforms.alertmanager import AlertmanagerSettings
from vllm_triage.service.chat.platforms.apprise import AppriseSettings
from vllm_triage.service.chat.platforms.discord import DiscordSettings
from vllm_triage.service.chat.platforms.otlp import OtlpSettings
from vllm_triage.service.chat.platforms.slack import SlackSettings
from vllm_triage.service.chat.platforms.teams import TeamsSettings
from vllm_triage.service.chat.platforms.webhooks import WebhookSettings
from vllm_triage.service.chat.registry import adapters, platforms
from vllm_triage.service.chat.settings import ChatSettings, NotifySettings
from vllm_triage.service.http.settings import Settings

PLATFORM = """
from fastapi import APIRouter, Response

from vllm_triage.service.chat.settings import PlatformSettings


class SETTINGS(PlatformSettings):
    loud: bool = False


ABOUT = "says it aloud"
SEVERAL = False


class Target:
    name = "shouting"

    def wants(self, event):
        return True

    def send(self, event):
        print(event.report.bucket.upper(), flush=True)

    def again(self, event):
        pass


class Shouting:
    def __init__(self, settings):
        self.settings = settings

    def routes(self, context):
        router = APIRouter()
        router.add_api_route("/v1/hooks/shouting", lambda: Response(status_code=204), methods=["POST"])
        return router

    def outgoing(self, context):
        return [Target()]


adapter = Shouting
"""
ASKED = """
import vllm_triage.service.chat.platforms as modules

modules.__path__.append({folder!r})
from fastapi.testclient import TestClient

from vllm_triage.service.chat.registry import platforms
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.settings import Settings

print(sorted(platforms()))
settings = Settings()
print(settings.chat.platforms["shouting"].loud)
with TestClient(create_app(settings), base_url="http://localhost") as client:
    print(client.post("/v1/hooks/shouting").status_code)
    client.post("/v1/triage", content=b"ValueError: No available memory for the cache blocks.")
"""
ROOT = Path(__file__).parents[3]
SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()


def test_only_what_is_configured_is_there():
    assert [] == adapters(ChatSettings())
    given = {
        "slack": SlackSettings(signing_secret="s", bot_token="t"),
        "webhooks": (WebhookSettings(url="https://a.example/", secrets=(SECRET,)),),
        "alertmanager": AlertmanagerSettings(token="t"),
        "apprise": (AppriseSettings(url="json://127.0.0.1"),),
        "discord": DiscordSettings(webhook_url="https://discord.com/api/webhooks/1/t"),
        "otlp": OtlpSettings(url="https://otel.example"),
        "teams": (TeamsSettings(url="https://a.example/"),),
    }
    assert (set(given), 7) == (set(platforms()), len(adapters(ChatSettings(platforms=given))))


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("discord", "cryptography.hazmat.primitives.asymmetric.ed25519"),
        ("otlp", "opentelemetry.proto.logs.v1.logs_pb2"),
        ("apprise", "apprise"),
    ],
)
def test_what_is_not_installed_is_told(name, module, monkeypatch):
    """By the extra that brings it."""
    given: dict[str, Any] = {
        "apprise": (AppriseSettings(url="json://127.0.0.1"),),
        "discord": DiscordSettings(webhook_url="https://discord.com/api/webhooks/1/t"),
        "otlp": OtlpSettings(url="https://otel.example"),
    }
    for ours in ("discord_app", "otlp_record"):
        monkeypatch.delitem(sys.modules, f"vllm_triage.service.chat.{ours}", raising=False)
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(ValueError, match=rf"{name} needs .*pip install '.*\[\w+\]'"):
        adapters(ChatSettings(platforms={name: given[name]}))


def test_every_platform_can_be_set_in_the_service():
    """A setting that only this package knows could not be given."""
    assert {*platforms(), "notify"} <= set(Settings.model_fields)


def test_settings_are_read_from_variables(monkeypatch):
    monkeypatch.setenv("VLLM_TRIAGE_SLACK__SIGNING_SECRET", "s")
    monkeypatch.setenv("VLLM_TRIAGE_SLACK__BOT_TOKEN", "t")
    monkeypatch.setenv("VLLM_TRIAGE_SLACK__SELECT", '{"min_confidence": 0.8}')
    monkeypatch.setenv("VLLM_TRIAGE_WEBHOOKS", f'[{{"url": "https://a.example/x", "secrets": ["{SECRET}"]}}]')
    monkeypatch.setenv("VLLM_TRIAGE_NOTIFY__WINDOW_SECONDS", "60")
    chat = Settings().chat
    assert (0.8, "https://a.example/x", 60) == (
        chat.platforms["slack"].select.min_confidence,
        chat.platforms["webhooks"][0].url,
        chat.notify.window_seconds,
    )
    assert SECRET not in repr(chat)


@pytest.mark.parametrize(
    "fields",
    [
        {"signing_secret": ""},
        {"bot_token": " "},
        {"api_url": "ftp://slack.example/"},
        {"chanel": "C1"},
        {"select": {"min_confidence": 2}},
    ],
)
def test_slack_settings_that_are_no_use_are_refused(fields):
    with pytest.raises(ValidationError):
        SlackSettings(**{"signing_secret": "s", "bot_token": "t", **fields})


def test_the_service_answers_slack(tmp_path, slack, slack_settings):
    """The hooks are part of the service, need no key of its own, and use its engine and history."""
    from fastapi.testclient import TestClient

    from vllm_triage.service.http.app import create_app

    settings = Settings(
        database=f"sqlite:///{tmp_path / 'history.db'}",
        require_key="no",
        allowed_hosts=("*",),
        slack=slack_settings(),
        alertmanager=AlertmanagerSettings(token="alerts"),
    )
    with TestClient(create_app(settings)) as client:
        body = command_body(slack, FAILED)
        headers = sign(body, int(time.time())) | {"Content-Type": "application/x-www-form-urlencoded"}
        assert 200 == client.post("/v1/hooks/slack/commands", content=body, headers=headers).status_code
        wait_until(lambda: bool(slack.responded))
        refused = client.post("/v1/hooks/slack/commands", content=body)
        assert (401, "application/problem+json") == (refused.status_code, refused.headers["content-type"])
        assert 401 == client.post("/v1/hooks/alertmanager", json={}).status_code
    assert "kv_cache_oom" in str(slack.responded[0]["blocks"])


def test_the_page_names_every_setting():
    """docs/chat.md is where people look."""
    page = (ROOT / "docs" / "chat.md").read_text("utf-8")
    kinds = {name: platform.SETTINGS for name, platform in platforms().items()} | {"notify": NotifySettings}
    for name, kind in kinds.items():
        for field in kind.model_fields:
            assert re.search(rf"`(?:…__)?{field}`", page, re.IGNORECASE), f"{name}.{field}"


@pytest.mark.slow
def test_a_file_in_the_folder_is_a_platform(tmp_path):
    """One file: its settings are read from variables, the service has its route, and messages go to it."""
    (tmp_path / "shouting.py").write_text(PLATFORM)
    environment = {**os.environ, "VLLM_TRIAGE_SHOUTING__LOUD": "yes", "VLLM_TRIAGE_DATABASE": "none"}
    script = [sys.executable, "-c", ASKED.format(folder=str(tmp_path))]
    ran = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ("['alertmanager', 'apprise', 'discord', 'otlp', 'shouting', 'slack', 'teams', 'webhooks']\nTrue\n204\nKV_CACHE_OOM\n", 0) == (
        ran.stdout, ran.returncode,
    ), ran.stderr  # fmt: skip


def test_the_manifest_asks_for_what_the_app_uses():
    yaml = pytest.importorskip("yaml")
    manifest = yaml.safe_load((ROOT / "service" / "chat" / "slack_manifest.yaml").read_text("utf-8"))
    assert ["app_mention", "message.im"] == manifest["settings"]["event_subscriptions"]["bot_events"]
    urls = {
        manifest["features"]["slash_commands"][0]["url"],
        manifest["settings"]["event_subscriptions"]["request_url"],
        manifest["settings"]["interactivity"]["request_url"],
    }
    assert {"commands", "events", "interactions"} == {url.rpartition("/v1/hooks/slack/")[2] for url in urls}
