"""What the API answers with, as models: for OpenAPI and for the client; answers themselves are not built from them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...classifier.report.model import Report


class ProblemDetails(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(description="urn:vllm-triage:problem:NAME; the names are listed in docs/http.md")
    title: str = Field(description="the same for every problem of the type")
    status: int
    detail: str = Field(description="what happened here, and what to do")
    instance: str = Field(description="path of the request")
    request_id: str = Field(description="the same as in X-Request-ID and in the service's own log")
    errors: list[dict[str, Any]] | None = Field(None, description="each value that is not possible, with its place")
    near: list[str] | None = Field(None, description="names that may have been meant")


class IncidentRef(BaseModel):
    """The incident that an answer was counted to."""

    id: str
    fingerprint: str = Field(description="the same for the same failure, whatever pids, times and addresses")
    occurrences: int = Field(description="logs of this failure in this service so far")
    first_seen: datetime
    last_seen: datetime
    service: str = Field(description="label; empty where none was given")
    new: bool = Field(description="whether this log is the first of it")
    url: str = Field(description="of the page about it")


class TriageAnswer(Report):
    """The report (docs/output.md), and the incident that it belongs to."""

    incident: IncidentRef | None = Field(
        None, description="null where nothing is kept: no failure, store=false, or a service without history"
    )


class BatchItem(BaseModel):
    """One log of a batch: its report, or the problem with it."""

    name: str
    report: TriageAnswer | None = None
    problem: ProblemDetails | None = None


class BatchAnswer(BaseModel):
    """The answers, in the order of the logs."""

    results: list[BatchItem]


class Event(BaseModel):
    """A line of a stream. ``event`` says which of the other fields there are."""

    model_config = ConfigDict(extra="allow")

    event: Literal["progress", "verdict", "report", "problem"]
    lines: int | None = None
    bytes: int | None = None
    reached: str | None = None
    report: TriageAnswer | None = None
    problem: ProblemDetails | None = None


class BucketSummary(BaseModel):
    """A kind of failure."""

    id: str
    title: str
    causes: list[str] = Field(description="ids of its causes: bucket/cause")


class Buckets(BaseModel):
    """All kinds of failure."""

    buckets: list[BucketSummary]


class Bucket(BaseModel):
    """A kind of failure: what it means, its causes with their fixes, its rules."""

    model_config = ConfigDict(extra="allow")

    id: str
    title: str
    meaning: str
    causes: dict[str, dict[str, Any]]
    rules: list[dict[str, Any]]


class Rules(BaseModel):
    """What is looked for."""

    rules: list[dict[str, Any]]


class IncidentSummary(BaseModel):
    """A failure in a service, however often it was seen."""

    id: str
    fingerprint: str
    bucket: str
    cause: str
    title: str
    confidence: float
    decided_by: str
    service: str
    name: str = Field(description="of the latest log")
    vllm_version: str
    model: str
    occurrences: int
    first_seen: datetime
    last_seen: datetime
    feedback: Literal["right", "wrong"] | None


class Incidents(BaseModel):
    """A page of incidents."""

    items: list[IncidentSummary]
    next: str | None = Field(description="cursor of the next page; null at the end")


class OccurrenceItem(BaseModel):
    """One log of an incident."""

    id: int
    at: datetime
    service: str
    name: str


class FeedbackItem(BaseModel):
    """What a person said about an answer."""

    id: int
    incident: str
    verdict: Literal["right", "wrong"]
    bucket: str
    cause: str
    note: str
    source: str
    at: datetime


class IncidentDetails(BaseModel):
    """All that is kept of an incident."""

    incident: IncidentSummary
    report: Report
    occurrences: list[OccurrenceItem] = Field(description="the latest, last first")
    feedback: list[FeedbackItem]


class CountItem(BaseModel):
    """Occurrences within a step."""

    at: datetime
    count: int


class BucketCounts(BaseModel):
    """Occurrences of a bucket over time; steps without any are left out."""

    bucket: str
    counts: list[CountItem]


class Stats(BaseModel):
    """Occurrences over time."""

    buckets: list[BucketCounts]
    total: int


class Health(BaseModel):
    """Whether the service is alive, or ready."""

    status: Literal["ok", "not ready"]
    checks: dict[str, str] = {}
