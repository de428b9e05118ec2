"""The schema: made, moved up and down with data in it, refused where it is newer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from tests.service.history.reports import report
from vllm_triage.service import history as package
from vllm_triage.service.history import Filter, History, HistoryError, upgrade
from vllm_triage.service.history.tables import metadata

OURS = {
    "incidents",
    "firing",
    "occurrences",
    "counts",
    "feedback",
    "claims",
    "outbox",
    "handling",
    "owners",
    "totals",
    "proposals",
}


OF_ONE = {"ix_incidents_searched": "sqlite", "ix_incidents_last_seen_number": "postgresql"}
"""Indexes that one of the databases has (``ddl_if``), which Alembic does not look at."""


def tables(history: History) -> set[str]:
    return set(inspect(history._database.engine).get_table_names()) - {"alembic_version"}


def test_migrations_make_the_tables_that_the_code_works_with(history):
    """Columns, indexes, constraints: what tables.py says is what a database has."""
    with history._database.reading() as connection:
        here: str = connection.dialect.name

        def belongs(_object: object, name: str, *_: object) -> bool:
            return OF_ONE.get(name, here) == here

        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_object": belongs})
        indexes = {index["name"] for index in inspect(connection).get_indexes("incidents")}

        assert {name for name, of in OF_ONE.items() if of == here} == indexes & set(OF_ONE)
        assert [] == compare_metadata(context, metadata)
        assert (OURS, upgrade.newest()) == (tables(history), upgrade.revision(connection))


def test_an_upgrade_that_is_not_needed_changes_nothing(history):
    got = history.record(report())
    history.upgrade()

    assert got.id == history.incidents(Filter()).items[0].id


def test_down_and_up_again(history):
    """With data, which is gone; the way back to nothing is a way to begin anew."""
    got = history.record(report())
    history.feedback(got.id, "right")
    history.once("k", 60)
    with history._database.writing() as connection:
        upgrade.move(connection, "base")
    assert set() == tables(history)

    history.upgrade()
    assert history.record(report()).new


def test_every_step_can_be_undone(history):
    """One at a time, and in between the newest schema is one upgrade away."""
    script = ScriptDirectory.from_config(upgrade._config())
    steps = [step.revision for step in script.walk_revisions()]
    for step in [*steps[1:], "base"]:
        with history._database.writing() as connection:
            upgrade.move(connection, step)
        history.upgrade()

    history.ping()


def test_a_step_that_fails_leaves_the_schema_as_it_was(history):
    """All or nothing, on SQLite too."""

    def fail() -> None:
        with history._database.writing() as connection:
            upgrade.move(connection, "base")
            connection.execute(text("nonsense"))

    with pytest.raises(HistoryError):
        fail()

    assert OURS == tables(history)


def test_a_newer_schema_is_refused(history, url):
    """In clear words; nothing of it is touched."""
    with history._database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(HistoryError, match=r"newer vllm-triage has made .* update vllm-triage, or name another"):
        History(url)
    with pytest.raises(HistoryError, match="9999"):
        history.upgrade()


def test_a_database_without_tables(url):
    history = History(url)
    try:
        with pytest.raises(HistoryError, match="vllm-triage history upgrade"):
            history.ping()
        with pytest.raises(HistoryError, match="vllm-triage history upgrade"):
            history.record(report())
    finally:
        history.close()


@pytest.mark.slow
def test_processes_that_start_at_once_upgrade_once(url):
    code = f"from vllm_triage.service.history import History; h = History({url!r}); h.upgrade(); h.ping(); h.close()"
    started = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(4)]

    assert [(b"", 0)] * 4 == [(process.communicate()[1], process.returncode) for process in started]


def test_the_steps_are_found_wherever_the_package_lies(tmp_path):
    """An installed package has its own path; a percent sign is none of the configuration's."""
    home = tmp_path / "50%s off"
    shutil.copytree(Path(package.__file__).parent / "migrations", home)
    config = upgrade._config()
    config.set_main_option("script_location", str(home).replace("%", "%%"))

    assert upgrade.newest() == ScriptDirectory.from_config(config).get_current_head()
