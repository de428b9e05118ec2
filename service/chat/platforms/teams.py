"""Microsoft Teams: a workflow's webhook that posts Adaptive Cards into a channel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, SecretStr, field_validator

from ..http_out import checked, post
from ..interface import Brief, Event
from ..settings import PlatformSettings, Selection, http_url
from ..targets import Target, Targets


class TeamsSettings(PlatformSettings):
    """One channel."""

    url: SecretStr = Field(description="address of the workflow; whoever has it can post")
    name: str = Field("teams", description="in logs and metrics")
    select: Selection = Selection()
    timeout_seconds: Annotated[float, Field(gt=0, le=120)] = 10

    @field_validator("url")
    @classmethod
    def _url(cls, value: SecretStr) -> SecretStr:
        http_url(value.get_secret_value())
        return value


SETTINGS = TeamsSettings
ABOUT = "Microsoft Teams: a workflow's webhook, Adaptive Cards"
SEVERAL = True


def preview(event: Event) -> str:
    """Return the message as it would be sent."""
    from ..teams_card import message

    return json.dumps(json.loads(message(event)), ensure_ascii=False, indent=2)


def adapter(settings: tuple[TeamsSettings, ...]) -> Targets:
    """Return the adapter for all channels."""
    return Targets(map(TeamsTarget, settings))


class TeamsTarget(Target):
    """One channel."""

    def __init__(self, settings: TeamsSettings) -> None:
        super().__init__(settings.name, settings.select)
        self._settings = settings

    def send(self, event: Event) -> None:
        """Post the card of an incident."""
        from ..teams_card import message

        self._post(message(event))

    def digest(self, incidents: Sequence[Brief]) -> None:
        """Post one card about several incidents."""
        from ..teams_card import digest

        self._post(digest(incidents))

    def _post(self, body: bytes) -> None:
        url, headers = self._settings.url.get_secret_value(), {"Content-Type": "application/json"}
        checked(post(url, body, headers, timeout=self._settings.timeout_seconds))
