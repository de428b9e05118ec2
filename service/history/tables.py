"""The tables as they stand after the last migration. What changes here needs a migration; a test compares the two."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = 3_600_000_000
"""Microseconds."""


class Moment(TypeDecorator[datetime]):
    """An aware time as microseconds since 1970: the same order, arithmetic and exactness on every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002 - SQLAlchemy's
        """Return what is stored."""
        return None if value is None else microseconds(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's
        """Return what is read."""
        return None if value is None else moment(value)


def microseconds(value: datetime) -> int:
    """Return an aware time as microseconds since 1970."""
    return (value - EPOCH) // timedelta(microseconds=1)


def moment(value: int) -> datetime:
    """Return microseconds since 1970 as an aware time."""
    return EPOCH + timedelta(microseconds=value)


# SQLite numbers rows by itself only where the column is an INTEGER.
_Key = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()

SEARCHED = ("title", "cause", "name", "service", "model", "fingerprint")
"""Columns of an incident that a search looks at."""

incidents = Table(
    "incidents",
    metadata,
    Column("number", _Key, primary_key=True),
    Column("id", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("service", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("bucket", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("vllm_version", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("occurrences", BigInteger, nullable=False),
    Column("first_seen", Moment, nullable=False),
    Column("last_seen", Moment, nullable=False),
    Column("feedback", Text),
    # Last: SQLite reads the columns before it without touching the pages that it spills to.
    Column("report", LargeBinary, nullable=False),
    UniqueConstraint("id", name="uq_incidents_id"),
    # One index for 'the incident of this log' and for the filter by fingerprint.
    UniqueConstraint("fingerprint", "service", name="uq_incidents_fingerprint"),
    # The list's order. SQLite, which reads a report along with its row, finds in it what a search looks at as well.
    Index("ix_incidents_last_seen_number", "last_seen", "number").ddl_if(dialect="postgresql"),
    Index("ix_incidents_searched", "last_seen", "number", *SEARCHED).ddl_if(dialect="sqlite"),
)

occurrences = Table(
    "occurrences",
    metadata,
    Column("incident", _Key, ForeignKey(incidents.c.number, ondelete="CASCADE"), primary_key=True),
    # A ring: the n-th occurrence takes the place n modulo its size, so that old ones go without being looked for.
    Column("slot", Integer, primary_key=True),
    Column("ordinal", BigInteger, nullable=False),
    Column("at", Moment, nullable=False),
    Column("name", Text, nullable=False),
)

counts = Table(
    "counts",
    metadata,
    Column("incident", _Key, ForeignKey(incidents.c.number, ondelete="CASCADE"), primary_key=True),
    Column("hour", Moment, primary_key=True),
    Column("count", BigInteger, nullable=False),
    Index("ix_counts_hour", "hour"),
    sqlite_with_rowid=False,
)

feedback = Table(
    "feedback",
    metadata,
    Column("number", _Key, primary_key=True),
    Column("incident", _Key, ForeignKey(incidents.c.number, ondelete="CASCADE"), nullable=False),
    Column("source", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("bucket", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("at", Moment, nullable=False),
    # The training row of the report that the person saw; the incident's report may be another by the time of the export.
    Column("row", Text, nullable=False),
    UniqueConstraint("incident", "source", name="uq_feedback_incident"),
)

claims = Table(
    "claims",
    metadata,
    Column("key", Text, primary_key=True),
    Column("expires", Moment, nullable=False),
    Column("count", BigInteger, nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    Column("number", _Key, primary_key=True),
    # Who handles it: ``alerts``, or the target of a message.
    Column("lane", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("at", Moment, nullable=False),
    # Not before this; whoever takes a letter moves it on by the time that the work may take.
    Column("due", Moment, nullable=False),
    Column("attempts", Integer, nullable=False),
    # Kept back to be told with others.
    Column("gathered", Boolean, nullable=False),
    # Why it was given up; null while it waits.
    Column("failed", Text),
    Column("body", LargeBinary, nullable=False),
    Index("ix_outbox_lane_due", "lane", "due"),
    sqlite_autoincrement=True,
)

firing = Table(
    "firing",
    metadata,
    Column("alert", Text, primary_key=True),
    # What its messages are counted by: a claim's key.
    Column("incident", Text, nullable=False),
    Column("counted", Moment, nullable=False),
    # The latest report of it.
    Column("seen", Moment, nullable=False),
    Index("ix_firing_incident", "incident"),
    sqlite_with_rowid=False,
)

proposals = Table(
    "proposals",
    metadata,
    # As it is kept: with its tenant.
    Column("fingerprint", Text, primary_key=True),
    Column("source", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)

handling = Table(
    "handling",
    metadata,
    Column("incident", _Key, ForeignKey(incidents.c.number, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    # ``open``, ``acknowledged``, ``muted``
    Column("state", Text, nullable=False),
    # Of a mute; null for one without an end.
    Column("until", Moment),
    Column("assignee", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", Moment, nullable=False),
)

# Beside the incidents, not in them: a column more would stand behind the report, on the pages that it spills to.
owners = Table(
    "owners",
    metadata,
    Column("incident", _Key, ForeignKey(incidents.c.number, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    # Never empty: incidents of no tenant have no row.
    Column("tenant", Text, nullable=False),
)

totals = Table(
    "totals",
    metadata,
    Column("day", Moment, primary_key=True),
    Column("tenant", Text, primary_key=True),
    Column("bucket", Text, primary_key=True),
    Column("service", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
