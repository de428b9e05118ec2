"""What the history takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from ...classifier.errors import TriageError

Verdict = Literal["right", "wrong"]
Step = Literal["hour", "day"]
Order = Literal["last_seen", "first_seen"]


class HistoryError(TriageError):
    """The history cannot be read or written; the message says why and what to do, and holds no password."""


@dataclass(slots=True, frozen=True)
class Incident:
    """One failure (fingerprint) in one service, however often it was seen."""

    id: str
    """``inc_`` and 26 letters and digits: nobody can guess it, so that it serves as a link to share."""
    fingerprint: str
    service: str
    """Label that the sender gave; empty where none."""
    name: str
    """Name of the latest log; empty where it had none."""
    bucket: str
    cause: str
    title: str
    confidence: float
    decided_by: str
    vllm_version: str
    model: str
    occurrences: int
    first_seen: datetime
    """Aware, UTC, as all times here."""
    last_seen: datetime
    new: bool = False
    """Whether the log just recorded is the first of it; false where incidents are read."""
    feedback: str | None = None
    """The latest verdict: ``right``, ``wrong``, or None."""

    def summary(self) -> dict[str, Any]:
        """Return the incident for JSON, times as text; ``new`` is left out: it belongs to one recording."""
        return {
            "id": self.id,
            "fingerprint": self.fingerprint,
            "bucket": self.bucket,
            "cause": self.cause,
            "title": self.title,
            "confidence": self.confidence,
            "decided_by": self.decided_by,
            "service": self.service,
            "name": self.name,
            "vllm_version": self.vllm_version,
            "model": self.model,
            "occurrences": self.occurrences,
            "first_seen": timestamp(self.first_seen),
            "last_seen": timestamp(self.last_seen),
            "feedback": self.feedback,
        }


@dataclass(slots=True, frozen=True)
class Occurrence:
    """One log of an incident. Only the latest are kept; ``Incident.occurrences`` counts all."""

    id: int
    """The how-manieth it was, from 1."""
    at: datetime
    service: str
    name: str

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"id": self.id, "at": timestamp(self.at), "service": self.service, "name": self.name}


@dataclass(slots=True, frozen=True)
class Feedback:
    """What a person said about the answer of an incident."""

    id: int
    incident: str
    verdict: str
    bucket: str
    """What it really was: the answer where it was right; else as told, empty where not told."""
    cause: str
    note: str
    source: str
    """Who or what said it, as the caller names them; a source has one voice for an incident."""
    at: datetime

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "id": self.id,
            "incident": self.incident,
            "verdict": self.verdict,
            "bucket": self.bucket,
            "cause": self.cause,
            "note": self.note,
            "source": self.source,
            "at": timestamp(self.at),
        }


@dataclass(slots=True, frozen=True)
class Stored:
    """All that is kept of an incident."""

    incident: Incident
    report: dict[str, Any]
    """The latest report, masked."""
    occurrences: list[Occurrence]
    """The latest ones, last first."""
    feedback: list[Feedback]
    """Last first."""


@dataclass(slots=True, frozen=True)
class Filter:
    """Which incidents to list; what is empty does not restrict."""

    service: str = ""
    bucket: str = ""
    cause: str = ""
    fingerprint: str = ""
    since: datetime | None = None
    """Seen at or after this."""
    until: datetime | None = None
    """First seen before this."""
    q: str = ""
    """Text within title, cause, name, service, model or fingerprint, whatever the case."""
    limit: int = 50
    """Incidents of a page, 1 to 500."""
    cursor: str = ""
    """``Page.next`` of the page before, with the same filter."""
    order: Order = "last_seen"
    """``last_seen``: the latest first; no incident comes twice, one that happens again meanwhile moves to the front and
    out of this walk. ``first_seen``: newest first; every incident that was there at the start comes exactly once."""


@dataclass(slots=True, frozen=True)
class Page:
    """A part of a list of incidents."""

    items: list[Incident] = field(default_factory=list)
    next: str | None = None
    """Cursor of the next page; None at the end."""


@dataclass(slots=True, frozen=True)
class Count:
    """Occurrences within an hour or a day (UTC) that begins at ``at``."""

    at: datetime
    count: int


@dataclass(slots=True, frozen=True)
class Counts:
    """Occurrences of a bucket over time; steps without any are left out."""

    bucket: str
    counts: list[Count]


def timestamp(moment: datetime) -> str:
    """Return a time as RFC 3339 in UTC."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
