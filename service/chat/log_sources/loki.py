"""Loki: the last lines of the streams that an alert's labels select."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from ..http_out import ask
from ..interface import RetryError, UndeliverableError
from .interface import SourceError, named
from .settings import LokiSettings


class Loki:
    """One Loki."""

    name = "loki"

    def __init__(self, settings: LokiSettings) -> None:
        self._settings = settings
        self._headers = {"Accept": "application/json", "User-Agent": "vllm-triage"}
        if settings.org_id:
            self._headers["X-Scope-OrgID"] = settings.org_id
        if token := settings.token.get_secret_value():
            self._headers["Authorization"] = f"Bearer {token}"
        elif settings.username:
            pair = f"{settings.username}:{settings.password.get_secret_value()}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"

    def log_of(self, labels: Mapping[str, str], since: datetime | None) -> bytes | None:
        """Return the lines of a time before the alert began, and of all since."""
        settings = self._settings
        values = named(labels, *settings.labels.values())
        if values is None:
            return None
        # Values are names, without quotes or backslashes.
        selector = ", ".join(f'{name}="{value}"' for name, value in zip(settings.labels, values, strict=True))
        now = datetime.now(UTC)
        start = min(since or now, now) - timedelta(seconds=settings.lookback_seconds)
        asked = {
            "query": f"{{{selector}}} {settings.pipeline}".strip(), "start": _nanoseconds(start), "end": _nanoseconds(now),
            "limit": settings.lines, "direction": "backward",
        }  # fmt: skip
        return _text(self._ask(f"{settings.url}/loki/api/v1/query_range?{urlencode(asked)}"))

    def _ask(self, url: str) -> Any:
        settings = self._settings
        try:
            answer = ask("GET", url, b"", self._headers, timeout=settings.timeout_seconds, most=settings.max_bytes)
        except (RetryError, UndeliverableError) as error:
            raise SourceError(str(error)) from None
        if answer.status != 200:
            raise SourceError(f"status {answer.status}")
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            # Cut where it was too large, or no Loki at all.
            raise SourceError("no JSON, or more than max_bytes") from None


def _text(answer: Any) -> bytes | None:
    """Return the lines of all streams in the order of their times."""
    try:
        rows = [
            (int(at), number, line)
            for stream in answer["data"]["result"]
            # Latest first, as asked: what came at one time stays in its order.
            for number, (at, line, *_) in enumerate(reversed(stream["values"]))
        ]
        lines = [str(line).rstrip("\n") for _, _, line in sorted(rows)]
    except (KeyError, TypeError, ValueError):
        raise SourceError("no streams in the answer") from None
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace") or None


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000_000
