"""Microsoft Teams: a workflow's webhook that posts Adaptive Cards into a channel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, SecretStr, field_validator

from ..http_out import checked, post
from ..interface import Brief, Event, Outgoing, selects
from ..settings import PlatformSettings, Selection, http_url

if TYPE_CHECKING:
    from ..interface import ChatContext


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


def adapter(settings: tuple[TeamsSettings, ...]) -> TeamsAdapter:
    """Return the adapter for all channels."""
    return TeamsAdapter(settings)


class TeamsAdapter:
    """Targets only; there is nothing that calls in."""

    def __init__(self, settings: tuple[TeamsSettings, ...]) -> None:
        self._settings = settings

    def routes(self, context: ChatContext) -> None:
        """Return None."""

    def outgoing(self, context: ChatContext) -> list[Outgoing]:  # noqa: ARG002
        """Return one target for each channel."""
        return [TeamsTarget(settings) for settings in self._settings]


class TeamsTarget:
    """One channel."""

    def __init__(self, settings: TeamsSettings) -> None:
        self.name = settings.name
        self._settings = settings

    def wants(self, event: Event) -> bool:
        """Return whether the filter lets the event through."""
        return selects(self._settings.select, event)

    def send(self, event: Event) -> None:
        """Post the card of an incident."""
        from ..teams_card import message

        self._post(message(event))

    def digest(self, incidents: Sequence[Brief]) -> None:
        """Post one card about several incidents."""
        from ..teams_card import digest

        self._post(digest(incidents))

    def again(self, event: Event) -> None:
        """Do nothing: a card that a workflow posted cannot be changed."""

    def _post(self, body: bytes) -> None:
        url, headers = self._settings.url.get_secret_value(), {"Content-Type": "application/json"}
        checked(post(url, body, headers, timeout=self._settings.timeout_seconds))
