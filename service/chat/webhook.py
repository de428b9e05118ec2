"""The webhook out: an incident as versioned JSON, signed by the Standard Webhooks scheme."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fastapi import APIRouter

from .http_out import checked, post
from .interface import ChatContext, Event, Outgoing, selects
from .settings import WebhookSettings, webhook_key

VERSION = "1"


def adapter(settings: tuple[WebhookSettings, ...]) -> WebhookAdapter:
    """Return the adapter for all targets."""
    return WebhookAdapter(settings)


class WebhookAdapter:
    """Targets only; there is nothing that calls in."""

    def __init__(self, settings: tuple[WebhookSettings, ...]) -> None:
        self._settings = settings

    def routes(self, context: ChatContext) -> APIRouter | None:  # noqa: ARG002
        """Return None."""
        return None

    def outgoing(self, context: ChatContext) -> list[Outgoing]:  # noqa: ARG002
        """Return one target for each URL."""
        return [WebhookTarget(settings) for settings in self._settings]


class WebhookTarget:
    """One URL."""

    def __init__(self, settings: WebhookSettings) -> None:
        self.name = settings.label
        self._settings = settings
        self._keys = [webhook_key(secret) for secret in settings.secrets]

    def wants(self, event: Event) -> bool:
        """Return whether the filter of this target lets the event through."""
        return selects(self._settings.select, event)

    def send(self, event: Event) -> None:
        """Post the event; the id is the same for every try."""
        body = json.dumps(payload(event), ensure_ascii=False, separators=(",", ":")).encode()
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

    def again(self, event: Event) -> None:
        """Do nothing: one request per incident and window."""


def payload(event: Event) -> dict[str, Any]:
    """Return what is posted."""
    return {
        "version": VERSION,
        "event": "incident",
        "id": event.id,
        "incident": incident_fields(event),
        "report": event.report,
        "recurrence": event.recurrence,
        "link": event.link or None,
    }


def incident_fields(event: Event) -> dict[str, Any] | None:
    """Return the incident as the HTTP API shows it, or None in stateless mode."""
    incident = event.incident
    if incident is None:
        return None
    return {
        "id": incident.id,
        "fingerprint": incident.fingerprint,
        "occurrences": incident.occurrences,
        "first_seen": _utc(incident.first_seen),
        "last_seen": _utc(incident.last_seen),
        "service": incident.service,
        "new": incident.new,
        "url": f"/incidents/{incident.id}",
    }


def signatures(keys: Iterable[bytes], identifier: str, timestamp: int, body: bytes) -> str:
    """Return the header ``webhook-signature``: one signature for each key."""
    signed = f"{identifier}.{timestamp}.".encode() + body
    return " ".join("v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys)


def _utc(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
