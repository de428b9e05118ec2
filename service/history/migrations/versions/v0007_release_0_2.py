"""What 0.2.0 keeps besides: letters that wait, people, sums by day, alerts that fire, proposals.

Revision: 0007, follows: 0001, the schema of 0.1.0. Adds tables and exchanges an index, so that the service may write meanwhile.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0001"

DAY = 86_400_000_000
"""Microseconds."""
_LISTED = ["last_seen", "number"]
_SEARCHED = ["title", "cause", "name", "service", "model", "fingerprint"]


def upgrade() -> None:
    """Go to this schema. What a process of 0.1.0 counts meanwhile is missing in the sums, and nowhere else."""
    key = sa.BigInteger().with_variant(sa.Integer, "sqlite")

    def column(name: str, kind: Any) -> sa.Column[Any]:
        return sa.Column(name, kind, nullable=False)

    def incident() -> sa.Column[Any]:
        return sa.Column("incident", key, sa.ForeignKey("incidents.number", ondelete="CASCADE"), primary_key=True)

    op.create_table(
        "outbox",
        sa.Column("number", key, primary_key=True), column("lane", sa.Text), column("id", sa.Text), column("at", sa.BigInteger),
        column("due", sa.BigInteger), column("attempts", sa.Integer), column("gathered", sa.Boolean), sa.Column("failed", sa.Text),
        column("body", sa.LargeBinary),
        # A number is never given twice: a letter that another process still works on would be taken for the new one.
        sqlite_autoincrement=True,
    )  # fmt: skip
    op.create_index("ix_outbox_lane_due", "outbox", ["lane", "due"])
    op.create_table(
        "handling",
        incident(), column("state", sa.Text), sa.Column("until", sa.BigInteger), column("assignee", sa.Text),
        column("by", sa.Text), column("at", sa.BigInteger),
    )  # fmt: skip
    op.create_table("owners", incident(), column("tenant", sa.Text))
    op.create_table(
        "totals",
        column("day", sa.BigInteger), column("tenant", sa.Text), column("bucket", sa.Text), column("service", sa.Text),
        column("count", sa.BigInteger), sa.PrimaryKeyConstraint("day", "tenant", "bucket", "service"),
        sqlite_with_rowid=False,
    )  # fmt: skip
    op.execute(
        "INSERT INTO totals (day, tenant, bucket, service, count) "  # noqa: S608 - a number of ours
        f"SELECT counts.hour - counts.hour % {DAY}, '', incidents.bucket, incidents.service, sum(counts.count) "
        "FROM counts JOIN incidents ON incidents.number = counts.incident GROUP BY 1, 2, 3, 4"
    )
    if op.get_bind().dialect.name == "sqlite":
        # A search for words that are nowhere read every incident with its report. PostgreSQL keeps reports apart from the rows.
        op.create_index("ix_incidents_searched", "incidents", _LISTED + _SEARCHED)
        op.drop_index("ix_incidents_last_seen_number", "incidents")
    op.create_table(
        "firing",
        column("alert", sa.Text), column("incident", sa.Text), column("counted", sa.BigInteger), column("seen", sa.BigInteger),
        sa.PrimaryKeyConstraint("alert"), sqlite_with_rowid=False,
    )  # fmt: skip
    op.create_index("ix_firing_incident", "firing", ["incident"])
    op.create_table(
        "proposals",
        column("fingerprint", sa.Text), column("source", sa.Text), column("at", sa.BigInteger), column("body", sa.Text),
        sa.PrimaryKeyConstraint("fingerprint"), sqlite_with_rowid=False,
    )  # fmt: skip


def downgrade() -> None:
    """Go back to 0001: what waits and who looks after an incident is forgotten; those of tenants go, for nobody else may see them."""
    op.execute("DELETE FROM incidents WHERE number IN (SELECT incident FROM owners)")
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_incidents_last_seen_number", "incidents", _LISTED)
        op.drop_index("ix_incidents_searched", "incidents")
    for table in ("proposals", "firing", "totals", "owners", "handling", "outbox"):
        op.drop_table(table)
