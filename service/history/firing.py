"""Alerts that fire, as all processes of a service and those after them know them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from .claims import claim_key
from .tables import claims, firing

FORGOTTEN = timedelta(days=30)
"""An alert that was reported for the last time so long ago, and whose end never came."""


def known(connection: Connection, alerts: Sequence[str], after: datetime) -> set[str]:
    """Return those alerts that were counted after some time."""
    query = select(firing.c.alert).where(firing.c.alert.in_(alerts), firing.c.counted > after)
    return set(connection.execute(query).scalars())


def note(connection: Connection, alerts: dict[str, tuple[str, bool]], now: datetime) -> None:
    """Note alerts that fire: each with the incident that it is about, and whether it was counted just now."""
    insert: Any = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    for counted in (True, False):
        new = insert(firing)
        columns = ("incident", "seen", "counted") if counted else ("seen",)
        upsert = new.on_conflict_do_update(
            index_elements=["alert"], set_={name: new.excluded[name] for name in columns}
        )
        rows = [
            {"alert": alert, "incident": incident, "counted": now, "seen": now}
            # In one order everywhere: two processes would wait for each other.
            for alert, (incident, own) in sorted(alerts.items())
            if own is counted
        ]
        if rows:
            connection.execute(upsert, rows)


def end(connection: Connection, alert: str) -> str | None:
    """Note the end of an alert; with the last one of an incident, the window ends in which it is told once.

    Returns:
        The incident, where this was its last alert; empty where others still fire; None where the alert is not known.
    """
    ended = delete(firing).where(firing.c.alert == alert).returning(firing.c.incident)
    incident = connection.execute(ended).scalar_one_or_none()
    if incident is None:
        return None
    if connection.execute(select(firing.c.alert).where(firing.c.incident == incident).limit(1)).first():
        return ""
    connection.execute(delete(claims).where(claims.c.key == claim_key(incident)))
    return str(incident)
