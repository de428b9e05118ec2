"""Databases to test with: a SQLite file, and a PostgreSQL server of our own where its programs are installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from vllm_triage.service.history import History


class Clock:
    """A time that moves when told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> datetime:
        self.now += timedelta(**span)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A PostgreSQL server on a socket in a folder of its own; the URL of its first database."""
    folder = _programs()
    if folder is None:
        pytest.skip("PostgreSQL's server programs (initdb, postgres) are not installed")
    with tempfile.TemporaryDirectory(prefix="pg-") as home:
        _make(folder, Path(home))
        with _running(folder, Path(home)) as url:
            yield url


@pytest.fixture
def server_of_its_own() -> Iterator[Callable[[], AbstractContextManager[str]]]:
    """Run a PostgreSQL server for as long as a block lasts, always with the same data; gives its URL."""
    folder = _programs()
    if folder is None:
        pytest.skip("PostgreSQL's server programs (initdb, postgres) are not installed")
    with tempfile.TemporaryDirectory(prefix="pg-") as home:
        _make(folder, Path(home))
        yield lambda: _running(folder, Path(home))


def _as(home: Path) -> dict[str, Any]:
    """Return how programs of PostgreSQL are run."""
    who: dict[str, Any] = {}
    if os.geteuid() == 0:
        # The server refuses to run as root.
        who = {"user": 65534, "group": 65534, "extra_groups": []}
        os.chown(home, 65534, 65534)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C"}
    return {"stdout": subprocess.DEVNULL, "cwd": home, "env": environment, **who}


def _make(programs: Path, home: Path) -> None:
    words = ["-D", str(home / "data"), "-U", "triage", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run([programs / "initdb", *words], check=True, stderr=subprocess.DEVNULL, **_as(home))


@contextmanager
def _running(programs: Path, home: Path) -> Iterator[str]:
    quiet = _as(home)
    with (home / "server.log").open("wb") as log:
        words = ["-D", str(home / "data"), "-k", str(home), "-c", "listen_addresses=", "-c", "max_connections=60", "-F"]
        running: subprocess.Popen[bytes] = subprocess.Popen([programs / "postgres", *words], stderr=log, **quiet)
    try:
        url = f"postgresql://triage@/postgres?host={home}"
        _await(url, running, home / "server.log")
        yield url
    finally:
        # At once: nothing of it is needed any more.
        running.send_signal(signal.SIGQUIT)
        running.wait(30)


def _await(url: str, running: subprocess.Popen[bytes], log: Path) -> None:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    end = time.monotonic() + 60
    while True:
        try:
            with engine.connect():
                break
        except OperationalError:
            assert running.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
    engine.dispose()


def _programs() -> Path | None:
    found = shutil.which("initdb")
    homes = [Path(found).parent] if found else []
    homes += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((home for home in homes if (home / "initdb").exists() and (home / "postgres").exists()), None)


@pytest.fixture
def postgresql(server) -> str:
    """The URL of the server's database, emptied."""
    engine = create_engine(server.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    url: str = server
    return url


@pytest.fixture
def sqlite(tmp_path) -> str:
    """The URL of a SQLite file that is not there yet."""
    return f"sqlite:///{tmp_path}/state/history.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request) -> str:
    """The URL of an empty database, of each kind."""
    value: str = request.getfixturevalue(request.param)
    return value


@pytest.fixture
def opened(url, clock) -> Iterator[Callable[..., History]]:
    """Open histories on the database; all of them are closed at the end."""
    made: list[History] = []

    def opener(**settings: Any) -> History:
        history = History(url, **{"clock": clock, **settings})
        made.append(history)
        history.upgrade()
        return history

    yield opener
    for history in made:
        history.close()


@pytest.fixture
def history(opened) -> History:
    """An empty history."""
    opener: Callable[..., History] = opened
    return opener()
