"""What a chat platform is to the service: routes in, messages out. One file of platforms/ implements it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ...classifier.masking.mask import mask
from ..letter import Letter
from .readers import Readable
from .settings import ChatSettings, Selection

if TYPE_CHECKING:
    from fastapi import APIRouter

    from ...classifier.report.model import Report
    from ..history import History
    from ..wire import Incident
    from .firing import Firing

ALERTS = "alerts"
"""The lane of the outbox that alerts wait in."""
Source = bytes | Readable
"""A log: its bytes, or a binary file that is read to its end."""


@dataclass(frozen=True)
class Event:
    """An incident happened (again), or is over."""

    report: Report
    incident: Incident | None = None
    service: str = ""
    name: str = ""
    link: str = ""
    recurrence: int = 1
    """How often it happened in this window."""
    received: int = 1
    """How often it was told of: an alert that still fires is reported again and again."""
    note: str = ""
    """What the sender adds, in plain words."""
    id: str = ""
    """The same for every try to deliver one message: receivers recognise a repetition by it."""
    key: str = ""
    """The incident in its service: what messages are counted by."""
    resolved: bool = False
    tenant: str = ""
    """Whose it is; empty for nobody's in particular."""

    @property
    def new(self) -> bool:
        """Whether the incident was never seen before (without a history: as far as anybody knows)."""
        return self.incident is None or self.incident.new


@dataclass(frozen=True, slots=True)
class Brief:
    """What a message about several incidents says of one: little, for there may be thousands."""

    cause: str
    title: str
    service: str
    link: str

    @classmethod
    def of(cls, event: Event) -> Brief:
        """Return what is said of an event's incident."""
        return cls(event.report.cause, event.report.title, event.service, event.link)


class Ask(Protocol):
    """How a platform has a log answered."""

    def __call__(
        self, source: Source, *, service: str = "", name: str = "", store: bool = True
    ) -> tuple[Report, Incident | None]:
        """Return the report, and the incident that it was counted to.

        Args:
            source: The log.
            service: Label of the service that it is of.
            name: Of the log.
            store: Whether the answer is kept.

        Raises:
            InputError: It is no log.
            BusyError: There is too much to do.
        """
        ...


class Outgoing(Protocol):
    """A place that messages about incidents go to."""

    name: str

    def wants(self, event: Event) -> bool:
        """Return whether the event is for this target."""
        ...

    def send(self, event: Event) -> None:
        """Deliver the first message of an incident in its window.

        Raises:
            RetryError: It may work later.
            UndeliverableError: It never will.
        """
        ...

    def again(self, event: Event) -> None:
        """Show that the incident happened again, or is over, without a new message.

        Does nothing where there is no way to, or no message of this window went out.
        """
        ...


@runtime_checkable
class Gathering(Protocol):
    """A target for people: many messages at one time come as one."""

    def digest(self, incidents: Sequence[Brief]) -> None:
        """Deliver one message about several incidents; raises as ``send`` does."""
        ...


class Adapter(Protocol):
    """One platform."""

    def routes(self, context: ChatContext) -> APIRouter | None:
        """Return the endpoints that the platform calls, or None."""
        ...

    def outgoing(self, context: ChatContext) -> list[Outgoing]:
        """Return the targets of messages about incidents."""
        ...


class RetryError(Exception):
    """A message was not delivered; another try may help.

    Args:
        reason: A word for logs and metrics; never text of a log or of an answer.
        after: Seconds that the receiver asked to wait.
    """

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class UndeliverableError(Exception):
    """A message will never be delivered; the text is a word for logs and metrics."""


class BusyError(Exception):
    """The queue is full, or the service stops."""


