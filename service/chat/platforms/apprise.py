"""Everything else that takes messages (mail, Mattermost, Matrix, Telegram, PagerDuty …), through the library Apprise."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field, SecretStr, field_validator

from ..interface import Brief, Event, Outgoing, RetryError, selects
from ..settings import PlatformSettings, Selection

if TYPE_CHECKING:
    import apprise

    from ..interface import ChatContext


class AppriseSettings(PlatformSettings):
    """One place that messages go to."""

    url: SecretStr = Field(description="Apprise's URL of it: mailtos://…, mmosts://…, matrixs://…")
    name: str = Field("apprise", description="in logs and metrics")
    select: Selection = Selection()

    @field_validator("url")
    @classmethod
    def _known(cls, value: SecretStr) -> SecretStr:
        if "://" not in value.get_secret_value():
            raise ValueError("must be a URL of Apprise's")
        return value


SETTINGS = AppriseSettings
ABOUT = "mail, Mattermost, Matrix, Telegram and a hundred others, through Apprise"
SEVERAL = True


def preview(event: Event) -> str:
    """Return the message as it would be sent."""
    from .. import short

    return f"{short.title(event)}\n\n{short.text(event)}"


def adapter(settings: tuple[AppriseSettings, ...]) -> AppriseAdapter:
    """Return the adapter for all places.

    Raises:
        ValueError: Apprise cannot read a URL; which one is told by its name.
    """
    return AppriseAdapter(settings)


class AppriseAdapter:
    """Targets only."""

    def __init__(self, settings: tuple[AppriseSettings, ...]) -> None:
        self._targets = [AppriseTarget(one) for one in settings]

    def routes(self, context: ChatContext) -> None:
        """Return None."""

    def outgoing(self, context: ChatContext) -> list[Outgoing]:  # noqa: ARG002
        """Return one target for each place."""
        return list(self._targets)


class AppriseTarget:
    """One place."""

    def __init__(self, settings: AppriseSettings) -> None:
        # It writes addresses, with what is secret in them, and messages to its log.
        silent = logging.getLogger("apprise")
        silent.setLevel(logging.CRITICAL + 1)
        import apprise

        self.name = settings.name
        self._settings = settings
        self._apprise: apprise.Apprise = apprise.Apprise()
        if not self._apprise.add(settings.url.get_secret_value()):
            raise ValueError(f"apprise {settings.name}: Apprise cannot read its url")

    def wants(self, event: Event) -> bool:
        """Return whether the filter lets the event through."""
        return selects(self._settings.select, event)

    def send(self, event: Event) -> None:
        """Send the message of an incident."""
        from .. import short

        self._notify(short.title(event), short.text(event))

    def digest(self, incidents: Sequence[Brief]) -> None:
        """Send one message about several incidents."""
        from .. import short

        self._notify(f"{len(incidents):,} more incidents", "\n".join(short.several(incidents)))

    def again(self, event: Event) -> None:
        """Do nothing: what was sent cannot be changed."""

    def _notify(self, title: str, body: str) -> None:
        from apprise import NotifyFormat, NotifyType

        # As text: Apprise escapes it for places that take markup.
        if not self._apprise.notify(body, title, NotifyType.FAILURE, body_format=NotifyFormat.TEXT):
            raise RetryError("not delivered")
