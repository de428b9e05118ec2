"""Alertmanager's webhook in: alerts about vLLM servers become answered incidents."""

from __future__ import annotations

from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from ..log_sources.settings import KubernetesSettings, LokiSettings
from ..settings import NONE, PlatformSettings

if TYPE_CHECKING:
    from ..interface import Adapter


class AlertmanagerSettings(PlatformSettings):
    """Alertmanager's webhook in. One way to authenticate must be given, or ``anonymous`` said."""

    token: SecretStr = Field(NONE, description="for `Authorization: Bearer` or `X-API-Key`")
    username: str = ""
    password: SecretStr = NONE
    anonymous: bool = Field(default=False, description="anyone who reaches the port may post alerts")
    annotation: str = Field("vllm_triage_log", description="the annotation that carries log text")
    log_root: Path | None = Field(None, description="the only folder that log files are read from")
    log_template: str = Field("{namespace}/{pod}.log", description="path below log_root, made of the alert's labels")
    log_bytes: Annotated[int, Field(ge=1)] = Field(64 << 20, description="of a file, the last so many bytes are read")
    loki: LokiSettings | None = Field(None, description="where logs are fetched from, by the alert's labels")
    kubernetes: KubernetesSettings | None = Field(None, description="the same")
    service_labels: tuple[str, ...] = Field(
        ("service", "deployment", "job"), description="the first of these labels that an alert has is its service"
    )

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


SETTINGS = AlertmanagerSettings
ABOUT = "Alertmanager's webhook in: alerts become answered incidents"
SEVERAL = False


def adapter(settings: AlertmanagerSettings) -> Adapter:
    """Return the adapter."""
    from ..alert_receiver import AlertmanagerAdapter

    return AlertmanagerAdapter(settings)
