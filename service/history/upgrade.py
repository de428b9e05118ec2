"""Which schema a database has, and bringing it to the one that this release works with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from .tables import metadata
from .types import HistoryError

LOCK = 7_305_001_922_114_613
"""Any number that no other program takes for an advisory lock of PostgreSQL."""


def revision(connection: Connection) -> str:
    """Return the schema that the database has; empty where it has none yet."""
    return MigrationContext.configure(connection).get_current_revision() or ""


def newest() -> str:
    """Return the schema that this release works with."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def refuse_newer(connection: Connection) -> None:
    """Raise where a newer release has written the database.

    Raises:
        HistoryError: Its schema is none that this release knows.
    """
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    found = revision(connection)
    if found and found not in known:
        raise HistoryError(
            f"the database has schema {found}, which a newer vllm-triage has made (this one works with {newest()}): "
            "update vllm-triage, or name another database"
        )


def move(connection: Connection, target: str = "head") -> None:
    """Bring the database to a schema, up or down, within the transaction of ``connection``.

    Of several processes that start at once one does it; the others wait, and find it done.
    """
    if target == "head" and revision(connection) == newest():
        return
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    refuse_newer(connection)
    config = _config(connection)
    wanted = newest() if target == "head" else "" if target == "base" else target
    if wanted == "" or ((found := revision(connection)) and wanted < found):
        command.downgrade(config, target)
    else:
        command.upgrade(config, target)


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    # A percent sign in a path would be taken for an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    attributes: dict[str, Any] = {"connection": connection, "metadata": metadata}
    config.attributes.update(attributes)
    return config
