"""Removes what is too old or too much, a little at a time, so that nobody waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Select, delete, func, select, text, tuple_, update

from . import totals
from .database import Database
from .firing import FORGOTTEN
from .tables import claims, counts, firing, incidents, outbox, proposals
from .tables import totals as sums

STEP = 100
"""Incidents removed in one transaction."""
ROWS = 5000
"""Small rows removed in one transaction."""
GIVEN_UP = timedelta(days=7)
"""For so long letters that were given up can be looked at."""
PAUSE = 0.005
"""Seconds between two transactions: SQLite's writers do not queue, they ask again now and then."""
STRIDE = timedelta(days=2)
"""By so much time may go on between two looks, which are an hour apart; a service that was away for long catches up."""
CLOCK = "history:clock"
"""The claim whose end is the time of the last look."""
PAGES = 1000
"""Free pages of SQLite's given back to the file system in one transaction."""

_log = logging.getLogger("vllm_triage.history")


@dataclass(slots=True, frozen=True)
class Retention:
    """What is kept; zero is without limit."""

    age: timedelta
    most: int


def prune(database: Database, keep: Retention, now: datetime, stop: threading.Event, most: int | None = None) -> int:
    """Remove what is beyond ``keep``; return how many incidents went. ``stop`` ends it early.

    Args:
        database: From which.
        keep: What is kept.
        now: The time.
        stop: Ends it early.
        most: Incidents that may go for their age; the others wait for the next time. None: all.
    """
    removed = 0
    if keep.age:
        oldest = now - keep.age
        removed += _repeat(database, stop, lambda connection: _remove_older(connection, oldest), most)
        _repeat(database, stop, lambda connection: _remove_counts(connection, oldest))
        _repeat(database, stop, lambda connection: _remove_totals(connection, oldest))
        _repeat(database, stop, lambda connection: _remove_proposals(connection, oldest))
    removed += prune_surplus(database, keep, stop)
    _repeat(database, stop, lambda connection: _remove_claims(connection, now))
    _repeat(database, stop, lambda connection: _remove_given_up(connection, now - GIVEN_UP))
    _repeat(database, stop, lambda connection: _remove_firing(connection, now - FORGOTTEN))
    if database.sqlite:
        _repeat(database, stop, _give_back)
    return removed


def prune_surplus(database: Database, keep: Retention, stop: threading.Event) -> int:
    """Remove incidents that are too many; return how many went."""
    return _repeat(database, stop, lambda connection: _remove_surplus(connection, keep.most)) if keep.most else 0


def steady(connection: Connection, now: datetime) -> datetime:
    """Return the time as far as it may be trusted to remove what is old: no more than ``STRIDE`` after the last look.

    A clock that jumps ahead, for as long as it takes somebody to notice, makes nothing much older.
    """
    where = claims.c.key == CLOCK
    before = connection.execute(select(claims.c.expires).where(where)).scalar_one_or_none()
    trusted = now if before is None else min(now, before + STRIDE)
    if before is None:
        connection.execute(claims.insert(), {"key": CLOCK, "expires": trusted, "count": 0})
    else:
        connection.execute(update(claims).where(where).values(expires=trusted))
    if now - trusted > STRIDE:
        _log.warning(
            "the clock is ahead of the last look for old incidents: they are removed little by little",
            extra={"days": (now - trusted).days},
        )
    return trusted


def share(connection: Connection) -> int:
    """Return how many incidents may go for their age at one time."""
    return max(STEP, connection.execute(select(func.count()).select_from(incidents)).scalar_one() // 10)


def _repeat(
    database: Database, stop: threading.Event, step: Callable[[Connection], int], most: int | None = None
) -> int:
    """Do a step, each time in a transaction of its own, until it finds nothing, or did enough; return the sum."""
    total = 0
    while not stop.is_set() and (most is None or total < most):
        with database.writing() as connection:
            done = step(connection)
        total += done
        if not done:
            break
        stop.wait(PAUSE)
    return total


def _remove_older(connection: Connection, oldest: datetime) -> int:
    return _remove(connection, select(incidents.c.number).where(incidents.c.last_seen < oldest).limit(STEP))


def _remove(connection: Connection, found: Select[tuple[int]]) -> int:
    # Which they are must not change between the two.
    numbers = connection.execute(found).scalars().all()
    totals.take_back(connection, select(incidents.c.number).where(incidents.c.number.in_(numbers)))
    return connection.execute(delete(incidents).where(incidents.c.number.in_(numbers))).rowcount


def _remove_surplus(connection: Connection, most: int) -> int:
    surplus = connection.execute(select(func.count()).select_from(incidents)).scalar_one() - most
    if surplus <= 0:
        return 0
    found = select(incidents.c.number).order_by(incidents.c.last_seen, incidents.c.number).limit(min(surplus, STEP))
    return _remove(connection, found)


def _remove_counts(connection: Connection, oldest: datetime) -> int:
    found = select(counts.c.incident, counts.c.hour).where(counts.c.hour < oldest).limit(ROWS)
    return connection.execute(delete(counts).where(tuple_(counts.c.incident, counts.c.hour).in_(found))).rowcount


def _remove_totals(connection: Connection, oldest: datetime) -> int:
    return connection.execute(delete(sums).where(sums.c.day < oldest - timedelta(days=1))).rowcount


def _remove_proposals(connection: Connection, oldest: datetime) -> int:
    found = select(proposals.c.fingerprint).where(proposals.c.at < oldest).limit(ROWS)
    return connection.execute(delete(proposals).where(proposals.c.fingerprint.in_(found))).rowcount


def _remove_claims(connection: Connection, now: datetime) -> int:
    found = select(claims.c.key).where(claims.c.expires <= now, claims.c.key != CLOCK).limit(ROWS)
    return connection.execute(delete(claims).where(claims.c.key.in_(found))).rowcount


def _remove_given_up(connection: Connection, oldest: datetime) -> int:
    found = select(outbox.c.number).where(outbox.c.failed.is_not(None), outbox.c.at < oldest).limit(ROWS)
    return connection.execute(delete(outbox).where(outbox.c.number.in_(found))).rowcount


def _remove_firing(connection: Connection, oldest: datetime) -> int:
    found = select(firing.c.alert).where(firing.c.seen < oldest).limit(ROWS)
    return connection.execute(delete(firing).where(firing.c.alert.in_(found))).rowcount


def _give_back(connection: Connection) -> int:
    """Give free pages back to the file system, the most of a quarter of the file left for what comes next."""
    free, total = (connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in ("freelist_count", "page_count"))
    surplus = min(PAGES, free - total // 4)
    if surplus <= 0:
        return 0
    # Each step of this statement frees a page. It has no columns, so that SQLAlchemy would close it after the first.
    connection.connection.cursor().execute(f"PRAGMA incremental_vacuum({surplus})").fetchall()
    return int(free - connection.execute(text("PRAGMA freelist_count")).scalar_one())
