"""The chat adapters on an application of their own, with a real history, the real engine and servers on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("slack_bolt")

from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.service.chat.loopback import Loopback, wait_until
from tests.service.chat.slack_server import SECRET, TOKEN, FakeSlack, sign
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.report.schema import adapter
from vllm_triage.service.chat import Chat
from vllm_triage.service.chat.platforms.slack import SlackSettings
from vllm_triage.service.chat.settings import ChatSettings, NotifySettings
from vllm_triage.service.history import History

# As the service does at its start: pydantic reads sources then, which two threads of Python 3.11 may not do at a time.
adapter()

FAILED = "INFO: start\nValueError: No available memory for the cache blocks.\n"
FAST = NotifySettings(update_seconds=0, backoff_seconds=0.001, attempts=3)


@dataclass
class Service:
    """A running application."""

    client: TestClient
    chat: Chat
    slack: FakeSlack
    history: Any
    """The `History`, or None."""
    _outcomes: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        done = self.chat.context.alerts_done

        def noted(results: Any) -> None:
            self._outcomes.extend(results)
            done(results)

        self.chat.context.alerts_done = noted

    def settle(self) -> None:
        """Wait until nothing is left to do."""
        wait_until(lambda: self.chat.figures.waiting == 0)

    def outcomes(self) -> list[dict[str, Any]]:
        """Return what became of the alerts since this was last asked."""
        self.settle()
        found, self._outcomes[:] = list(self._outcomes), []
        return found

    def post(self, name: str, body: str, *, at: float = 0, secret: str = SECRET, **headers: str) -> Any:
        """Send what Slack would send, signed."""
        kind = "application/json" if body.startswith("{") else "application/x-www-form-urlencoded"
        signed = sign(body, int(time.time() + at), secret)
        return self.client.post(
            f"/v1/hooks/slack/{name}", content=body.encode(), headers={"Content-Type": kind, **signed, **headers}
        )

    def command(self, text: str, **fields: str) -> Any:
        """Send a slash command."""
        return self.post("commands", command_body(self.slack, text, **fields))

    def event(self, event: dict[str, Any], event_id: str = "Ev1", **options: Any) -> Any:
        """Send an event."""
        return self.post("events", event_body(event, event_id), **options)

    def click(self, action: dict[str, Any], **container: str) -> Any:
        """Click a button or choose from a menu."""
        payload = {
            "type": "block_actions",
            "team": {"id": "T1"},
            "user": {"id": "U7"},
            "response_url": f"{self.slack.url}/response/click",
            "container": container,
            "actions": [action | {"action_ts": str(time.time_ns())}],
        }
        return self.post("interactions", urlencode({"payload": json.dumps(payload)}))


def command_body(slack: Loopback, text: str, **fields: str) -> str:
    """Return the body of a slash command."""
    return urlencode(
        {
            "command": "/triage",
            "text": text,
            "team_id": "T1",
            "user_id": "U7",
            "channel_id": "C1",
            "trigger_id": str(time.time_ns()),
            "response_url": f"{slack.url}/response/command",
            **fields,
        }
    )


def event_body(event: dict[str, Any], event_id: str = "Ev1") -> str:
    """Return the body of an event."""
    return json.dumps(
        {
            "type": "event_callback",
            "team_id": "T1",
            "event_id": event_id,
            "event": {"user": "U7", "channel": "C1", **event},
        }
    )


@pytest.fixture
def slack() -> Iterator[FakeSlack]:
    """Slack's Web API."""
    with FakeSlack() as server:
        yield server


@pytest.fixture
def slack_settings(slack: FakeSlack) -> Callable[..., SlackSettings]:
    """Make settings that lead to the fake."""

    def make(**fields: Any) -> SlackSettings:
        return SlackSettings(
            **{
                "signing_secret": SECRET,
                "bot_token": TOKEN,
                "channel": "C9",
                "api_url": f"{slack.url}/api/",
                "file_hosts": ["127.0.0.1"],
                "response_hosts": ["127.0.0.1"],
                **fields,
            }
        )

    return make


@pytest.fixture
def serve(slack: FakeSlack, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start applications; they end with the test."""
    with ExitStack() as ends:

        def start(*, stateless: bool = False, notify: NotifySettings = FAST, **platforms: Any) -> Service:
            history = None
            if not stateless:
                history = History(f"sqlite:///{tmp_path / 'history.db'}")
                history.upgrade()
                ends.callback(history.close)

            def triage(source: Any, *, service: str = "", name: str = "", store: bool = True) -> Any:
                report = shared().report(source)
                return report, history.record(report, service=service, name=name) if history and store else None

            def record(report: Any, service: str, names: Any) -> Any:
                return history.record(report, service=service, name=names) if history else None

            chat = Chat(
                ChatSettings(notify=notify, platforms=platforms),
                triage=triage,
                record=record,
                link=lambda incident: f"https://triage.example/incidents/{incident}",
                history=history,
            )
            ends.callback(chat.close)
            chat.start()
            app = FastAPI()
            for router in chat.routers():
                app.include_router(router)
            client = ends.enter_context(TestClient(app))
            return Service(client, chat, slack, history)

        yield start


@pytest.fixture
def service(serve: Callable[..., Service], slack_settings: Callable[..., SlackSettings]) -> Service:
    """An application with Slack."""
    return serve(slack=slack_settings())
