"""What a deployment may set for all of chat-ops; what it may set for a platform stands with it (platforms/).

Variables: ``VLLM_TRIAGE_SLACK__SIGNING_SECRET``, ``VLLM_TRIAGE_ALERTMANAGER__TOKEN``,
``VLLM_TRIAGE_WEBHOOKS='[{"url": …, "secrets": [...]}]'``, ``VLLM_TRIAGE_NOTIFY__WINDOW_SECONDS`` …
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr

NONE = SecretStr("")


class PlatformSettings(BaseModel):
    """What the settings of all platforms have in common."""

    # A misspelt name is an error: a filter that is not applied would go unnoticed.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Selection(PlatformSettings):
    """Which incidents a target wants; empty lists mean all."""

    buckets: frozenset[str] = Field(frozenset(), description="buckets, or bucket/cause")
    services: frozenset[str] = Field(frozenset(), description="service labels")
    tenants: frozenset[str] = Field(
        frozenset(), description="tenants whose incidents are sent; empty: those of no tenant alone"
    )
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.0
    only_new: bool = Field(default=False, description="only incidents that were never seen before in their service")


class NotifySettings(PlatformSettings):
    """How messages about incidents are delivered."""

    window_seconds: Annotated[float, Field(gt=0)] = Field(3600, description="one message per incident and window")
    queue: Annotated[int, Field(ge=1)] = Field(1000, description="messages and jobs waiting; more are refused")
    workers: Annotated[int, Field(ge=1, le=32)] = 2
    attempts: Annotated[int, Field(ge=1, le=1000)] = Field(100, description="tries to deliver one message")
    backoff_seconds: Annotated[float, Field(gt=0)] = Field(
        1.0, description="before the second try; doubles, with jitter"
    )
    backoff_limit_seconds: Annotated[float, Field(gt=0)] = 300
    digest_after: Annotated[int, Field(ge=1)] = Field(
        10, description="messages to one chat within `digest_seconds`; the rest come as one"
    )
    digest_seconds: Annotated[float, Field(gt=0)] = 60
    drain_seconds: Annotated[float, Field(ge=0)] = Field(10, description="given to what is waiting at shutdown")
    update_seconds: Annotated[float, Field(ge=0)] = Field(
        5, description="at least this long between two updates of a counter"
    )


class ChatSettings(PlatformSettings):
    """All of chat-ops; what is not given is off."""

    platforms: Mapping[str, Any] = {}
    """By the platform's name: what is set for it, an object of its settings or a tuple of them."""
    notify: NotifySettings = NotifySettings()


def http_url(value: str) -> str:
    """Return a URL as it is.

    Raises:
        ValueError: It is none of HTTP, or holds credentials.
    """
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a http or https URL")
    if parts.username or parts.password:
        raise ValueError("credentials do not belong into a URL")
    return value
