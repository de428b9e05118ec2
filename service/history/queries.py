"""Reads incidents: one, a page of many, counts over time."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, Select, func, or_, select, tuple_, type_coerce

from ..wire import BucketCounts, Count, Feedback, Incident, IncidentDetails, Incidents, Occurrence
from .handling import state
from .tables import HOUR, SEARCHED, Moment, counts, handling, incidents, microseconds, moment, occurrences, totals
from .tables import feedback as voices
from .tenants import kept, of_tenant, shown
from .types import Filter, Order, Step
from .writes import unpack

MOST = 500
"""Incidents of a page."""
MOST_WORDS = 8
"""Of a search."""
SUMMARY = [column for column in incidents.c if column.name not in ("number", "report")]
STEPS: dict[Step, int] = {"hour": HOUR, "day": 24 * HOUR}
_HANDLED = [
    handling.c.until.label("muted_until"), handling.c.assignee, handling.c.by.label("handled_by"), handling.c.at.label("handled_at"),
]  # fmt: skip


def page(connection: Connection, asked: Filter, now: datetime) -> Incidents:
    """Return the incidents that a filter asks for, a page of them.

    Raises:
        ValueError: A value of the filter is of no use (the cursor, the order, the limit).
    """
    if asked.order not in get_args(Order):
        raise ValueError(f"order {asked.order!r}: it is one of {', '.join(get_args(Order))}")
    if not 1 <= asked.limit <= MOST:
        raise ValueError(f"limit {asked.limit}: it is 1 to {MOST}")
    key = incidents.c[asked.order]
    query = (
        select(*SUMMARY, incidents.c.number, state(now).label("state"), *_HANDLED)
        .outerjoin_from(incidents, handling)
        .where(*_conditions(asked, now), *_search(asked.q, connection.dialect.name))
    )
    if asked.cursor:
        query = query.where(
            tuple_(key, incidents.c.number) < tuple_(*_read_cursor(asked), types=[Moment(), BigInteger()])
        )
    rows = connection.execute(query.order_by(key.desc(), incidents.c.number.desc()).limit(asked.limit + 1)).all()
    more = len(rows) > asked.limit
    rows = rows[: asked.limit]
    items = tuple(_incident(row) for row in rows)
    return Incidents(items=items, next=_cursor(asked, rows[-1]) if more else None)


def summary(connection: Connection, incident_id: str, now: datetime) -> Incident:
    """Return an incident that there is."""
    query = select(*SUMMARY, state(now).label("state"), *_HANDLED).outerjoin_from(incidents, handling)
    return _incident(connection.execute(query.where(incidents.c.id == incident_id)).one())


def stored(connection: Connection, incident_id: str, tenant: str | None, now: datetime) -> IncidentDetails | None:
    """Return all that is kept of an incident; None where there is none of that id."""
    query = select(incidents, state(now).label("state"), *_HANDLED).outerjoin_from(incidents, handling)
    found = connection.execute(query.where(incidents.c.id == incident_id, *of_tenant(tenant))).one_or_none()
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
    connection: Connection, since: datetime | None, until: datetime | None, step: Step, service: str, tenant: str | None
) -> list[BucketCounts]:
    """Return how often each bucket was seen in each step, the most frequent bucket first.

    Raises:
        ValueError: ``step`` is neither an hour nor a day.
    """
    if step not in STEPS:
        raise ValueError(f"step {step!r}: it is one of {', '.join(STEPS)}")
    if step == "day" and (until is None or not microseconds(until) % STEPS["day"]):
        return _by_bucket(connection.execute(_days(since, until, service, tenant)))
    hour = type_coerce(counts.c.hour, BigInteger)
    begin = (hour - hour % STEPS[step]).label("begin")
    query = select(incidents.c.bucket, begin, func.sum(counts.c.count).label("total")).join_from(counts, incidents)
    query = query.where(*of_tenant(tenant))
    if since is not None:
        stamp = microseconds(since)
        query = query.where(hour >= stamp - stamp % STEPS[step])
    if until is not None:
        query = query.where(hour < microseconds(until))
    if service:
        query = query.where(incidents.c.service == service)
    return _by_bucket(connection.execute(query.group_by(incidents.c.bucket, begin).order_by(begin)))


def _days(since: datetime | None, until: datetime | None, service: str, tenant: str | None) -> Select[Any]:
    """Return the question for whole days, whose sums are kept."""
    day = type_coerce(totals.c.day, BigInteger).label("begin")
    query = select(totals.c.bucket, day, func.sum(totals.c.count).label("total"))
    if since is not None:
        stamp = microseconds(since)
        query = query.where(day >= stamp - stamp % STEPS["day"])
    if until is not None:
        query = query.where(day < microseconds(until))
    if service:
        query = query.where(totals.c.service == service)
    if tenant is not None:
        query = query.where(totals.c.tenant == tenant)
    return query.group_by(totals.c.bucket, day).order_by(day)


def _by_bucket(rows: Iterable[Any]) -> list[BucketCounts]:
    found: dict[str, list[Count]] = {}
    for bucket, at, total in rows:
        found.setdefault(bucket, []).append(Count(at=moment(at), count=int(total)))
    return sorted(
        (BucketCounts(bucket=bucket, counts=tuple(steps)) for bucket, steps in found.items()),
        key=lambda item: (-sum(each.count for each in item.counts), item.bucket),
    )


def _incident(row: Any) -> Incident:
    values = {column.name: getattr(row, column.name) for column in SUMMARY}
    return Incident(
        **values | {"fingerprint": shown(row.fingerprint)},
        state=row.state,
        muted_until=row.muted_until if row.state == "muted" else None,
        assignee=row.assignee or "",
        handled_by=row.handled_by or "",
        handled_at=row.handled_at,
    )


def _conditions(asked: Filter, now: datetime) -> Iterable[ColumnElement[bool]]:
    yield from of_tenant(asked.tenant)
    for name in ("service", "bucket", "cause"):
        if value := getattr(asked, name):
            yield incidents.c[name] == value
    if asked.fingerprint:
        told = shown(asked.fingerprint)
        if asked.tenant is None:
            yield or_(
                incidents.c.fingerprint == told,
                incidents.c.fingerprint.startswith(kept(told, "*")[:-1], autoescape=True),
            )
        else:
            yield incidents.c.fingerprint == kept(told, asked.tenant)
    if asked.state:
        yield state(now) == asked.state
    if asked.assignee:
        yield handling.c.assignee == asked.assignee
    if asked.feedback:
        said = incidents.c.feedback
        yield said.is_(None) if asked.feedback == "none" else said == asked.feedback
    if asked.since is not None:
        yield incidents.c.last_seen >= asked.since
    if asked.until is not None:
        yield incidents.c.first_seen < asked.until


def _search(text: str, dialect: str) -> Iterable[ColumnElement[bool]]:
    """Yield what finds every word somewhere: 'harbor kv' finds the KV cache of acme/harbor-8b."""
    columns = [incidents.c[name] for name in SEARCHED]
    for word in text.split()[:MOST_WORDS]:
        if dialect == "sqlite":
            # Its LIKE takes large letters for small ones; lower() of every value would take as long again.
            yield or_(*(column.contains(word, autoescape=True) for column in columns))
        else:
            yield or_(*(column.icontains(word, autoescape=True) for column in columns))


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
