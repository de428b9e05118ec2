"""What is done with one alert: its log answered, its incident told, its end noted."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

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

log = logging.getLogger("vllm_triage.chat")

_ANSWERS = 512
"""Answers that are remembered, packed: some kilobytes each."""
_ALERTS = 100_000


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
        # Which incident an alert was about, and which alerts of an incident still fire.
        self._incidents: OrderedDict[str, str] = OrderedDict()
        self._firing: dict[str, set[str]] = {}

    def take_all(self, alerts: Sequence[Alert]) -> list[dict[str, Any]]:
        """Return what became of each alert: its ``outcome``, and the incident where there is one.

        Raises:
            BusyError: There is too much to do; the alerts are to come again.
        """
        return [result for some in _in_order(alerts) for result in self._take_some(some)]

    def _take_some(self, alerts: Sequence[Alert]) -> list[dict[str, Any]]:
        results, told = [], []
        for alert in alerts:
            result, event = self._take(alert)
            results.append(result)
            if event is not None:
                told.append((alert, event, result))
        keys = [f"alert:{alert.identity}" for alert, _, _ in told]
        firsts = self._context.first_each(keys)
        counted: dict[str, tuple[Event, int, int]] = {}
        for (alert, event, result), first in zip(told, firsts, strict=True):
            self._note(alert.identity, event.key)
            _, new, repeated = counted.get(event.key, (event, 0, 0))
            counted[event.key] = (event, new + first, repeated + (not first))
            result["outcome"] = "told" if first else "repeated"
        # Written down when this returns.
        self._context.tell_each(list(counted.values()))
        # Last: alerts that come again, because this process was killed before here, must not be taken for known ones.
        self._context.once_each(keys, self._context.settings.notify.window_seconds)
        self._context.alerts_done(results)
        return results

    def _take(self, alert: Alert) -> tuple[dict[str, Any], Event | None]:
        """Return what is known of an alert, and what is to be told of it."""
        result: dict[str, Any] = {"alert": alert.fingerprint}
        if alert.status == "resolved":
            return result | {"outcome": "resolved" if self._resolve(alert.identity) else "unknown"}, None
        service = self._service(alert.labels)
        try:
            event = self._event(alert, service)
        except (InputError, OSError, SourceError) as error:
            log.warning("the log of an alert cannot be read: %s", type(error).__name__)
            return result | {"outcome": "unreadable"}, None
        if event is None:
            return result | {"outcome": "no_log", "incidents": self._recent(service)}, None
        result |= {
            "incident": event.incident.id if event.incident else None,
            "bucket": event.report.bucket,
            "cause": event.report.cause,
            "link": event.link or None,
        }
        if not event.report.failed:
            return result | {"outcome": "no_failure"}, None
        return result, event

    def _event(self, alert: Alert, service: str) -> Event | None:
        """Return the answer to an alert's log; without one, the latest incident of its service."""
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
        return self._latest(service, f"{note} It brought no log; this is the latest incident of its service.")

    def _answer(self, source: Source, version: str, alert: Alert, service: str, note: str) -> Event:
        # The same text, stamps and all, is one event that is reported many times.
        content = source if isinstance(source, bytes) else b""
        digest = hashlib.sha256(f"{service}\0{version}\0".encode() + content).hexdigest()
        with self._lock:
            if self._last is not None and self._last[0] == digest:
                return replace(self._last[1], note=note)
            if packed := self._answers.get(digest):
                self._answers.move_to_end(digest)
                self._last = digest, unpack_event(packed)
                return replace(self._last[1], note=note)
        name = mask(alert.labels.get("pod", ""))
        report, incident = self._context.triage(source, service=service, name=name)
        if incident is None and report.failed and self._context.history is not None:
            # The history may be back before answers are recorded again: what was taken is not done with until it is in there.
            raise BusyError
        event = event_of(self._context, report, incident, service=service, name=name, note=note)
        with self._lock:
            self._last, self._answers[digest] = (digest, event), pack_event(event)
            while len(self._answers) > _ANSWERS:
                self._answers.popitem(last=False)
        return event

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

    def _note(self, alert: str, key: str) -> None:
        with self._lock:
            self._incidents[alert] = key
            self._firing.setdefault(key, set()).add(alert)
            while len(self._incidents) > _ALERTS:
                oldest, of = self._incidents.popitem(last=False)
                firing = self._firing.get(of, set())
                firing.discard(oldest)
                if not firing:
                    self._firing.pop(of, None)

    def _resolve(self, alert: str) -> bool:
        """Note the end of an alert; with the last one, the incident's window ends."""
        with self._lock:
            key = self._incidents.pop(alert, None)
            if key is None:
                return False
            firing = self._firing.get(key, set())
            firing.discard(alert)
            if firing:
                return True
            self._firing.pop(key, None)
        self._context.forget(f"alert:{alert}")
        self._context.resolve(key)
        return True


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
