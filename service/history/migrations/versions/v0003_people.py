"""Who looks after an incident, and whose it is.

Revision: 0003, follows: 0002. Adds tables and touches no row, so that the service may write meanwhile.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Go to this schema."""
    key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "handling",
        sa.Column("incident", key, sa.ForeignKey("incidents.number", ondelete="CASCADE"), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("until", sa.BigInteger),
        sa.Column("assignee", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("incident"),
    )
    op.create_table(
        "owners",
        sa.Column("incident", key, sa.ForeignKey("incidents.number", ondelete="CASCADE"), nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("incident"),
    )


def downgrade() -> None:
    """Go back to 0002: whose an incident is, and who looks after it, is forgotten; those of tenants go, for nobody else may see them."""
    op.execute("DELETE FROM incidents WHERE number IN (SELECT incident FROM owners)")
    op.drop_table("owners")
    op.drop_table("handling")
