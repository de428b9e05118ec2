"""What models proposed for failures, so that nobody is asked about the same one twice.

Revision: 0007, follows: 0006. Adds a table and touches no row, so that the service may write meanwhile.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "proposals",
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("fingerprint"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Go back to 0006: models are asked once more."""
    op.drop_table("proposals")
