"""Incidents, their occurrences and counts, feedback, claims.

Revision: 0001, follows: nothing.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Go to this schema."""
    # Not from tables.py: that is the schema of the newest release, this is the schema as it was when this was written.
    key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "incidents",
        sa.Column("number", key, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("service", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("bucket", sa.Text, nullable=False),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("vllm_version", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("occurrences", sa.BigInteger, nullable=False),
        sa.Column("first_seen", sa.BigInteger, nullable=False),
        sa.Column("last_seen", sa.BigInteger, nullable=False),
        sa.Column("feedback", sa.Text),
        sa.Column("report", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id", name="uq_incidents_id"),
        sa.UniqueConstraint("fingerprint", "service", name="uq_incidents_fingerprint"),
    )
    op.create_index("ix_incidents_last_seen_number", "incidents", ["last_seen", "number"])
    op.create_table(
        "occurrences",
        sa.Column("incident", key, nullable=False),
        sa.Column("slot", sa.Integer, nullable=False),
        sa.Column("ordinal", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("incident", "slot"),
        sa.ForeignKeyConstraint(["incident"], ["incidents.number"], ondelete="CASCADE"),
    )
    op.create_table(
        "counts",
        sa.Column("incident", key, nullable=False),
        sa.Column("hour", sa.BigInteger, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("incident", "hour"),
        sa.ForeignKeyConstraint(["incident"], ["incidents.number"], ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_counts_hour", "counts", ["hour"])
    op.create_table(
        "feedback",
        sa.Column("number", key, nullable=False),
        sa.Column("incident", key, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("bucket", sa.Text, nullable=False),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("row", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("incident", "source", name="uq_feedback_incident"),
        sa.ForeignKeyConstraint(["incident"], ["incidents.number"], ondelete="CASCADE"),
    )
    op.create_table(
        "claims",
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )


def downgrade() -> None:
    """Go back to nothing: all that was recorded is gone."""
    for table in ("claims", "feedback", "counts", "occurrences", "incidents"):
        op.drop_table(table)
