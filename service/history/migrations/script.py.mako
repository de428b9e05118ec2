"""${message}.

Revision: ${up_revision}, follows: ${down_revision | comma,n}.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Go to this schema."""
    ${upgrades if upgrades else "..."}


def downgrade() -> None:
    """Go back to the schema before."""
    ${downgrades if downgrades else "..."}
