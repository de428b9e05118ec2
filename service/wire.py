"""What the service says: one class for each thing, used by those who make it, by the API and by its clients.

OpenAPI and the client's answers are made of these classes; JSON is their fields (``dumps``). Errors have one of their own
(http/problems.py makes it).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Literal, Self, TypeVar

from pydantic import TypeAdapter

from ..classifier.report.model import INNER, OPTIONAL, Node, Report
from ..corpus.records import field, fields_of, record

Verdict = Literal["right", "wrong"]
HandlingState = Literal["open", "acknowledged", "muted"]
Wire = TypeVar("Wire", bound=Node)
_ADAPTERS: dict[type[Node], TypeAdapter[Any]] = {}


def dumps(value: object) -> bytes:
    """Return a value as JSON: nodes by their fields, times as ``timestamp`` says.

    Half a surrogate that a log brought cannot be sent, a question mark can.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain).encode("utf-8", "replace")


def plain(value: object) -> object:
    """Return a value that JSON has no form for as one that it has: what ``json.dumps`` takes as its ``default``."""
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, Node):
        return value.to_dict()
    return str(value)


def timestamp(moment: datetime) -> str:
    """Return a time as RFC 3339 in UTC, with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def loads(kind: type[Wire], data: str | bytes) -> Wire:
    """Return what JSON says, as one of the classes here.

    Raises:
        ValueError: It says something else.
    """
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    found: Wire = _ADAPTERS[kind].validate_json(data)
    return found


@record(frozen=True, slots=True, kw_only=True)
class ValueProblem(Node):
    """A value that is not possible. It is not repeated: it may be anything."""

    place: tuple[str, ...]
    """where it stands: body, query or path, and the name"""
    message: str


@record(frozen=True, slots=True, kw_only=True)
class ProblemDetails(Node):
    """What went wrong (RFC 9457)."""

    type: str
    """urn:vllm-triage:problem:NAME; the names are listed in docs/http.md"""
    title: str
    """the same for every problem of the type"""
    status: int
    detail: str
    """what happened here, and what to do"""
    instance: str
    """path of the request"""
    request_id: str
    """the same as in X-Request-ID and in the service's own log"""
    errors: tuple[ValueProblem, ...] | None = field(default=None, metadata=OPTIONAL)
    near: tuple[str, ...] | None = field(default=None, metadata=OPTIONAL)
    """names that may have been meant"""


@record(frozen=True, slots=True, kw_only=True)
class IncidentRef(Node):
    """The incident that an answer was counted to."""

    id: str
    fingerprint: str
    """the same for the same failure, whatever pids, times and addresses"""
    occurrences: int
    """logs of this failure in this service so far"""
    first_seen: datetime
    last_seen: datetime
    service: str
    """label; empty where none was given"""
    new: bool
    """whether this log is the first of it"""
    url: str
    """of the page about it"""


@record(frozen=True, slots=True, kw_only=True)
class TriageAnswer(Report):
    """The report (docs/output.md), and the incident that it belongs to."""

    incident: IncidentRef | None = None
    """null where nothing is kept: no failure, store=false, a service without history, or see `not_recorded`"""
    not_recorded: str | None = field(default=None, metadata=OPTIONAL)
    """why the answer, which was to be kept, is not; absent otherwise. While the history cannot be written, logs are answered all the same, and say so here"""

    asking: bool | None = field(default=None, metadata=OPTIONAL)
    """true where a model is asked besides: what it proposes will stand in the incident's report; absent otherwise"""

    @classmethod
    def of(cls, report: Report, incident: IncidentRef | None, not_recorded: str = "", asking: bool = False) -> Self:
        """Return the answer that tells of a report and its incident, or of why it has none."""
        parts = {own.name: getattr(report, own.name) for own in fields_of(type(report))}
        return cls(**parts, incident=incident, not_recorded=not_recorded or None, asking=asking or None)


