"""The history as the service uses it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from ...classifier.proposal import Proposal
from ...classifier.report.model import Report
from ..letter import Letter
from ..wire import BucketCounts, Feedback, Incident, IncidentDetails, Incidents
from . import feedback as voices
from . import firing, handling, proposals, totals, unsure, upgrade
from . import queries as reading
from .claims import claim_each, claim_key
from .database import Database
from .outbox import Outbox, put
from .pruning import Retention, prune, prune_surplus, share, steady
from .tables import claims, incidents
from .tenants import of_tenant
from .types import Filter, HistoryError, Step
from .unsure import Recorded
from .writes import Recorder, entry

PRUNED_EVERY = 3600.0
"""Seconds between two looks for what is too old, of all processes together."""
GROWN = 1000
"""New incidents of one process after which it looks whether there are too many."""
LOOKED_EVERY = 60.0
"""Seconds between two looks of one process."""
_log = logging.getLogger("vllm_triage.history")
PING = "history:ping"
"""The row that is written to see whether rows can be written."""


class History:
    """Incidents in a database. Safe for threads; several processes may have the same database open.

    Args:
        url: ``sqlite:////path/to/file.db`` or ``postgresql://user:password@host/database``.
        retention_days: Incidents that were not seen for so long are removed; 0 keeps them.
        most_incidents: Above so many the ones seen longest ago are removed; 0 for no limit.
        power_safe: SQLite waits for the disk at every commit. Without it, a power cut or a crash of the operating system
            may lose the last seconds (never the file's integrity); the death of a process loses nothing either way.
            PostgreSQL has a setting of its own (``synchronous_commit``).
        removed: Told how many incidents were removed because of their age or number.
        clock: The time, for tests.

    Raises:
        HistoryError: The database cannot be reached or opened, or a newer release has written it.
    """

    def __init__(
        self,
        url: str,
        *,
        retention_days: int = 90,
        most_incidents: int = 50_000,
        power_safe: bool = False,
        removed: Callable[[int], None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if retention_days < 0 or most_incidents < 0:
            raise HistoryError("retention: days and number of incidents are 0 (no limit) or more")
        self._database = Database(url, power_safe)
        self._retention = Retention(timedelta(days=retention_days), most_incidents)
        self._clock = clock
        self._removed = removed
        self._recorder = Recorder(self._database)
        self.outbox = Outbox(self._database, clock)
        """Letters that wait to be handled."""
        self._closed = threading.Event()
        self._pruner: threading.Thread | None = None
        self._look_at = time.monotonic() + LOOKED_EVERY
        self._grown = 0
        try:
            with self._database.reading() as connection:
                upgrade.refuse_newer(connection)
        except BaseException:
            self._database.close()
            raise

    @property
    def name(self) -> str:
        """The database's URL without password."""
        return self._database.name

    def upgrade(self) -> None:
        """Bring the schema to the one of this release; nothing happens where it is there. Processes may do so at once."""
        with self._database.writing() as connection:
            upgrade.move(connection)
            steady(connection, self._clock())

    def record(
        self, report: Report, *, service: str = "", name: str | Sequence[str] = "", tenant: str = "", once: str = ""
    ) -> Incident:
        """Keep a report: a new incident, or one more occurrence of one. It is durable when this returns.

        Args:
            report: What was answered.
            service: Label of the service that the log is of.
            name: Name of the log; of each, where several logs are answered with this report.
            tenant: Whose it is; empty for nobody's in particular.
            once: What comes with the same word within a day is the same log again, and counts once; empty: it is another.
        """
        self._refuse_closed()
        names = [name] if isinstance(name, str) else name
        incident = self._recorder.record(entry(report, service, names, self._clock(), tenant, once))
        self._grown += incident.new
        if time.monotonic() >= self._look_at or self._grown >= GROWN:
            self._look()
        return incident

    def incidents(self, filter: Filter) -> Incidents:  # noqa: A002 - the contract's name
        """Return a page of incidents.

        Raises:
            ValueError: The cursor, the order or the limit is of no use.
        """
        with self._database.reading() as connection:
            return reading.page(connection, filter, self._clock())

    def incident(self, id: str, *, tenant: str | None = "") -> IncidentDetails | None:  # noqa: A002
        """Return all that is kept of an incident; None where the tenant (`Filter.tenant`) has none of that id."""
        with self._database.reading() as connection:
            return reading.stored(connection, id, tenant, self._clock())

    def proposal(self, fingerprint: str, *, tenant: str = "") -> Proposal | None:
        """Return what a model proposed for a failure; None where nobody was asked yet."""
        with self._database.reading() as connection:
            return proposals.known(connection, fingerprint, tenant)

    def keep_proposal(self, fingerprint: str, proposal: Proposal, *, tenant: str = "") -> None:
        """Keep what a model proposed for a failure."""
        self._refuse_closed()
        with self._database.writing() as connection:
            proposals.keep(connection, fingerprint, tenant, proposal, self._clock())

    def take_in(self, id: str, change: Callable[[Report], Report]) -> Report | None:  # noqa: A002
        """Put what was proposed into the latest report of an incident.

        Args:
            id: The incident.
            change: Returns a report with what was proposed for it.

        Returns:
            That report; None if the incident is gone, or if a later report came meanwhile, which has a message of its own.
        """
        self._refuse_closed()
        with self._database.reading() as connection:
            found = proposals.stored(connection, id)
        if found is None:
            return None
        made = change(found[0])
        with self._database.writing() as connection:
            return made if proposals.put_back(connection, id, made, found[1]) else None

    def recorded(self, *, tenant: str | None = "", sure: float, named: bool, most: int) -> Iterator[Recorded]:
        """Yield incidents with their reports, the latest first (`unsure.recorded`)."""
        with self._database.reading() as connection:
            yield from unsure.recorded(connection, tenant, sure, named=named, most=most)

    def mark(self, *, tenant: str | None = "") -> str:
        """Return a text that changes with a tenant's incidents; empty where there is none."""
        with self._database.reading() as connection:
            return unsure.mark(connection, tenant)

    def remove(self, id: str, *, tenant: str | None = "") -> bool:  # noqa: A002
        """Remove an incident with its report, occurrences and feedback; return whether it was there."""
        with self._database.writing() as connection:
            mine = select(incidents.c.number).where(incidents.c.id == id, *of_tenant(tenant))
            totals.take_back(connection, mine)
            return connection.execute(delete(incidents).where(incidents.c.number.in_(mine))).rowcount > 0

    def handle(self, id: str, change: handling.Change, *, tenant: str | None = "") -> Incident:  # noqa: A002
        """Acknowledge, mute or assign an incident, or take that back; return it as it is then.

        Raises:
            KeyError: There is no such incident.
            ValueError: What is asked makes no sense.
        """
        self._refuse_closed()
        now = self._clock()
        with self._database.writing() as connection:
            handling.change(connection, id, change, now, tenant)
            return reading.summary(connection, id, now)

    def muted(self, id: str) -> bool:  # noqa: A002
        """Return whether an incident is muted now."""
        with self._database.reading() as connection:
            return handling.muted(connection, id, self._clock())

    def stats(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        step: Step = "hour",
        service: str = "",
        *,
        tenant: str | None = "",
    ) -> list[BucketCounts]:
        """Return how often each bucket was seen, by hour or day (UTC), of all services or one.

        Raises:
            ValueError: ``step`` is neither.
        """
        with self._database.reading() as connection:
            return reading.over_time(connection, since, until, step, service, tenant)

    def feedback(  # noqa: PLR0913 - all that a person may say
        self,
        incident_id: str,
        verdict: str,
        bucket: str = "",
        cause: str = "",
        note: str = "",
        source: str = "",
        *,
        tenant: str | None = "",
    ) -> Feedback:
        """Keep what a person says about an incident's answer; who says something again replaces it.

        Args:
            incident_id: The incident.
            verdict: ``right`` or ``wrong``.
            bucket: Where it is wrong: what it was, if known.
            cause: The same, finer: ``bucket/cause``.
            note: Free text.
            source: Who says so.
            tenant: Whose incident it must be (`Filter.tenant`).

        Raises:
            KeyError: There is no such incident.
            ValueError: Verdict, bucket and cause do not go together.
        """
        self._refuse_closed()
        said = voices.Said(verdict, bucket, cause, note, source)
        with self._database.writing() as connection:
            return voices.add(connection, incident_id, said, self._clock(), tenant)

    def export(self, *, tenant: str | None = "") -> Iterator[dict[str, Any]]:
        """Yield a training row for every feedback about a tenant's incidents, oldest first (docs/history.md has the fields)."""
        after = 0
        while True:
            with self._database.reading() as connection:
                rows = voices.export(connection, after, tenant)
            if not rows:
                return
            yield from (row for _, row in rows)
            after = rows[-1][0]

    def prune(self) -> int:
        """Remove what is older, or more, than is to be kept; return how many incidents went."""
        return prune(self._database, self._retention, self._clock(), self._closed)

    def once(
        self, key: str, window_seconds: float, times: int = 1, first: Callable[[], Sequence[Letter]] | None = None
    ) -> tuple[bool, int]:
        """Count claims to ``key``, of all processes: (whether they are the first of their window, how many so far).

        A window begins with its first claim.

        Args:
            key: What is claimed.
            window_seconds: How long the window is.
            times: How many claims.
            first: Makes letters that go into the outbox in the same transaction, where the claims are the first.
        """
        letters = None if first is None else lambda _at: first()
        return self.once_each([(key, times)], window_seconds, letters)[0]

    def once_each(
        self,
        claimed: Sequence[tuple[str, int]],
        window_seconds: float,
        first: Callable[[int], Sequence[Letter]] | None = None,
    ) -> list[tuple[bool, int]]:
        """Do the same for many keys, each with how many claims, in one transaction.

        Args:
            claimed: The keys, and how many claims to each.
            window_seconds: How long the window of each is.
            first: Makes the letters of the claim at a place of ``claimed``, where that is the first of its window.
        """
        self._refuse_closed()
        now = self._clock()
        with self._database.writing() as connection:
            counts = claim_each(connection, claimed, now, timedelta(seconds=window_seconds))
            found = [(count == times, count) for count, (_, times) in zip(counts, claimed, strict=True)]
            if first is not None:
                put(connection, [letter for at, (new, _) in enumerate(found) if new for letter in first(at)], now)
        return found

    def claims_of(self, prefix: str) -> list[str]:
        """Return the keys with a window now that begin with some word."""
        query = select(claims.c.key).where(
            claims.c.key.startswith(prefix, autoescape=True), claims.c.expires > self._clock()
        )
        with self._database.reading() as connection:
            return list(connection.execute(query).scalars())

    def forget(self, key: str) -> None:
        """End the window of a key: the next claim is the first of another."""
        with self._database.writing() as connection:
            connection.execute(delete(claims).where(claims.c.key == claim_key(key)))

    def alerts_known(self, alerts: Sequence[str], window_seconds: float) -> set[str]:
        """Return those alerts that fire, and were counted within a window."""
        with self._database.reading() as connection:
            return firing.known(connection, alerts, self._clock() - timedelta(seconds=window_seconds))

    def alerts_fire(self, alerts: dict[str, tuple[str, bool]]) -> None:
        """Note alerts that fire (`firing.note`)."""
        with self._database.writing() as connection:
            firing.note(connection, alerts, self._clock())

    def alert_ends(self, alert: str) -> str | None:
        """Note the end of an alert, and with the last one that of its incident's window (`firing.end`)."""
        with self._database.writing() as connection:
            return firing.end(connection, alert)

    def ping(self) -> None:
        """Raise where the database does not answer, has not this release's schema, or cannot be written to.

        It is written to: a disk that is full reads well.

        Raises:
            HistoryError: With what is wrong.
        """
        self._refuse_closed()
        now = self._clock()
        insert: Any = sqlite.insert if self._database.sqlite else postgresql.insert
        new = insert(claims).values(key=PING, expires=now + timedelta(days=1), count=0)
        with self._database.writing() as connection:
            connection.execute(select(incidents.c.number).limit(1)).all()
            connection.execute(
                new.on_conflict_do_update(index_elements=["key"], set_={"expires": new.excluded.expires})
            )

    def rest(self) -> None:
        """Close the connections that nobody uses now; each holds some memory, and is opened again when it is needed."""
        if not self._closed.is_set():
            self._database.close()

    def close(self) -> None:
        """Close all connections; pruning under way stops after its current step."""
        self._closed.set()
        if self._pruner is not None:
            self._pruner.join()
        self._database.close()

    def _refuse_closed(self) -> None:
        if self._closed.is_set():
            raise HistoryError("the history was closed", "the history was closed")

    def _look(self) -> None:
        """Prune beside the requests where it is time to; one process at a time."""
        grown = self._grown >= GROWN
        self._look_at = time.monotonic() + LOOKED_EVERY
        self._grown = 0
        if self._pruner is not None and self._pruner.is_alive():
            return
        self._pruner = threading.Thread(target=self._prune_quietly, args=(grown,), name="history-prune", daemon=True)
        self._pruner.start()

    def _prune_quietly(self, grown: bool) -> None:
        key, window = ("prune:grown", LOOKED_EVERY) if grown else ("prune", PRUNED_EVERY)
        try:
            if not self.once(f"history:{key}", window)[0]:
                return
            if grown:
                removed = prune_surplus(self._database, self._retention, self._closed)
            else:
                with self._database.writing() as connection:
                    now, most = steady(connection, self._clock()), share(connection)
                removed = prune(self._database, self._retention, now, self._closed, most)
        except HistoryError:
            # Whoever records next is told the same; the next look tries again.
            return
        if removed:
            _log.info("incidents removed: too old, or too many", extra={"incidents": removed})
            self._removed(removed)
