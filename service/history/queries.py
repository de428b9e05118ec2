"""Reads incidents: one, a page of many, counts over time."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, and_, func, or_, select, tuple_, type_coerce

from ..wire import BucketCounts, Count, Feedback, Incident, IncidentDetails, Incidents, Occurrence
from .tables import HOUR, Moment, counts, incidents, microseconds, moment, occurrences
from .tables import feedback as voices
from .types import Filter, Order, Step
from .writes import unpack

MOST = 500
"""Incidents of a page."""
SUMMARY = [column for column in incidents.c if column.name not in ("number", "report")]
STEPS: dict[Step, int] = {"hour": HOUR, "day": 24 * HOUR}
_SEARCHED = ("title", "cause", "name", "service", "model", "fingerprint")


def page(connection: Connection, asked: Filter) -> Incidents:
    """Return the incidents that a filter asks for, a page of them.

    Raises:
        ValueError: A value of the filter is of no use (the cursor, the order, the limit).
    """
    if asked.order not in get_args(Order):
        raise ValueError(f"order {asked.order!r}: it is one of {', '.join(get_args(Order))}")
    if not 1 <= asked.limit <= MOST:
        raise ValueError(f"limit {asked.limit}: it is 1 to {MOST}")
    key = incidents.c[asked.order]
    query = select(*SUMMARY, incidents.c.number).where(*_conditions(asked))
    if asked.cursor:
        query = query.where(
            tuple_(key, incidents.c.number) < tuple_(*_read_cursor(asked), types=[Moment(), BigInteger()])
        )
    rows = connection.execute(query.order_by(key.desc(), incidents.c.number.desc()).limit(asked.limit + 1)).all()
    more = len(rows) > asked.limit
    rows = rows[: asked.limit]
    items = tuple(_incident(row) for row in rows)
    return Incidents(items=items, next=_cursor(asked, rows[-1]) if more else None)


def stored(connection: Connection, incident_id: str) -> IncidentDetails | None:
    """Return all that is kept of an incident; None where there is none of that id."""
    found = connection.execute(select(incidents).where(incidents.c.id == incident_id)).one_or_none()
    if found is None:
        return None
    incident = _incident(found)
    seen = connection.execute(
        select(occurrences).where(occurrences.c.incident == found.number).order_by(occurrences.c.ordinal.desc())
    )
    said = connection.execute(
        select(voices).where(voices.c.incident == found.number).order_by(voices.c.at.desc(), voices.c.number.desc())
    )
    return IncidentDetails(
        incident=incident,
        report=unpack(found.report),
        occurrences=tuple(
            Occurrence(id=row.ordinal, at=row.at, service=incident.service, name=row.name) for row in seen
        ),
        feedback=tuple(voice(row, incident.id) for row in said),
    )


def voice(row: Row[Any], incident_id: str) -> Feedback:
    """Return a row of the table ``feedback``."""
    return Feedback(
        id=row.number,
        incident=incident_id,
        verdict=row.verdict,
        bucket=row.bucket,
        cause=row.cause,
        note=row.note,
        source=row.source,
        at=row.at,
    )


def over_time(
    connection: Connection, since: datetime | None, until: datetime | None, step: Step, service: str
) -> list[BucketCounts]:
    """Return how often each bucket was seen in each step, the most frequent bucket first.

    Raises:
        ValueError: ``step`` is neither an hour nor a day.
    """
    if step not in STEPS:
        raise ValueError(f"step {step!r}: it is one of {', '.join(STEPS)}")
    hour = type_coerce(counts.c.hour, BigInteger)
    begin = (hour - hour % STEPS[step]).label("begin")
    query = select(incidents.c.bucket, begin, func.sum(counts.c.count).label("total")).join_from(counts, incidents)
    if since is not None:
        stamp = microseconds(since)
        query = query.where(hour >= stamp - stamp % STEPS[step])
    if until is not None:
        query = query.where(hour < microseconds(until))
    if service:
        query = query.where(incidents.c.service == service)
    found: dict[str, list[Count]] = {}
    for bucket, at, total in connection.execute(query.group_by(incidents.c.bucket, begin).order_by(begin)):
        found.setdefault(bucket, []).append(Count(at=moment(at), count=int(total)))
    return sorted(
        (BucketCounts(bucket=bucket, counts=tuple(steps)) for bucket, steps in found.items()),
        key=lambda item: (-sum(each.count for each in item.counts), item.bucket),
    )


def _incident(row: Any) -> Incident:
    return Incident(**{column.name: getattr(row, column.name) for column in SUMMARY})


def _conditions(asked: Filter) -> Iterable[ColumnElement[bool]]:
    for name in ("service", "bucket", "cause", "fingerprint"):
        if value := getattr(asked, name):
            yield incidents.c[name] == value
    if asked.feedback:
        said = incidents.c.feedback
        yield said.is_(None) if asked.feedback == "none" else said == asked.feedback
    if asked.since is not None:
        yield incidents.c.last_seen >= asked.since
    if asked.until is not None:
        yield incidents.c.first_seen < asked.until
    if words := asked.q.split():
        # Every word somewhere: 'harbor kv' finds the KV cache of acme/harbor-8b.
        yield and_(
            *(or_(*(incidents.c[name].icontains(word, autoescape=True) for name in _SEARCHED)) for word in words[:8])
        )


def _cursor(asked: Filter, row: Any) -> str:
    text = f"{asked.order}:{microseconds(getattr(row, asked.order))}:{row.number}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_cursor(asked: Filter) -> tuple[datetime, int]:
    try:
        padded = asked.cursor + "=" * (-len(asked.cursor) % 4)
        order, at, number = base64.b64decode(padded, b"-_", validate=True).decode().split(":")
        read = moment(int(at)), min(int(number), 2**63 - 1)
    except (binascii.Error, ValueError, OverflowError):
        order, read = "", None
    if read is None or order != asked.order:
        raise ValueError("the cursor is none that this list has given")
    return read