@record(frozen=True, slots=True, kw_only=True)
class BatchItem(Node):
    """One log of a batch: its report, or the problem with it."""

    name: str
    report: TriageAnswer | None = None
    problem: ProblemDetails | None = None


@record(frozen=True, slots=True, kw_only=True)
class BatchAnswer(Node):
    """The answers, in the order of the logs."""

    results: tuple[BatchItem, ...]


@record(frozen=True, slots=True, kw_only=True)
class Event(Node):
    """A line of a stream. ``event`` says which of the other fields there are."""

    event: Literal["progress", "verdict", "report", "problem"]
    lines: int | None = None
    bytes: int | None = None
    reached: str | None = None
    report: TriageAnswer | None = None
    problem: ProblemDetails | None = None


@record(frozen=True, slots=True, kw_only=True)
class BucketSummary(Node):
    """A kind of failure."""

    id: str
    title: str
    causes: tuple[str, ...]
    """ids of its causes: bucket/cause"""


@record(frozen=True, slots=True, kw_only=True)
class Buckets(Node):
    """All kinds of failure."""

    buckets: tuple[BucketSummary, ...]


@record(frozen=True, slots=True, kw_only=True)
class Bucket(Node):
    """A kind of failure: what it means, its causes with their fixes, its rules."""

    id: str
    title: str
    meaning: str
    causes: dict[str, dict[str, object]]
    rules: tuple[dict[str, object], ...]


@record(frozen=True, slots=True, kw_only=True)
class Rules(Node):
    """What is looked for."""

    rules: tuple[dict[str, object], ...]


@record(frozen=True, slots=True, kw_only=True)
class Incident(Node):
    """A failure (fingerprint) in a service, however often it was seen."""

    id: str
    """`inc_` and 26 letters and digits: nobody can guess it, so that it serves as a link to share"""
    fingerprint: str
    bucket: str
    cause: str
    title: str
    confidence: float
    decided_by: str
    service: str
    """label that the sender gave; empty where none"""
    name: str
    """of the latest log; empty where it had none"""
    vllm_version: str
    model: str
    occurrences: int
    first_seen: datetime
    last_seen: datetime
    feedback: Verdict | None = None
    """the latest verdict of a person"""
    state: HandlingState = "open"
    """acknowledged: somebody looks after it; muted: chats hear nothing of it"""
    muted_until: datetime | None = None
    """null where it is not muted, or without an end"""
    assignee: str = ""
    """who looks after it; empty where nobody was named"""
    handled_by: str = ""
    """who changed that last: the name of a key or a person; empty where nobody did, or without a name"""
    handled_at: datetime | None = None
    new: bool = field(default=False, compare=False, metadata=INNER)
    """Whether the log just recorded is the first of it; false where incidents are read."""
    again: bool = field(default=False, compare=False, metadata=INNER)
    """Whether the log just recorded was counted before, as its `Idempotency-Key` says."""
    tenant: str = field(default="", compare=False, metadata=INNER)
    """Whose it is, as far as the log just recorded tells; empty where incidents are read."""

    def reference(self, url: str) -> IncidentRef:
        """Return what an answer tells of its incident."""
        return IncidentRef(
            id=self.id,
            fingerprint=self.fingerprint,
            occurrences=self.occurrences,
            first_seen=self.first_seen,
            last_seen=self.last_seen,
            service=self.service,
            new=self.new,
            url=url,
        )


@record(frozen=True, slots=True, kw_only=True)
class Incidents(Node):
    """A page of incidents."""

    items: tuple[Incident, ...] = ()
    next: str | None = None
    """cursor of the next page; null at the end"""


@record(frozen=True, slots=True, kw_only=True)
class Occurrence(Node):
    """One log of an incident. Only the latest are kept; ``Incident.occurrences`` counts all."""

    id: int
    """the number of the occurrence, from 1"""
    at: datetime
    service: str
    name: str


