"""Who looks after an incident: acknowledged, muted, assigned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import ColumnElement, Connection, and_, case, func, select
from sqlalchemy.dialects import postgresql, sqlite

from ..wire import HandlingState
from .tables import handling, incidents
from .tenants import of_tenant
from .writes import label

STATES: tuple[str, ...] = get_args(HandlingState)


@dataclass(slots=True, frozen=True)
class Change:
    """What a person does about an incident; None leaves as it is."""

    state: HandlingState | None = None
    until: datetime | None = None
    """Of a mute; None for one without an end. Ends with the mute."""
    assignee: str | None = None
    by: str = ""
    """Who does it."""


def change(connection: Connection, incident_id: str, asked: Change, at: datetime, tenant: str | None) -> None:
    """Write down what a person does.

    Raises:
        KeyError: There is no such incident.
        ValueError: What is asked makes no sense.
    """
    if asked.state is not None and asked.state not in STATES:
        raise ValueError(f"state {asked.state!r}: it is one of {', '.join(STATES)}")
    if asked.until is not None and asked.state != "muted":
        raise ValueError("muted_until goes with the state muted")
    if asked.until is not None and asked.until <= at:
        raise ValueError("muted_until is in the past")
    found = connection.execute(
        select(incidents.c.number).where(incidents.c.id == incident_id, *of_tenant(tenant))
    ).scalar_one_or_none()
    if found is None:
        raise KeyError(incident_id)
    values: dict[str, object] = {"by": label(asked.by), "at": at}
    if asked.state is not None:
        values |= {"state": asked.state, "until": asked.until}
    if asked.assignee is not None:
        values["assignee"] = label(asked.assignee)
    insert: Any = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    new = insert(handling).values({"incident": found, "state": "open", "until": None, "assignee": "", **values})
    connection.execute(new.on_conflict_do_update(index_elements=["incident"], set_=values))


def state(now: datetime) -> ColumnElement[str]:
    """Return the expression of an incident's state, where `handling` is joined on the outside: a mute that is over is none."""
    over = and_(handling.c.state == "muted", handling.c.until.is_not(None), handling.c.until <= now)
    return case((over, "open"), else_=func.coalesce(handling.c.state, "open"))


def muted(connection: Connection, incident_id: str, now: datetime) -> bool:
    """Return whether an incident is muted now."""
    query = select(state(now)).join_from(handling, incidents).where(incidents.c.id == incident_id)
    return connection.execute(query).scalar_one_or_none() == "muted"
