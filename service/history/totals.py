"""Occurrences by day, bucket and service: sums that are kept, for adding up a million counts takes seconds.

They are written in the transaction that writes, or removes, what they sum up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, Connection, Select, delete, func, select, type_coerce, update
from sqlalchemy.dialects import postgresql, sqlite

from .tables import HOUR, counts, incidents, moment, owners, totals

DAY = 24 * HOUR
Key = tuple[int, str, str, str]
"""Day (microseconds), tenant, bucket, service."""


def add(connection: Connection, found: Mapping[Key, int]) -> None:
    """Count occurrences."""
    insert: Any = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    new = insert(totals)
    statement = new.on_conflict_do_update(
        index_elements=["day", "tenant", "bucket", "service"], set_={"count": totals.c.count + new.excluded.count}
    )
    # In one order everywhere: two processes that lock the same rows in different orders would wait for each other.
    for (day, tenant, bucket, service), count in sorted(found.items()):
        values = {"day": moment(day), "tenant": tenant, "bucket": bucket, "service": service, "count": count}
        connection.execute(statement, values)


def take_back(connection: Connection, numbers: Select[Any]) -> None:
    """Take the occurrences of incidents out of the sums; they are removed afterwards, in the same transaction."""
    hour = type_coerce(counts.c.hour, BigInteger)
    day, tenant = (hour - hour % DAY).label("day"), func.coalesce(owners.c.tenant, "").label("tenant")
    query = (
        select(day, tenant, incidents.c.bucket, incidents.c.service, func.sum(counts.c.count).label("gone"))
        .select_from(counts)
        .join(incidents)
        .outerjoin(owners, owners.c.incident == counts.c.incident)
        .where(counts.c.incident.in_(numbers))
        .group_by(day, tenant, incidents.c.bucket, incidents.c.service)
        .order_by(day, tenant, incidents.c.bucket, incidents.c.service)
    )
    for row in connection.execute(query).all():
        mine = (
            totals.c.day == moment(row.day), totals.c.tenant == row.tenant, totals.c.bucket == row.bucket,
            totals.c.service == row.service,
        )  # fmt: skip
        connection.execute(update(totals).where(*mine).values(count=totals.c.count - row.gone))
        connection.execute(delete(totals).where(*mine, totals.c.count <= 0))
