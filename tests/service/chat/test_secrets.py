"""Secrets of many kinds are planted wherever text comes in, and looked for wherever text goes out or stays."""

from __future__ import annotations

import base64
import json

import pytest

from tests.classifier.masking.planted import SECRETS
from tests.everyday import sample
from tests.service.chat.loopback import Loopback
from tests.service.chat.slack_server import TOKEN
from tests.service.chat.test_alertmanager import BEARER, PATH, alert, notification
from vllm_triage.service.chat.platforms.alertmanager import AlertmanagerSettings
from vllm_triage.service.chat.platforms.apprise import AppriseSettings
from vllm_triage.service.chat.platforms.discord import DiscordSettings
from vllm_triage.service.chat.platforms.otlp import OtlpSettings
from vllm_triage.service.chat.platforms.teams import TeamsSettings
from vllm_triage.service.chat.platforms.webhooks import WebhookSettings

LOGS = (
    "INFO: start\nValueError: No available memory for the cache blocks. {}\n",
    'INFO: start\nTraceback (most recent call last):\n  File "/app/x.py", line 3, in <module>\nacme.FlangeError: no way on: {}\n',
)


@pytest.mark.parametrize("kind", sample(SECRETS))
def test_no_payload_response_or_row_holds_a_secret(kind, serve, slack_settings, tmp_path):
    with Loopback() as receiver:
        service = serve(
            slack=slack_settings(),
            alertmanager=AlertmanagerSettings(token="t" * 20),
            webhooks=[WebhookSettings(url=receiver.url, secrets=["whsec_" + base64.b64encode(bytes(24)).decode()])],
            teams=[TeamsSettings(url=f"{receiver.url}/teams")],
            discord=DiscordSettings(webhook_url=f"{receiver.url}/discord"),
            otlp=OtlpSettings(url=f"{receiver.url}/otlp"),
            apprise=[AppriseSettings(url=receiver.url.replace("http://", "json://") + "/apprise")],
        )
        answers: list[str] = []
        for number, (text, secret) in enumerate(sample(SECRETS[kind])):
            for log in (form.format(text) for form in LOGS):
                stamp = f"{number}.{len(answers)}"
                answers.append(service.command(log).text)
                service.slack.files["x"] = ("text/plain", log.encode())
                file = {"id": "F", "name": f"{text}.log", "url_private": f"{service.slack.url}/files/x"}
                for event in ({"text": f"<@U1> ```{log}```"}, {"text": "<@U1>", "files": [file]}):
                    ts = f"{stamp}.{len(event)}"
                    answers.append(service.event({"type": "app_mention", "ts": ts, **event}, ts).text)
                headers = BEARER | {"Authorization": "Bearer " + "t" * 20}
                body = notification(alert(len(answers), log=log, pod=text, service=text, alertname=text))
                answers.append(service.client.post(PATH, json=body, headers=headers).text)
                service.settle()
            assert {call.path for call in receiver.calls} == {"/", "/teams", "/discord", "/otlp/v1/logs", "/apprise"}
            went_out = [call.body.decode("utf-8", "replace") for call in [*service.slack.calls, *receiver.calls]]
            told = [
                json.dumps(json.loads(text), ensure_ascii=False) if text.startswith("{") else text for text in went_out
            ]
            database = b"".join(path.read_bytes() for path in tmp_path.glob("history.db*"))
            ids = [incident.id for incident in service.history.incidents(_all()).items]
            kept = [service.history.incident(one).report.to_json() for one in ids]
            assert ids
            for place, texts in (
                ("payload", told),
                ("response", answers),
                ("report", kept),
                ("row", [database.decode("latin-1")]),
            ):
                assert [text[:3000] for text in texts if secret in text] == [], (place, secret)
        assert not any(TOKEN in call.body.decode() for call in service.slack.calls)
        assert [] == service.slack.refused


def _all():
    from vllm_triage.service.history import Filter

    return Filter(limit=500)
