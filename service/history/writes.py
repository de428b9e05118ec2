"""Writes incidents: one statement that inserts or counts up, so that processes cannot get between."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import zlib
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Connection, case, select
from sqlalchemy.dialects import postgresql, sqlite

from ...classifier.masking.mask import mask
from ...classifier.report.model import Report
from ...classifier.report.pack.schema import with_pack
from ...classifier.report.schema import read
from ..fingerprint import fingerprint
from ..wire import Incident, dumps
from . import totals
from .claims import claim_each
from .database import Database, retriable
from .tables import HOUR, counts, incidents, microseconds, moment, occurrences, owners
from .tenants import kept as kept_fingerprint
from .tenants import shown
from .types import HistoryError

KEPT = 50
"""Occurrences of an incident that are kept one by one."""
LABEL = 200
"""Characters of a label that are kept."""
BATCH = 64
"""Incidents of one transaction."""
ATTEMPTS = 4
"""Tries of one transaction, where others were in the way."""
ONCE = timedelta(days=1)


@dataclass(slots=True)
class Entry:
    """One report on its way into the database, and what became of it."""

    values: dict[str, Any]
    names: Sequence[str]
    """Of the logs, one for each occurrence."""
    tenant: str = ""
    once: str = ""
    """Counts once for each of these within a day; empty: always."""
    done: Incident | None = None
    failed: HistoryError | None = None

    @property
    def settled(self) -> bool:
        """Whether it was written, or failed for good."""
        return self.done is not None or self.failed is not None


class Recorder:
    """Writes entries; what several threads bring while one of them commits goes into the next commit together."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[Entry] = deque()
        self._turn = threading.Lock()

    def record(self, entry: Entry) -> Incident:
        """Write one entry; it is durable when this returns.

        Raises:
            HistoryError: It could not be written.
        """
        self._waiting.append(entry)
        # The thread that holds the lock writes a batch for all that wait. The queue may be longer than one batch, hence the loop.
        while not entry.settled:
            with self._turn:
                if not entry.settled:
                    self._write([self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))])
        if entry.done is None:
            raise entry.failed or HistoryError("not written")
        return entry.done

    def _write(self, batch: list[Entry]) -> None:
        try:
            done = self._commit(batch)
        except HistoryError as error:
            if len(batch) > 1:
                # One that the database does not take must not fail the others.
                for entry in batch:
                    self._write([entry])
            else:
                batch[0].failed = error
            return
        except BaseException as error:
            for entry in batch:
                entry.failed = HistoryError(f"history: {type(error).__name__} while it was written")
            raise
        for entry, incident in zip(batch, done, strict=True):
            entry.done = incident

    def _commit(self, batch: list[Entry]) -> list[Incident]:
        # In one order everywhere: two processes that lock the same rows in different orders would wait for each other.
        order = sorted(range(len(batch)), key=lambda at: (batch[at].values["fingerprint"], batch[at].values["service"]))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._database.writing() as connection:
                    done = {at: _add(connection, batch[at]) for at in order}
                    summed: Counter[totals.Key] = Counter()
                    for at, entry in enumerate(batch):
                        summed[_total(entry)] += len(entry.names) * (not done[at].again)
                    totals.add(connection, summed)
                return [done[at] for at in range(len(batch))]
            except HistoryError as error:
                if attempt == ATTEMPTS or not retriable(error):
                    raise
        raise AssertionError("the last attempt returns or raises")


def _total(entry: Entry) -> totals.Key:
    """Return what an entry is summed up with."""
    stamp = microseconds(entry.values["last_seen"])
    return stamp - stamp % totals.DAY, entry.tenant, entry.values["bucket"], entry.values["service"]


def entry(report: Report, service: str, names: Sequence[str], at: datetime, tenant: str = "", once: str = "") -> Entry:
    """Return what is to be written of a report."""
    facts = report.facts
    return Entry(
        {
            "id": new_id(),
            "fingerprint": kept_fingerprint(fingerprint(report), tenant),
            "service": label(service),
            "name": label(names[-1]),
            "bucket": clean(report.bucket),
            "cause": clean(report.cause),
            "title": clean(report.title),
            "confidence": report.confidence,
            "decided_by": report.decided_by,
            "vllm_version": clean(facts.get("vllm_version", ""))[:LABEL],
            "model": clean(facts.get("model", ""))[:LABEL],
            "occurrences": len(names),
            "first_seen": at,
            "last_seen": at,
            "report": pack(report),
        },
        names,
        tenant,
        once,
    )


