"""What can go wrong between a client and the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...classifier.errors import TriageError


class ClientError(TriageError):
    """Base of what the client raises."""


class UnreachableError(ClientError):
    """The service does not answer: wrong address, not running, or cut off in the middle."""


class ProblemError(ClientError):
    """The service answered with a problem (RFC 9457).

    Args:
        status: Of the response.
        body: The problem; what a proxy sent instead is left out.
    """

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        self.name = str(body.get("type", "")).rpartition(":")[2]
        """``rate-limited``, ``not-a-log`` …: docs/http.md lists them."""
        self.title = str(body.get("title") or f"HTTP {status}")
        self.detail = str(body.get("detail", ""))
        self.request_id = str(body.get("request_id", ""))
        super().__init__(f"{self.title} ({status}): {self.detail}".rstrip(": "))
