"""What stands in letters of the outbox: an event on its way to a target, alerts that came in."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...classifier.report.pack.model import BUDGET
from ...classifier.report.pack.schema import with_pack
from ...classifier.report.schema import report_of
from ..wire import Incident, dumps, loads
from .alert import Alert
from .interface import Event

AT_ONCE = 50
"""Alerts of one letter: few enough to be handled well within the time that a letter is lent for."""
_PLAIN = ("service", "name", "link", "recurrence", "received", "note", "id", "key", "tenant")


def pack_event(event: Event) -> bytes:
    """Return an event as bytes: some kilobytes, masked as the event is."""
    values: dict[str, object] = {name: getattr(event, name) for name in _PLAIN}
    values["report"] = with_pack(event.report, BUDGET)
    values["incident"] = event.incident
    values["new"] = event.incident is not None and event.incident.new
    return zlib.compress(dumps(values), 1)


def unpack_event(body: bytes) -> Event:
    """Return the event of a letter.

    Raises:
        ValueError: It is none, or one of a release that wrote reports otherwise.
    """
    values = json.loads(zlib.decompress(body))
    incident: Incident | None = None
    if values["incident"] is not None:
        incident = replace(loads(Incident, json.dumps(values["incident"])), new=bool(values["new"]))
    return Event(report_of(values["report"]), incident, **{name: values[name] for name in _PLAIN if name in values})


def pack_alerts(alerts: Sequence[Alert]) -> Iterator[bytes]:
    """Yield bodies of letters that hold alerts, in their order.

    A text that several of them bring, the log most of all, is kept once: a group of a hundred alerts is no larger than one.
    """
    for start in range(0, len(alerts), AT_ONCE):
        texts: dict[str, int] = {}
        values = [
            {
                "status": alert.status, "labels": alert.labels, "startsAt": alert.starts_at, "fingerprint": alert.fingerprint,
                "annotations": {name: texts.setdefault(text, len(texts)) for name, text in alert.annotations.items()},
            }
            for alert in alerts[start : start + AT_ONCE]
        ]  # fmt: skip
        yield zlib.compress(dumps({"texts": list(texts), "alerts": values}), 1)


def unpack_alerts(body: bytes) -> list[Alert]:
    """Return the alerts of a letter."""
    values = json.loads(zlib.decompress(body))
    if isinstance(values, list):
        # As the first release wrote them, which may have left some.
        return [Alert.model_validate(alert) for alert in values]
    texts = values["texts"]
    return [
        Alert.model_validate(alert | {"annotations": {name: texts[at] for name, at in alert["annotations"].items()}})
        for alert in values["alerts"]
    ]
