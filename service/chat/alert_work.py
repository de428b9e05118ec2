"""What is done with one alert: its log answered, its incident told, its end noted."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...classifier.errors import InputError
from ...classifier.masking.mask import mask
from .alert import Alert
from .alert_logs import log_path, opened_tail
from .interface import BusyError, ChatContext, Event, Source, event_of
from .letters import pack_event, unpack_event
from .log_sources.interface import LogSource, SourceError, Sources
from .log_sources.kubernetes import Kubernetes
from .log_sources.loki import Loki
from .platforms.alertmanager import AlertmanagerSettings

if TYPE_CHECKING:
    from ..wire import Incident

log = logging.getLogger("vllm_triage.chat")

_ANSWERS = 512
"""Answers that are remembered, packed: some kilobytes each."""


class AlertWork:
    """Answers alerts; equal logs are read once."""

    def __init__(self, settings: AlertmanagerSettings, context: ChatContext) -> None:
        self._settings = settings
        self._context = context
        self._sources = Sources(sources_of(settings))
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        # Equal alerts come one after the other: the latest is not unpacked for each of them.
        self._last: tuple[str, Event] | None = None

    def take_all(self, alerts: Sequence[Alert]) -> list[dict[str, Any]]:
        """Return what became of each alert: its ``outcome``, and the incident where there is one.

        Raises:
            BusyError: There is too much to do; the alerts are to come again.
        """
        return [result for some in _in_order(alerts) for result in self._take_some(some)]

    def _take_some(self, alerts: Sequence[Alert]) -> list[dict[str, Any]]:
        known = self._context.firing.known([alert.identity for alert in alerts])
        results, groups = [], dict[str, _Group]()
        for alert in alerts:
            result, event, digest = self._take(alert)
            results.append(result)
            if event is not None:
                group = groups.setdefault(event.key, _Group(event, digest))
                group.add(alert, result, counted=alert.identity not in known)
                known.add(alert.identity)
        for group in groups.values():
            self._record(group)
        # Written down when this returns.
        self._context.tell_each([(group.event, len(group.names), group.repeated) for group in groups.values()])
        # Last: alerts that come again, because this process was killed before here, must not be taken for known ones.
        fire = {
            alert: (group.event.key, counted) for group in groups.values() for alert, counted in group.alerts.items()
        }
        self._context.firing.note(fire)
        self._context.alerts_done(results)
        return results

    def _take(self, alert: Alert) -> tuple[dict[str, Any], Event | None, str]:
        """Return what is known of an alert, the event to report, and the digest of its log, empty if it has none."""
        result: dict[str, Any] = {"alert": alert.fingerprint}
        if alert.status == "resolved":
            incident = self._context.firing.end(alert.identity)
            if incident:
                self._context.resolve(incident)
            return result | {"outcome": "unknown" if incident is None else "resolved"}, None, ""
        service = self._service(alert.labels)
        try:
            event, digest = self._event(alert, service)
        except (InputError, OSError, SourceError) as error:
            log.warning("the log of an alert cannot be read: %s", type(error).__name__)
            return result | {"outcome": "unreadable"}, None, ""
        if event is None:
            return result | {"outcome": "no_log", "incidents": self._recent(service)}, None, ""
        result |= {"bucket": event.report.bucket, "cause": event.report.cause}
        if not event.report.failed:
            return result | {"outcome": "no_failure"}, None, ""
        return result, event, digest

    def _record(self, group: _Group) -> None:
        """Have the incident of some alerts count those that are new."""
        event, context = group.event, self._context
        if group.digest and context.history is not None:
            incident = event.incident
            if group.names:
                incident = context.record(event.report, event.service, group.names)
                if incident is None:
                    # The history may be back before answers are recorded again: what was taken is not done with until it is in there.
                    raise BusyError
            elif incident is None:
                incident = self._known(event)
            group.event = event = event_of(
                context, event.report, incident, service=event.service, name=event.name, note=event.note
            )
            self._remember(group.digest, event)
        for result in group.results:
            result |= {"incident": event.incident.id if event.incident else None, "link": event.link or None}

    def _known(self, event: Event) -> Incident | None:
        """Return the incident of an event that was recorded, as far as this process remembers, by another."""
        from ..fingerprint import fingerprint
        from ..history import Filter

        assert self._context.history is not None  # noqa: S101 - the caller has looked
        found = Filter(fingerprint=fingerprint(event.report), service=event.service, limit=1)
        return next(iter(self._context.history.incidents(found).items), None)

    def _event(self, alert: Alert, service: str) -> tuple[Event | None, str]:
        """Return the answer to an alert's log, with its digest; without one, the latest incident of its service."""
        note = f"Alert {alert.labels.get('alertname', '')} fires.".replace("  ", " ")
        text = alert.annotations.get(self._settings.annotation, "")
        if text.strip():
            return self._answer(text.encode(), "annotation", alert, service, note)
        if (path := log_path(alert.labels, self._settings)) is not None:
            status = path.stat()
            with ExitStack() as files:
                tail = files.enter_context(opened_tail(path, self._settings.log_bytes))
                version = f"{path}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
                return self._answer(tail, version, alert, service, note)
        if (fetched := self._sources.log_of(alert.labels, alert.began)) is not None:
            return self._answer(fetched, "fetched", alert, service, note)
        return self._latest(service, f"{note} It brought no log; this is the latest incident of its service."), ""

    def _answer(self, source: Source, version: str, alert: Alert, service: str, note: str) -> tuple[Event, str]:
        # The same text, stamps and all, is one event that is reported many times.
        content = source if isinstance(source, bytes) else b""
        digest = hashlib.sha256(f"{service}\0{version}\0".encode() + content).hexdigest()
        with self._lock:
            if self._last is not None and self._last[0] == digest:
                return replace(self._last[1], note=note), digest
            if packed := self._answers.get(digest):
                self._answers.move_to_end(digest)
                self._last = digest, unpack_event(packed)
                return replace(self._last[1], note=note), digest
        name = _pod(alert)
        report, _ = self._context.triage(source, service=service, name=name, store=False)
        event = event_of(self._context, report, None, service=service, name=name, note=note)
        self._remember(digest, event)
        return event, digest

    def _remember(self, digest: str, event: Event) -> None:
        with self._lock:
            self._last, self._answers[digest] = (digest, event), pack_event(event)
            while len(self._answers) > _ANSWERS:
                self._answers.popitem(last=False)

    def _latest(self, service: str, note: str) -> Event | None:
        history = self._context.history
        if history is None or not service or not (recent := self._recent(service)):
            return None
        stored = history.incident(str(recent[0]["id"]))
        if stored is None:
            return None
        return event_of(self._context, stored.report, stored.incident, service=service, note=note)

    def _recent(self, service: str) -> list[dict[str, Any]]:
        history = self._context.history
        if history is None or not service:
            return []
        from ..history import Filter

        page = history.incidents(Filter(service=service, limit=5))
        return [
            {"id": incident.id, "cause": incident.cause, "link": self._context.link(incident.id) or None}
            for incident in page.items
        ]

    def _service(self, labels: Mapping[str, str]) -> str:
        return mask(next((labels[name] for name in self._settings.service_labels if labels.get(name)), ""))


