"""Letters that wait: notifications that came in, messages that go out.

Revision: 0002, follows: 0001. Adds a table and touches no row, so that the service may write meanwhile.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Go to this schema."""
    key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "outbox",
        sa.Column("number", key, nullable=False),
        sa.Column("lane", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("gathered", sa.Boolean, nullable=False),
        sa.Column("failed", sa.Text),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        # A number is never given twice: a letter that another process still works on would be taken for the new one.
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_lane_due", "outbox", ["lane", "due"])


def downgrade() -> None:
    """Go back to 0001: what waits is gone."""
    op.drop_table("outbox")