@dataclass
class ChatContext:
    """What the service offers to adapters. All of it is synchronous and may be called from any thread."""

    settings: ChatSettings
    triage: Ask
    """Answers a log. Raises ``InputError`` where it is no log, `BusyError` where there is too much to do."""
    record: Callable[[Report, str, Sequence[str]], Incident | None] = lambda *_: None
    """Keeps a report that answers logs of a service, by the names of the logs; None where it is not kept."""
    link: Callable[[str], str] = lambda _: ""
    """The absolute URL of an incident id, or an empty text."""
    history: History | None = None
    once: Callable[[str, float], tuple[bool, int]] = field(init=False)
    """``once(key, window_seconds)``: is this the first in the window, and how many were there?"""
    firing: Firing = field(init=False)
    """Alerts that fire."""
    run_in_background: Callable[[Callable[[], None]], None] = field(init=False)
    """Raises `BusyError` where no more work is taken."""
    tell: Callable[[Event, int, int], None] = field(init=False)
    """``tell(event, new, repeated)`` has all targets told, once per incident and window; written down when it returns."""
    tell_each: Callable[[Sequence[tuple[Event, int, int]]], None] = field(init=False)
    """The same for many events at one time. Raises ``HistoryError`` where it cannot be written down; nothing was told then."""
    take_in: Callable[[Sequence[Letter]], None] = field(init=False)
    """Keeps letters of the lane ``alerts``, to be handled by ``work_off_alerts``; written down when it returns, where there
    is a history. Raises ``HistoryError`` or `BusyError`."""
    work_off_alerts: Callable[[Sequence[bytes]], object] = field(init=False)
    """Set by the platform that takes alerts in: handles the bodies of some letters, all or none. Raises `BusyError` where
    they are to be tried again."""
    alerts_done: Callable[[Sequence[Mapping[str, Any]]], None] = lambda _: None
    """Told what became of alerts."""
    counted: Callable[[str, str, int], None] = lambda *_: None
    """``counted(target, outcome, number)``: for the figures."""
    forget: Callable[[str], None] = field(init=False)
    """Takes back what `once` noted: the work was not done."""
    resolve: Callable[[str], None] = field(init=False)
    """Has the targets told that the window of an incident key has ended."""
    shown_anew: list[Callable[[Event], None]] = field(default_factory=list)
    """Added to by adapters that change messages which stand: told of an answer that a second opinion came to."""

    def feedback(self, incident_id: str, verdict: str, bucket: str = "", note: str = "", source: str = "") -> bool:
        """Store what a person said about an answer; return whether it was stored.

        Raises:
            ValueError: The verdict or the bucket is unknown.
        """
        if self.history is None:
            return False
        try:
            self.history.feedback(incident_id, verdict, bucket=bucket, note=note, source=source)
        except KeyError:
            return False
        return True


def new_id(kind: str) -> str:
    """Return an id that there is once."""
    return f"{kind}_{uuid.uuid4().hex}"


def event_of(  # noqa: PLR0913 - all that an event says
    context: ChatContext,
    report: Report,
    incident: Incident | None,
    *,
    service: str = "",
    name: str = "",
    note: str = "",
    tenant: str = "",
) -> Event:
    """Return the event of a report."""
    link = context.link(incident.id) if incident else ""
    key = incident_key(report, incident, service)
    if tenant:
        key = f"{key}@{tenant}"
    return Event(report, incident, mask(service), mask(name), link, note=mask(note), key=key, tenant=tenant)


def incident_key(report: Report, incident: Incident | None, service: str) -> str:
    """Return what messages about a report are counted by: its fingerprint, in its service."""
    if incident is not None:
        return f"incident:{incident.fingerprint}:{incident.service}"
    from ..fingerprint import fingerprint

    return f"incident:{fingerprint(report)}:{service}"


def second_opinion(report: Report) -> str:
    """Return what is said of a second opinion whose fix stands first; "" where none does."""
    first = report.fixes[0] if report.fixes else None
    if first is None or not any(proposed.first for proposed in report.proposals):
        return ""
    return f"A second opinion, checked: {first.title}"


def selects(select: Selection, event: Event) -> bool:
    """Return whether a target's filter lets an event through."""
    report = event.report
    if event.tenant not in (select.tenants or {""}):
        return False
    if select.buckets and not select.buckets & {report.bucket, report.cause}:
        return False
    if select.services and event.service not in select.services:
        return False
    if report.confidence < select.min_confidence:
        return False
    return event.new or not select.only_new
