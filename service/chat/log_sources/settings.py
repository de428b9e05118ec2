"""What a deployment sets so that the log of an alert is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from ..settings import NONE, PlatformSettings, http_url

_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class LokiSettings(PlatformSettings):
    """Loki, by its HTTP API."""

    url: str = Field(description="of Loki, or of its gateway, without /loki/api/v1")
    labels: Mapping[str, str] = Field(
        {"namespace": "namespace", "pod": "pod"},
        description="label of the stream to label of the alert; all must be there",
    )
    pipeline: str = Field("", description='LogQL that follows the selector: `|= "" != "GET /health"`')
    org_id: str = Field("", description="X-Scope-OrgID, where Loki has tenants")
    token: SecretStr = Field(NONE, description="for `Authorization: Bearer`")
    username: str = ""
    password: SecretStr = NONE
    lookback_seconds: Annotated[float, Field(gt=0)] = Field(3600, description="before the alert's start")
    lines: Annotated[int, Field(ge=1, le=100_000)] = Field(
        5000, description="the last so many; Loki has a limit of its own"
    )
    max_bytes: Annotated[int, Field(ge=1)] = Field(64 << 20, description="of Loki's answer; larger ones are not read")
    timeout_seconds: Annotated[float, Field(gt=0, le=120)] = 10

    @field_validator("url")
    @classmethod
    def _url(cls, value: str) -> str:
        return http_url(value).rstrip("/")

    @field_validator("labels")
    @classmethod
    def _labels(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        if not value or not all(_LABEL.fullmatch(name) for pair in value.items() for name in pair):
            raise ValueError("labels are names of letters, digits and underscores, at least one pair")
        return value

    @model_validator(mode="after")
    def _credentials(self) -> Self:
        if bool(self.username) != bool(self.password.get_secret_value()):
            raise ValueError("username and password go together")
        return self


class KubernetesSettings(PlatformSettings):
    """The API of the cluster that the service runs in, or that a kubeconfig names."""

    kubeconfig: Path | None = Field(None, description="file; without it the pod's own service account")
    context: str = Field("", description="of the kubeconfig; empty: its current one")
    namespace_label: str = "namespace"
    pod_label: str = "pod"
    container_label: str = "container"
    container: str = Field("", description="where the alert names none; empty: the pod's default")
    namespaces: frozenset[str] = Field(
        frozenset(), description="that logs are read from; empty: all that its role allows"
    )
    lines: Annotated[int, Field(ge=1)] = Field(20_000, description="the last so many, of the last two starts each")
    max_bytes: Annotated[int, Field(ge=1)] = 16 << 20
    timeout_seconds: Annotated[float, Field(gt=0, le=120)] = 10