@dataclass
class _Group:
    """Alerts about one incident."""

    event: Event
    digest: str
    """Of the log that was read for it; empty where nothing is to be recorded."""
    names: list[str] = field(default_factory=list)
    """Of the logs that are counted now."""
    repeated: int = 0
    alerts: dict[str, bool] = field(default_factory=dict)
    """Whether each was counted now."""
    results: list[dict[str, Any]] = field(default_factory=list)

    def add(self, alert: Alert, result: dict[str, Any], *, counted: bool) -> None:
        """Add an alert; ``result`` is told what becomes of it."""
        result["outcome"] = "told" if counted else "repeated"
        self.results.append(result)
        self.alerts[alert.identity] = counted or self.alerts.get(alert.identity, False)
        if counted:
            self.names.append(_pod(alert))
        else:
            self.repeated += 1


def _pod(alert: Alert) -> str:
    return mask(alert.labels.get("pod", ""))


def sources_of(settings: AlertmanagerSettings) -> list[LogSource]:
    """Return the sources that are configured.

    Raises:
        ValueError: One of them cannot be used here.
    """
    found: list[LogSource] = []
    if settings.loki is not None:
        found.append(Loki(settings.loki))
    if settings.kubernetes is not None:
        found.append(Kubernetes(settings.kubernetes))
    return found


def _in_order(alerts: Sequence[Alert]) -> Iterator[list[Alert]]:
    """Yield alerts, as many together as can be; one that ends what fires among them comes after that was noted."""
    some: list[Alert] = []
    firing: set[str] = set()
    for alert in alerts:
        if alert.status == "resolved" and alert.identity in firing:
            yield some
            some, firing = [], set()
        some.append(alert)
        firing.add(alert.identity)
    if some:
        yield some
