"""What a search looks at, in the order of the list (SQLite).

Revision: 0005, follows: 0004. On SQLite the index of the list takes in the columns that are searched: a search for words that are
nowhere read every incident with its report for that. PostgreSQL keeps reports apart from the rows, and limits what an index holds.
"""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"

_LISTED = ["last_seen", "number"]
_SEARCHED = ["title", "cause", "name", "service", "model", "fingerprint"]


def upgrade() -> None:
    """Go to this schema."""
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_incidents_searched", "incidents", _LISTED + _SEARCHED)
        op.drop_index("ix_incidents_last_seen_number", "incidents")


def downgrade() -> None:
    """Go back to 0004."""
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_incidents_last_seen_number", "incidents", _LISTED)
        op.drop_index("ix_incidents_searched", "incidents")
