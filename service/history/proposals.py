"""What models proposed, by failure; and answers that take it in."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects import postgresql, sqlite

from ...classifier.errors import InputError
from ...classifier.proposal import Proposal
from ...classifier.report.model import Report
from ...corpus.records import replace
from .tables import incidents, proposals
from .tenants import kept
from .writes import clean, pack, unpack


def known(connection: Connection, fingerprint: str, tenant: str) -> Proposal | None:
    """Return what was proposed for a failure; None where nobody was asked yet."""
    query = select(proposals.c.source, proposals.c.body).where(proposals.c.fingerprint == kept(fingerprint, tenant))
    found = connection.execute(query).one_or_none()
    if found is None:
        return None
    told = json.loads(found.body)
    try:
        return replace(Proposal.from_json(told, found.source), texts=tuple(told.get("texts", ())))
    except InputError:
        return None  # of another release


def keep(connection: Connection, fingerprint: str, tenant: str, proposal: Proposal, at: datetime) -> None:
    """Keep what was proposed for a failure."""
    insert: Any = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    body = clean(json.dumps({**proposal.to_dict(), "texts": list(proposal.texts)}))
    values = {"fingerprint": kept(fingerprint, tenant), "source": clean(proposal.source), "at": at, "body": body}
    new = insert(proposals).values(values)
    changed = {name: new.excluded[name] for name in ("source", "at", "body")}
    connection.execute(new.on_conflict_do_update(index_elements=["fingerprint"], set_=changed))


def stored(connection: Connection, incident: str) -> tuple[Report, datetime] | None:
    """Return the latest report of an incident, and when that was; None where it is gone."""
    query = select(incidents.c.last_seen, incidents.c.report).where(incidents.c.id == incident)
    found = connection.execute(query).one_or_none()
    return (unpack(found.report), found.last_seen) if found is not None else None


def put_back(connection: Connection, incident: str, report: Report, at: datetime) -> bool:
    """Put a report with proposals in the place of that of some time; return whether it was still the latest."""
    same = incidents.c.id == incident, incidents.c.last_seen == at
    return connection.execute(update(incidents).where(*same).values(report=pack(report))).rowcount > 0
