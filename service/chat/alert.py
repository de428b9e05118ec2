"""One alert, as Alertmanager's webhook (version 4) brings it."""

from __future__ import annotations

import hashlib
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class Alert(BaseModel):
    """An alert of a notification."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    status: str
    labels: dict[str, str]
    annotations: dict[str, str] = {}
    starts_at: str = Field("", alias="startsAt")
    fingerprint: str = ""

    @property
    def began(self) -> datetime | None:
        """When it began to fire; None where it does not tell."""
        try:
            moment = datetime.fromisoformat(self.starts_at)
        except ValueError:
            return None
        return moment if moment.tzinfo else None

    @property
    def identity(self) -> str:
        """The same for every report of one alert that fires, another when it fires anew."""
        labels = self.fingerprint or hashlib.sha256(repr(sorted(self.labels.items())).encode()).hexdigest()[:16]
        return f"{labels}:{self.starts_at}"
