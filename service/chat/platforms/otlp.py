"""OTLP out: an incident as a log record with an event name and semantic attributes, to any OpenTelemetry backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, SecretStr, field_validator

from ..http_out import checked, post
from ..interface import Event, Outgoing, selects
from ..settings import PlatformSettings, Selection, http_url

if TYPE_CHECKING:
    from ..interface import ChatContext


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


def adapter(settings: OtlpSettings) -> OtlpAdapter:
    """Return the adapter."""
    # What a record is made with is an extra.
    from ..otlp_record import export

    del export
    return OtlpAdapter(settings)


class OtlpAdapter:
    """A target only; logs come in by the collectors' endpoints."""

    def __init__(self, settings: OtlpSettings) -> None:
        self._settings = settings

    def routes(self, context: ChatContext) -> None:
        """Return None."""

    def outgoing(self, context: ChatContext) -> list[Outgoing]:  # noqa: ARG002
        """Return the endpoint."""
        return [OtlpTarget(self._settings)]


class OtlpTarget:
    """One endpoint."""

    name = "otlp"

    def __init__(self, settings: OtlpSettings) -> None:
        self._settings = settings

    def wants(self, event: Event) -> bool:
        """Return whether the filter lets the event through."""
        return selects(self._settings.select, event)

    def send(self, event: Event) -> None:
        """Export one record; its id is the same for every try."""
        from ..otlp_record import export

        headers = {name: value.get_secret_value() for name, value in self._settings.headers.items()}
        headers |= {"Content-Type": "application/x-protobuf", "User-Agent": "vllm-triage"}
        checked(post(self._settings.url, export(event), headers, timeout=self._settings.timeout_seconds))

    def again(self, event: Event) -> None:
        """Do nothing: one record per incident and window."""
