"""Discord: a slash command that answers logs, and a channel that incidents are told in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from ..settings import NONE, PlatformSettings, Selection, http_url

if TYPE_CHECKING:
    from ..interface import Adapter, Event


class DiscordSettings(PlatformSettings):
    """A Discord application, a webhook of a channel, or both."""

    public_key: str = Field("", description="of the application, as its page shows it; turns the slash command on")
    application_id: str = Field("", description="of the application")
    webhook_url: SecretStr = Field(NONE, description="webhook of the channel for incidents; empty: none")
    select: Selection = Selection()
    guilds: frozenset[str] = Field(frozenset(), description="ids of the servers that are answered; empty: all")
    api_url: str = "https://discord.com/api/v10/"
    file_hosts: frozenset[str] = Field(
        frozenset({"cdn.discordapp.com", "media.discordapp.net"}), description="hosts that files are fetched from"
    )
    max_file_bytes: Annotated[int, Field(ge=1)] = 64 << 20
    timeout_seconds: Annotated[float, Field(gt=0, le=120)] = 10

    @field_validator("public_key")
    @classmethod
    def _key(cls, value: str) -> str:
        if value and (len(value) != 64 or not set(value.lower()) <= set("0123456789abcdef")):
            raise ValueError("is 64 hexadecimal digits")
        return value

    @field_validator("application_id")
    @classmethod
    def _id(cls, value: str) -> str:
        if value and not (value.isascii() and value.isdigit()):
            raise ValueError("is a number")
        return value

    @field_validator("api_url")
    @classmethod
    def _api(cls, value: str) -> str:
        return http_url(value).rstrip("/") + "/"

    @field_validator("webhook_url")
    @classmethod
    def _webhook(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value():
            http_url(value.get_secret_value())
        return value

    @model_validator(mode="after")
    def _together(self) -> Self:
        if bool(self.public_key) != bool(self.application_id):
            raise ValueError("public_key and application_id go together")
        return self

    @property
    def plain_http(self) -> bool:
        """Whether the API is reached without TLS (a test server): files then may be too."""
        return self.api_url.startswith("http:")


SETTINGS = DiscordSettings
ABOUT = "Discord: a slash command that answers logs and files, and a channel for incidents"
SEVERAL = False


def preview(event: Event) -> str:
    """Return the message as it would be sent."""
    from ..discord_embed import message

    return json.dumps(message(event), ensure_ascii=False, indent=2)


def adapter(settings: DiscordSettings) -> Adapter:
    """Return the adapter for one application."""
    # What signatures are checked with is an extra.
    from ..discord_app import DiscordAdapter

    return DiscordAdapter(settings)
