"""OTLP out: an incident as a log record with an event name and semantic attributes, to any OpenTelemetry backend."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SecretStr, field_validator

from ..http_out import checked, post
from ..interface import Event
from ..settings import PlatformSettings, Selection, http_url
from ..targets import Target, Targets


class OtlpSettings(PlatformSettings):
    """A collector or backend that takes OTLP/HTTP."""

    url: str = Field(description="OTLP/HTTP endpoint; `/v1/logs` is added where it is not there")
    headers: dict[str, SecretStr] = Field({}, description="headers to send, such as Authorization")
    select: Selection = Selection()
    timeout_seconds: Annotated[float, Field(gt=0, le=120)] = 10

    @field_validator("url")
    @classmethod
    def _url(cls, value: str) -> str:
        value = http_url(value).rstrip("/")
        return value if value.endswith("/v1/logs") else f"{value}/v1/logs"


SETTINGS = OtlpSettings
ABOUT = "OTLP: incidents as log records of OpenTelemetry"
SEVERAL = False
EXTRA = "collect"


def adapter(settings: OtlpSettings) -> Targets:
    """Return the adapter."""
    # What a record is made with is an extra.
    from ..otlp_record import export

    del export
    return Targets([OtlpTarget(settings)])


class OtlpTarget(Target):
    """One endpoint."""

    def __init__(self, settings: OtlpSettings) -> None:
        super().__init__("otlp", settings.select)
        self._settings = settings

    def send(self, event: Event) -> None:
        """Export one record; its id is the same for every try."""
        from ..otlp_record import export

        headers = {name: value.get_secret_value() for name, value in self._settings.headers.items()}
        headers |= {"Content-Type": "application/x-protobuf", "User-Agent": "vllm-triage"}
        checked(post(self._settings.url, export(event), headers, timeout=self._settings.timeout_seconds))
