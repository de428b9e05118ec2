"""Slack: an app that answers in threads, and a channel that incidents are told in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, SecretStr, field_validator

from ..settings import PlatformSettings, Selection, http_url

if TYPE_CHECKING:
    from ..interface import Adapter, Event


class SlackSettings(PlatformSettings):
    """A Slack app (docs/chat.md has its manifest)."""

    signing_secret: SecretStr
    bot_token: SecretStr
    channel: str = Field("", description="id of the channel for messages about incidents; empty: only answers")
    select: Selection = Selection()
    teams: frozenset[str] = Field(
        frozenset(), description="ids of the workspaces that are answered; empty: all that sign"
    )
    api_url: str = "https://slack.com/api/"
    file_hosts: frozenset[str] = Field(frozenset({"files.slack.com"}), description="hosts that files are fetched from")
    response_hosts: frozenset[str] = Field(frozenset({"hooks.slack.com"}), description="hosts of response_url")
    max_file_bytes: Annotated[int, Field(ge=1)] = 64 << 20
    timeout_seconds: Annotated[float, Field(gt=0)] = 10

    @field_validator("signing_secret", "bot_token")
    @classmethod
    def _not_empty(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().strip():
            raise ValueError("must not be empty")
        return value

    @field_validator("api_url")
    @classmethod
    def _api(cls, value: str) -> str:
        return http_url(value).rstrip("/") + "/"

    @property
    def plain_http(self) -> bool:
        """Whether the API is reached without TLS (a test server): files then may be too."""
        return self.api_url.startswith("http:")


SETTINGS = SlackSettings
ABOUT = "Slack: an app that answers in threads, and a channel for incidents"
SEVERAL = False


def preview(event: Event) -> str:
    """Return the message as it would be sent."""
    from ..slack_blocks import message

    return json.dumps(message(event), ensure_ascii=False, indent=2, default=lambda block: block.to_dict())


def adapter(settings: SlackSettings) -> Adapter:
    """Return the adapter for one Slack app."""
    # Slack's packages are an extra: nothing of them is imported where Slack is not set.
    from ..slack_app import SlackAdapter

    return SlackAdapter(settings)
