"""Incidents with their reports, by whether a rule named them surely; and whether anything has changed since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, func, not_, or_, select

from ...classifier.report.model import Report
from .tables import incidents
from .tenants import of_tenant
from .writes import unpack

STEP = 50
"""Reports that are held at a time."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An incident with its latest report."""

    id: str
    service: str
    occurrences: int
    first_seen: datetime
    last_seen: datetime
    report: Report
    feedback: str = ""
    """What was said of its answer last: ``right``, ``wrong``; empty where nothing was."""


def recorded(connection: Connection, tenant: str | None, sure: float, *, named: bool, most: int) -> Iterator[Recorded]:
    """Yield incidents with their reports, the latest first.

    Args:
        connection: Kept open until the end.
        tenant: Whose (`Filter.tenant`).
        sure: Confidence from which on a rule's answer counts as a name.
        named: Those that a rule named, or whose answer a person said to be right; else all others.
        most: How many.
    """
    rule = and_(incidents.c.decided_by == "rule", incidents.c.confidence >= sure)
    told = and_(incidents.c.bucket != "unknown", or_(rule, func.coalesce(incidents.c.feedback, "") == "right"))
    wanted = [
        incidents.c[name] for name in ("id", "service", "occurrences", "first_seen", "last_seen", "report", "feedback")
    ]
    query = select(*wanted).where(told if named else not_(told), *of_tenant(tenant))
    query = query.order_by(incidents.c.last_seen.desc(), incidents.c.number.desc()).limit(most)
    for row in connection.execute(query.execution_options(yield_per=STEP)):
        yield Recorded(
            row.id, row.service, row.occurrences, row.first_seen, row.last_seen, unpack(row.report), row.feedback or ""
        )


def mark(connection: Connection, tenant: str | None) -> str:
    """Return a text that is another one after each log that was recorded for a tenant, and after each removal."""
    figures = func.count(), func.max(incidents.c.number), func.max(incidents.c.last_seen)
    row = connection.execute(select(*figures).select_from(incidents).where(*of_tenant(tenant))).one()
    return "" if not row[0] else " ".join(map(str, row))
