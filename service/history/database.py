"""A database by its URL: SQLite as several processes can share it, PostgreSQL; their errors in words of ours."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoneFreeError

from .types import HistoryError

BUSY_SECONDS = 15
"""How long a writer waits for the others."""
RETRIED = frozenset({"40001", "40P01"})
"""PostgreSQL: another transaction was in the way (serialization failure, deadlock); the next attempt has a clear way."""
_SCHEMES = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg", "sqlite": "sqlite+pysqlite"}
_WORDS = (
    ("database or disk is full", "the disk is full"),
    ("no space left", "the disk is full"),
    ("could not extend file", "the disk is full"),
    ("attempt to write a readonly database", "it is read-only for this user: check the permissions of the file and its folder"),
    ("read-only transaction", "it is read-only (a standby?): name the primary server"),
    ("database is locked", f"another process has kept it locked for {BUSY_SECONDS} seconds"),
    ("unable to open database file", "the file cannot be opened: check that its folder exists and may be written to"),
    ("file is not a database", "the file is not a SQLite database"),
    ("malformed", "the file is damaged: restore it from a backup, or move it away to begin a new one"),
    ("no such table", "it has no tables yet: run `vllm-triage history upgrade`"),
    ("does not exist", "it is not there, or has no tables yet (`vllm-triage history upgrade` makes them)"),
    ("password authentication failed", "user or password is wrong"),
    ("connection refused", "no server answers there"),
    ("connection failed", "the server cannot be reached"),
    ("disk i/o error", "the disk reports an error"),
)  # fmt: skip
"""What drivers say, and what is to be done about it."""
_GONE = "the file was moved away or removed"


class Database:
    """An engine that begins transactions for reading and for writing apart.

    Args:
        url: SQLAlchemy's form; ``postgresql://`` takes psycopg.
        power_safe: SQLite waits for the disk at every commit, so that a power cut loses nothing that was acknowledged.

    Raises:
        HistoryError: The URL is of no use.
    """

    def __init__(self, url: str, power_safe: bool = False) -> None:
        self.url = _read_url(url)
        self.name = self.url.render_as_string(hide_password=True)
        """The URL without its password."""
        self._turn: AbstractContextManager[object] = nullcontext()
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._file: tuple[int, int] | None = None
        if self.sqlite:
            self._turn = threading.Lock()
        with self.errors():
            self.engine = _sqlite(self.url, power_safe) if self.sqlite else _postgresql(self.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the database."""
        self._look()
        with self.errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes are durable when the block is left, or undone when it raises."""
        # SQLite has one writer at a time. Those of this process line up here: SQLite's own line is asking again now and then.
        self._look()
        with self._turn, self.errors(), self.engine.connect() as plain:
            connection = plain.execution_options(vllm_triage_writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the database into :class:`HistoryError`."""
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            words, known = _words(error)
            raise HistoryError(f"history ({self.name}): {words}", words.partition(":")[0] if known else "") from error

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _look(self) -> None:
        """See to it that what is open is the SQLite file that is there: what is written to one that was removed is lost.

        Raises:
            HistoryError: It is not there any more. One that is brought back, or another, is taken from then on.
        """
        if not self.sqlite:
            return
        try:
            found = Path(self.url.database or "").stat()
        except FileNotFoundError:
            if self._file is not None:
                text = f"history ({self.name}): {_GONE}: bring it back, or start the service anew with an empty one"
                raise HistoryError(text, _GONE) from None
            return
        except OSError:  # SQLite will tell
            return
        if self._file != (found.st_dev, found.st_ino):
            if self._file is not None:
                self.engine.dispose()
            self._file = found.st_dev, found.st_ino


def retriable(error: HistoryError) -> bool:
    """Return whether doing the same again may well succeed at once."""
    cause = error.__cause__
    return isinstance(cause, DBAPIError) and getattr(cause.orig, "sqlstate", "") in RETRIED


def _read_url(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The text is not shown: it may hold a password.
        raise HistoryError(
            "the database URL cannot be read; it looks like sqlite:////var/lib/vllm-triage/history.db "
            "or postgresql://user:password@host/database"
        ) from None
    scheme = _SCHEMES.get(url.drivername, url.drivername)
    if scheme not in _SCHEMES.values():
        raise HistoryError(f"{url.drivername}: the history is kept in sqlite or postgresql")
    if scheme.startswith("sqlite") and (not url.database or url.database == ":memory:" or url.query.get("mode")):
        raise HistoryError("the history needs a file: sqlite:////var/lib/vllm-triage/history.db")
    return url.set(drivername=scheme)


def _words(error: Exception) -> tuple[str, bool]:
    """Return what is wrong, and whether these are words of our own, which quote nothing."""
    if isinstance(error, NoneFreeError):
        return "too many callers at once, no connection came free", True
    told = str(getattr(error, "orig", None) or error).strip()
    lowered = told.lower()
    for hint, words in _WORDS:
        if hint in lowered:
            return words, True
    # Drivers put statement and values on further lines; those are not for error messages.
    return (told.splitlines()[0][:300] if told else type(error).__name__), False


def _sqlite(url: URL, power_safe: bool) -> Engine:
    path = Path(url.database or "")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Reports name models, paths and hosts: nobody else on the machine needs to read them. SQLite gives its other files the
    # same mode. A file that is there keeps what it has, one that cannot be made is told by SQLite.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    # Threads of a web server: about forty; one that writes, the others read.
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, pool_size=8, max_overflow=40)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        # Transactions are begun below, in words: the driver's own begin too late, and as readers.
        connection.isolation_level = None
        run = connection.execute
        if _is_empty(path):
            # Before the first table is made. After that it is without effect, but would wait for whoever is writing: for
            # ever where that is the thread that opens the connection, to read something while it writes.
            run("PRAGMA auto_vacuum=INCREMENTAL")
        with suppress(Exception):
            # A read-only file keeps the mode it has.
            run("PRAGMA journal_mode=WAL")
        run(f"PRAGMA synchronous={'FULL' if power_safe else 'NORMAL'}")
        run("PRAGMA foreign_keys=ON")
        run("PRAGMA journal_size_limit=67108864")
        # Each connection has its own; what is read often is in the system's memory anyway.
        run("PRAGMA cache_size=-1000")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that reads first and writes later fails where another has written in between: writers say so first.
        writes = connection.get_execution_options().get("vllm_triage_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:  # SQLite will tell
        return False


def _postgresql(url: URL) -> Engine:
    return create_engine(
        url,
        connect_args={
            "connect_timeout": 5,
            "application_name": "vllm-triage",
            "options": "-c lock_timeout=15s -c statement_timeout=60s -c idle_in_transaction_session_timeout=60s",
        },
        # A connection that a restart of the server, or a firewall, has cut is noticed before it is used.
        pool_pre_ping=True,
        pool_size=5,
        max_overflow=15,
        pool_timeout=15,
    )