def new_id() -> str:
    """Return an id that nobody can guess (130 bits)."""
    return "inc_" + base64.b32encode(secrets.token_bytes(17)).decode().lower()[:26]


def pack(report: Report) -> bytes:
    """Return a report as it is stored, with its evidence: a quarter of their size."""
    return zlib.compress(dumps(with_pack(report)), 1)


def unpack(data: bytes) -> Report:
    """Return a stored report."""
    return read(zlib.decompress(data))


def label(text: str) -> str:
    """Return a label of a caller's as it is stored: one line, no secrets, not endless."""
    return mask(" ".join(clean(text[: 4 * LABEL]).split()))[:LABEL]


def clean(text: object) -> str:
    """Return a text that every database takes: no NUL, no half of a surrogate pair."""
    return str(text).replace("\0", "").encode("utf-8", "replace").decode()


_KEPT = (
    "fingerprint", "service", "name", "bucket", "cause", "title", "confidence", "decided_by", "vllm_version", "model",
)  # fmt: skip


def _add(connection: Connection, entry: Entry) -> Incident:
    incident_, occurrence, count = _statements(connection.dialect.name)
    values, tenant, times = entry.values, entry.tenant, len(entry.names)
    if entry.once and (counted := _counted(connection, entry)) is not None:
        return counted
    row = connection.execute(incident_, values).one()
    at, before = values["last_seen"], row.occurrences - times
    connection.execute(
        occurrence,
        [
            {"incident": row.number, "slot": ordinal % KEPT, "ordinal": ordinal, "at": at, "name": label(name)}
            for ordinal, name in list(enumerate(entry.names, before + 1))[-KEPT:]
        ],
    )
    stamp = microseconds(at)
    connection.execute(count, {"incident": row.number, "hour": moment(stamp - stamp % HOUR), "count": times})
    if tenant and not before:
        connection.execute(owners.insert(), {"incident": row.number, "tenant": tenant})
    told = {name: values[name] for name in _KEPT} | {"fingerprint": shown(values["fingerprint"])}
    return Incident(
        id=row.id,
        **told,
        occurrences=row.occurrences,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        new=not before,
        feedback=row.feedback,
        tenant=tenant,
    )


def _counted(connection: Connection, entry: Entry) -> Incident | None:
    """Return the incident of an entry that was counted before; None where it was not."""
    from .queries import summary

    values = entry.values
    key = hashlib.sha256(f"{entry.once}\0{values['fingerprint']}\0{values['service']}".encode()).hexdigest()
    [count] = claim_each(connection, [(f"history:once:{key}", 1)], values["last_seen"], ONCE)
    same = incidents.c.fingerprint == values["fingerprint"], incidents.c.service == values["service"]
    found = connection.execute(select(incidents.c.id).where(*same)).scalar_one_or_none()
    if count == 1 or found is None:
        return None
    return replace(summary(connection, found, values["last_seen"]), tenant=entry.tenant, again=True)


@cache
def _statements(dialect: str) -> tuple[Any, Any, Any]:
    """Return the three upserts: incident, occurrence, count. Made once; SQLAlchemy compiles each once."""
    insert: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert
    new = insert(incidents)
    given, kept = new.excluded, incidents.c
    # Clocks of several machines differ, and a batch is not written in the order of its times.
    later = given.last_seen > kept.last_seen
    latest = {
        name: case((later, given[name]), else_=kept[name])
        for name in ("name", "title", "confidence", "decided_by", "vllm_version", "model", "last_seen", "report")
    }
    first = case((given.first_seen < kept.first_seen, given.first_seen), else_=kept.first_seen)
    incident = new.on_conflict_do_update(
        index_elements=["fingerprint", "service"],
        set_={"occurrences": kept.occurrences + given.occurrences, "first_seen": first, **latest},
    ).returning(kept.number, kept.id, kept.occurrences, kept.first_seen, kept.last_seen, kept.feedback)
    place = insert(occurrences)
    occurrence = place.on_conflict_do_update(
        index_elements=["incident", "slot"],
        set_={name: place.excluded[name] for name in ("ordinal", "at", "name")},
    )
    more = insert(counts)
    count = more.on_conflict_do_update(
        index_elements=["incident", "hour"], set_={"count": counts.c.count + more.excluded.count}
    )
    return incident, occurrence, count
