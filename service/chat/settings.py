"""What a deployment may set for chat-ops; the service's settings nest these models.

Variables: ``VLLM_TRIAGE_SLACK__SIGNING_SECRET``, ``VLLM_TRIAGE_ALERTMANAGER__TOKEN``,
``VLLM_TRIAGE_WEBHOOKS='[{"url": …, "secrets": [...]}]'``, ``VLLM_TRIAGE_NOTIFY__WINDOW_SECONDS`` …
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from string import Formatter
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

NONE = SecretStr("")


class _Settings(BaseModel):
    # A misspelt name is an error: a filter that is not applied would go unnoticed.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Selection(_Settings):
    """Which incidents a target wants; empty lists mean all."""

    buckets: frozenset[str] = Field(frozenset(), description="buckets, or bucket/cause")
    services: frozenset[str] = Field(frozenset(), description="service labels")
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.0
    only_new: bool = Field(default=False, description="only incidents that were never seen before in their service")


class NotifySettings(_Settings):
    """How messages about incidents are delivered."""

    window_seconds: Annotated[float, Field(gt=0)] = Field(3600, description="one message per incident and window")
    queue: Annotated[int, Field(ge=1)] = Field(1000, description="messages and jobs waiting; more are refused")
    workers: Annotated[int, Field(ge=1, le=32)] = 2
    attempts: Annotated[int, Field(ge=1, le=20)] = Field(6, description="tries to deliver one message")
    backoff_seconds: Annotated[float, Field(gt=0)] = Field(
        1.0, description="before the second try; doubles, with jitter"
    )
    backoff_limit_seconds: Annotated[float, Field(gt=0)] = 300
    drain_seconds: Annotated[float, Field(ge=0)] = Field(10, description="given to what is waiting at shutdown")
    update_seconds: Annotated[float, Field(ge=0)] = Field(
        5, description="at least this long between two updates of a counter"
    )


class SlackSettings(_Settings):
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
        return _http_url(value).rstrip("/") + "/"

    @property
    def plain_http(self) -> bool:
        """Whether the API is reached without TLS (a test server): files then may be too."""
        return self.api_url.startswith("http:")


class WebhookSettings(_Settings):
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
        return _http_url(value)

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


class AlertmanagerSettings(_Settings):
    """Alertmanager's webhook in. One way to authenticate must be given, or ``anonymous`` said."""

    token: SecretStr = Field(NONE, description="for `Authorization: Bearer` or `X-API-Key`")
    username: str = ""
    password: SecretStr = NONE
    anonymous: bool = Field(default=False, description="anyone who reaches the port may post alerts")
    annotation: str = Field("vllm_triage_log", description="the annotation that carries log text")
    log_root: Path | None = Field(None, description="the only folder that log files are read from")
    log_template: str = Field("{namespace}/{pod}.log", description="path below log_root, made of the alert's labels")
    log_bytes: Annotated[int, Field(ge=1)] = Field(64 << 20, description="of a file, the last so many bytes are read")
    service_labels: tuple[str, ...] = Field(
        ("service", "deployment", "job"), description="the first of these labels that an alert has is its service"
    )
    max_alerts: Annotated[int, Field(ge=1)] = Field(1000, description="alerts of one request that are looked at")

    @field_validator("log_template")
    @classmethod
    def _template(cls, value: str) -> str:
        for _, name, spec, conversion in Formatter().parse(value):
            if spec or conversion or (name is not None and not name.isidentifier()):
                raise ValueError("only plain {label} fields are allowed")
        return value

    @model_validator(mode="after")
    def _guarded(self) -> Self:
        if bool(self.username) != bool(self.password.get_secret_value()):
            raise ValueError("username and password go together")
        if not (self.token.get_secret_value() or self.username or self.anonymous):
            raise ValueError("give a token, or username and password, or set anonymous = true")
        return self


class ChatSettings(_Settings):
    """All of chat-ops; what is not given is off."""

    slack: SlackSettings | None = None
    webhooks: tuple[WebhookSettings, ...] = ()
    alertmanager: AlertmanagerSettings | None = None
    notify: NotifySettings = NotifySettings()


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


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a http or https URL")
    if parts.username or parts.password:
        raise ValueError("credentials do not belong into a URL")
    return value
