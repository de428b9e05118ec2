"""What Alembic runs to get from its configuration to a connection: ours is handed over open (upgrade.py)."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=context.config.attributes["metadata"],
    # SQLite changes a table by making it anew.
    render_as_batch=True,
)
# The transaction is the caller's: all steps or none, on SQLite too.
context.run_migrations()
