"""Everything else that takes messages (mail, Mattermost, Matrix, Telegram, PagerDuty …), through the library Apprise."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field, SecretStr, field_validator

from ..interface import Brief, Event, RetryError
from ..settings import PlatformSettings, Selection
from ..targets import Target, Targets

if TYPE_CHECKING:
    import apprise


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


def adapter(settings: tuple[AppriseSettings, ...]) -> Targets:
    """Return the adapter for all places.

    Raises:
        ValueError: Apprise cannot read a URL; which one is told by its name.
    """
    return Targets(map(AppriseTarget, settings))


class AppriseTarget(Target):
    """One place."""

    def __init__(self, settings: AppriseSettings) -> None:
        # It writes addresses, with what is secret in them, and messages to its log.
        silent = logging.getLogger("apprise")
        silent.setLevel(logging.CRITICAL + 1)
        import apprise

        super().__init__(settings.name, settings.select)
        self._settings = settings
        self._apprise: apprise.Apprise = apprise.Apprise()
        if not self._apprise.add(settings.url.get_secret_value()):
            raise ValueError(f"apprise {settings.name}: Apprise cannot read its url")

    def send(self, event: Event) -> None:
        """Send the message of an incident."""
        from .. import short

        self._notify(short.title(event), short.text(event))

    def digest(self, incidents: Sequence[Brief]) -> None:
        """Send one message about several incidents."""
        from .. import short

        self._notify(f"{len(incidents):,} more incidents", "\n".join(short.several(incidents)))

    def _notify(self, title: str, body: str) -> None:
        from apprise import NotifyFormat, NotifyType

        # As text: Apprise escapes it for places that take markup.
        if not self._apprise.notify(body, title, NotifyType.FAILURE, body_format=NotifyFormat.TEXT):
            raise RetryError("not delivered")