@record(frozen=True, slots=True, kw_only=True)
class Feedback(Node):
    """What a person said about an answer."""

    id: int
    incident: str
    verdict: Verdict
    bucket: str
    """what it really was: the answer where it was right; else as told, empty where not told"""
    cause: str
    note: str
    source: str
    """who or what said it; a source has one voice for an incident"""
    at: datetime


@record(frozen=True, slots=True, kw_only=True)
class IncidentDetails(Node):
    """All that is kept of an incident."""

    incident: Incident
    report: Report
    """the latest one"""
    occurrences: tuple[Occurrence, ...]
    """the latest, last first"""
    feedback: tuple[Feedback, ...]
    """last first"""


@record(frozen=True, slots=True, kw_only=True)
class Count(Node):
    """Occurrences within an hour or a day (UTC) that begins at ``at``."""

    at: datetime
    count: int


@record(frozen=True, slots=True, kw_only=True)
class BucketCounts(Node):
    """Occurrences of a bucket over time; steps without any are left out."""

    bucket: str
    counts: tuple[Count, ...]


@record(frozen=True, slots=True, kw_only=True)
class Stats(Node):
    """Occurrences over time."""

    buckets: tuple[BucketCounts, ...]
    total: int


@record(frozen=True, slots=True, kw_only=True)
class UnnamedLine(Node):
    """A line that no rule names, masked, and the incident that it decided."""

    line: str
    incident: str
    service: str


@record(frozen=True, slots=True, kw_only=True)
class UnnamedGroup(Node):
    """Incidents that no rule names, and that failed with like words."""

    id: str
    logs: int
    incidents: int
    first_seen: datetime
    last_seen: datetime
    releases: tuple[str, ...]
    nearest: str
    """the bucket that they are most like; empty where nobody knows"""
    examples: tuple[UnnamedLine, ...]
    rule: str
    """a rule file that would name them (TOML); empty where none is proposed, and `problem` says why"""
    covers: int
    """incidents whose line the proposed rule fits"""
    problem: str
    confirmed: tuple[str, ...] = ()
    """what a model proposed and a person said to be right: cause and change in a line each, for a fix of the rule"""


@record(frozen=True, slots=True, kw_only=True)
class Unnamed(Node):
    """What nobody has named yet."""

    groups: tuple[UnnamedGroup, ...] = ()
    """those with most logs first"""
    incidents: int = 0
    """answered `unknown`, by the text model alone, or by a rule that is not sure; `alone` of them are in no group"""
    alone: int = 0
    made: datetime | None = None
    """when this was worked out; null where it was not yet"""
    pending: bool = False
    """whether it is being worked out now: ask again in a moment"""
    problem: str = ""
    """what kept it from being worked out, or from being whole"""


@record(frozen=True, slots=True, kw_only=True)
class MessageLane(Node):
    """Messages to one chat or webhook, or alerts on their way to be read."""

    target: str
    """name of the chat or webhook; `alerts` for notifications that came in"""
    waiting: int
    since: datetime | None = None
    """when the oldest of those that wait was written; null where none does"""
    failed: int = 0
    """given up within the last days"""
    reason: str = ""
    """why the latest of them was"""


@record(frozen=True, slots=True, kw_only=True)
class Messages(Node):
    """What waits to be delivered."""

    lanes: tuple[MessageLane, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Health(Node):
    """Whether the service is alive, or ready."""

    status: Literal["ok", "degraded", "not ready"]
    """degraded: logs are answered; `checks` says what else does not work"""
    checks: dict[str, str] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class Me(Node):
    """Who asks, and what that allows."""

    name: str = ""
    """of the key or the person; empty where nobody is known, or nobody need be"""
    scopes: tuple[str, ...] = ()
    """what may be done: triage, read, feedback, operate, admin"""
    tenant: str = ""
    """whose incidents are seen; empty: those of no tenant"""
    signed_in: bool = False
    """whether there is a session that can be ended (`POST /auth/logout`)"""
    sign_in: str | None = None
    """path where people sign in; null where they cannot"""
