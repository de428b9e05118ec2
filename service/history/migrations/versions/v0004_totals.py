"""Occurrences by day, bucket and service, summed up: what the page draws.

Revision: 0004, follows: 0003. Adds a table and fills it from the counts by hour.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

DAY = 86_400_000_000
"""Microseconds."""


def upgrade() -> None:
    """Go to this schema. What a process of an older release counts meanwhile is missing in the sums, and nowhere else."""
    op.create_table(
        "totals",
        sa.Column("day", sa.BigInteger, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("bucket", sa.Text, nullable=False),
        sa.Column("service", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("day", "tenant", "bucket", "service"),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO totals (day, tenant, bucket, service, count) "  # noqa: S608 - a number of ours
        f"SELECT counts.hour - counts.hour % {DAY}, coalesce(owners.tenant, ''), incidents.bucket, incidents.service, sum(counts.count) "
        "FROM counts JOIN incidents ON incidents.number = counts.incident LEFT JOIN owners ON owners.incident = counts.incident "
        "GROUP BY 1, 2, 3, 4"
    )


def downgrade() -> None:
    """Go back to 0003."""
    op.drop_table("totals")
