"""The webhook out: an incident as versioned JSON, signed by the Standard Webhooks scheme."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from ...wire import dumps
from ..http_out import checked, post
from ..interface import Event
from ..settings import PlatformSettings, Selection, http_url
from ..targets import Target, Targets

VERSION = "1"


class WebhookSettings(PlatformSettings):
    """One target of the webhook out."""

    url: str
    secrets: Annotated[tuple[SecretStr, ...], Field(min_length=1)] = Field(
        description="Standard Webhooks secrets (whsec_ and base64); every one signs, so that they can be rotated"
    )
    name: str = Field("", description="in logs and metrics; the host if empty")
    select: Selection = Selection()
    forbid_private: bool = Field(default=False, description="refuse targets in private networks")
    timeout_seconds: Annotated[float, Field(gt=0, le=120)] = 10

    @field_validator("url")
    @classmethod
    def _url(cls, value: str) -> str:
        return http_url(value)

    @field_validator("secrets")
    @classmethod
    def _decodable(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for secret in value:
            webhook_key(secret)
        return value

    @property
    def label(self) -> str:
        """The name in logs and metrics: never the URL, whose path may hold a secret."""
        return self.name or urlsplit(self.url).hostname or "webhook"


SETTINGS = WebhookSettings
ABOUT = "signed webhooks out"
SEVERAL = True


def preview(event: Event) -> str:
    """Return the message as it would be sent."""
    return dumps(payload(event)).decode()


def adapter(settings: tuple[WebhookSettings, ...]) -> Targets:
    """Return the adapter for all targets."""
    return Targets(map(WebhookTarget, settings))


class WebhookTarget(Target):
    """One URL."""

    def __init__(self, settings: WebhookSettings) -> None:
        super().__init__(settings.label, settings.select)
        self._settings = settings
        self._keys = [webhook_key(secret) for secret in settings.secrets]

    def send(self, event: Event) -> None:
        """Post the event; the id is the same for every try."""
        body = dumps(payload(event))
        timestamp = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "vllm-triage",
            "Idempotency-Key": event.id,
            "webhook-id": event.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signatures(self._keys, event.id, timestamp, body),
        }
        settings = self._settings
        checked(
            post(settings.url, body, headers, timeout=settings.timeout_seconds, public_only=settings.forbid_private)
        )


def payload(event: Event) -> dict[str, object]:
    """Return what is posted."""
    return {
        "version": VERSION,
        "event": "incident",
        "id": event.id,
        "incident": event.incident.reference(f"/incidents/{event.incident.id}") if event.incident else None,
        "report": event.report,
        "evidence": event.report.pack().text() if event.report.kept is not None else "",
        "recurrence": event.recurrence,
        "link": event.link or None,
    }


def signatures(keys: Iterable[bytes], identifier: str, timestamp: int, body: bytes) -> str:
    """Return the header ``webhook-signature``: one signature for each key."""
    signed = f"{identifier}.{timestamp}.".encode() + body
    return " ".join("v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys)


def webhook_key(secret: SecretStr) -> bytes:
    """Return the bytes of a Standard Webhooks secret.

    Raises:
        ValueError: It is no base64, or too short to protect anything.
    """
    try:
        key = base64.b64decode(secret.get_secret_value().removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a secret is whsec_ and base64") from None
    if len(key) < 24:
        raise ValueError("a secret has at least 24 bytes before base64")
    return key
