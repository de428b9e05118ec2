"""What the history is asked, and how it fails; what it gives is the service's own (``service/wire.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ...classifier.errors import TriageError

Step = Literal["hour", "day"]
Order = Literal["last_seen", "first_seen"]


class HistoryError(TriageError):
    """The history cannot be read or written; the message says why and what to do, and holds no password.

    Args:
        message: For whoever runs the service: it may name the database.
        reason: For everybody: what is wrong, without names.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or "the history cannot be written"


@dataclass(slots=True, frozen=True)
class Filter:
    """Which incidents to list; what is empty does not restrict."""

    tenant: str | None = ""
    """Whose; empty: those of no tenant, None: all there are."""
    service: str = ""
    bucket: str = ""
    cause: str = ""
    fingerprint: str = ""
    feedback: str = ""
    """``right`` or ``wrong``, as a person said last; ``none``: nobody said anything."""
    state: str = ""
    """``open``, ``acknowledged`` or ``muted``."""
    assignee: str = ""
    since: datetime | None = None
    """Seen at or after this."""
    until: datetime | None = None
    """First seen before this."""
    q: str = ""
    """Text within title, cause, name, service, model or fingerprint, whatever the case."""
    limit: int = 50
    """Incidents of a page, 1 to 500."""
    cursor: str = ""
    """``Incidents.next`` of the page before, with the same filter."""
    order: Order = "last_seen"
    """``last_seen``: the latest first; no incident comes twice, one that happens again meanwhile moves to the front and
    out of this walk. ``first_seen``: newest first; every incident that was there at the start comes exactly once."""
