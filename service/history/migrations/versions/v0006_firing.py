"""Alerts that fire, and the incidents that they are about.

Revision: 0006, follows: 0005. Adds a table and touches no row, so that the service may write meanwhile.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "firing",
        sa.Column("alert", sa.Text, nullable=False),
        sa.Column("incident", sa.Text, nullable=False),
        sa.Column("counted", sa.BigInteger, nullable=False),
        sa.Column("seen", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("alert"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_firing_incident", "firing", ["incident"])


def downgrade() -> None:
    """Go back to 0005: what fires is told once more."""
    op.drop_table("firing")
