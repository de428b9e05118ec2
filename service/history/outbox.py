"""Letters that wait to be handled: notifications that came in, messages that go out. They survive the death of a process.

A letter is taken for a time: whoever takes it says when it is done. Where nothing is heard, it is due again, for anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from ..letter import Leader, Letter, Taken
from .database import Database
from .tables import claims, outbox


@dataclass(frozen=True, slots=True)
class LaneFigures:
    """What waits in a lane, and what was given up there."""

    lane: str
    waiting: int
    since: datetime | None
    """When the oldest of those that wait was written; None where none does."""
    failed: int
    reason: str
    """Why the latest was given up; empty where none was."""


class Outbox:
    """The letters of a database, shared by all its processes."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def put(self, letters: Sequence[Letter]) -> None:
        """Keep letters, all or none; they are durable when this returns.

        Raises:
            HistoryError: They could not be written.
        """
        with self._database.writing() as connection:
            put(connection, letters, self._clock())

    def take(self, lane: str, most: int, seconds: float, leader: Leader | None = None) -> list[Taken]:
        """Return letters that are due, the oldest first, to be worked on within some seconds. Nobody else gets them meanwhile.

        Args:
            lane: Of which letters are taken.
            most: How many at most.
            seconds: For how long they are lent.
            leader: Who alone handles this lane, so that letters keep their order; nothing is taken while another does.
        """
        now = self._clock()
        due = (
            select(outbox.c.number)
            .where(outbox.c.lane == lane, outbox.c.due <= now, outbox.c.failed.is_(None))
            .order_by(outbox.c.number)
            .limit(most)
        )
        with self._database.reading() as connection:
            # Most looks find nothing: no need to keep writers waiting.
            if connection.execute(due.limit(1)).first() is None:
                return []
            if leader is not None and _led(connection, lane, leader, now) is None:
                return []
        with self._database.writing() as connection:
            if leader is not None and not _lead(connection, lane, leader, now):
                return []
            numbers = connection.execute(due.with_for_update(skip_locked=True)).scalars().all()
            if not numbers:
                return []
            moved = (
                update(outbox)
                .where(outbox.c.number.in_(numbers))
                .values(due=now + timedelta(seconds=seconds), attempts=outbox.c.attempts + 1)
                .returning(
                    outbox.c.number, outbox.c.id, outbox.c.body, outbox.c.attempts, outbox.c.gathered, outbox.c.at
                )
            )
            found = [Taken(*row) for row in connection.execute(moved)]
        return sorted(found, key=lambda letter: letter.number)

    def leave(self, lane: str, leader: Leader) -> None:
        """Let others handle a lane that one process handled alone."""
        with self._database.writing() as connection:
            connection.execute(delete(claims).where(claims.c.key == _key(lane), claims.c.count == leader.token))

    def done(self, numbers: Sequence[int]) -> None:
        """Remove letters that were handled."""
        with self._database.writing() as connection:
            connection.execute(delete(outbox).where(outbox.c.number.in_(numbers)))

    def later(self, numbers: Sequence[int], due: datetime, *, untried: bool = False, gathered: bool = False) -> None:
        """Have letters handled at some time.

        Args:
            numbers: Of the letters.
            due: Not before this.
            untried: Nothing was tried with them: that was no attempt.
            gathered: They are to be told together.
        """
        values: dict[str, object] = {"due": due}
        if untried:
            values["attempts"] = outbox.c.attempts - 1
        if gathered:
            values["gathered"] = True
        with self._database.writing() as connection:
            connection.execute(update(outbox).where(outbox.c.number.in_(numbers)).values(values))

    def give_up(self, numbers: Sequence[int], reason: str) -> None:
        """Keep letters that could not be handled, marked as failed."""
        with self._database.writing() as connection:
            connection.execute(update(outbox).where(outbox.c.number.in_(numbers)).values(failed=reason[:200]))

    def waits(self, lane: str) -> bool:
        """Return whether letters of a lane wait, or are worked on."""
        left = select(outbox.c.number).where(outbox.c.lane == lane, outbox.c.failed.is_(None)).limit(1)
        with self._database.reading() as connection:
            return connection.execute(left).first() is not None

    def gathering(self, lane: str) -> tuple[datetime, datetime] | None:
        """Return when the oldest letter that is kept back in a lane was written, and when the next of them are due."""
        kept = outbox.c.lane == lane, outbox.c.gathered.is_(True), outbox.c.failed.is_(None)
        with self._database.reading() as connection:
            oldest, due = connection.execute(select(func.min(outbox.c.at), func.min(outbox.c.due)).where(*kept)).one()
        return None if oldest is None else (oldest, due)

    def figures(self) -> list[LaneFigures]:
        """Return what waits and what was given up, by lane."""
        state = outbox.c.failed.is_not(None).label("over")
        query = select(outbox.c.lane, state, func.count(), func.min(outbox.c.at), func.max(outbox.c.number)).group_by(
            outbox.c.lane, state
        )
        found: dict[str, LaneFigures] = {}
        with self._database.reading() as connection:
            for lane, over, count, since, latest in connection.execute(query).all():
                known = found.get(lane, LaneFigures(lane, 0, None, 0, ""))
                if over:
                    why = connection.execute(select(outbox.c.failed).where(outbox.c.number == latest)).scalar_one()
                    found[lane] = LaneFigures(lane, known.waiting, known.since, count, why)
                else:
                    found[lane] = LaneFigures(lane, count, since, known.failed, known.reason)
        return [found[lane] for lane in sorted(found)]


def _led(connection: Connection, lane: str, leader: Leader, now: datetime) -> bool | None:
    """Return whether a lane was led by another who has died; None where another leads it now."""
    row = connection.execute(select(claims.c.count, claims.c.expires).where(claims.c.key == _key(lane))).first()
    if row is None or row[0] == leader.token:
        return False
    return None if row[1] > now else True


def _lead(connection: Connection, lane: str, leader: Leader, now: datetime) -> bool:
    led = _led(connection, lane, leader, now)
    if led is None:
        return False
    values = {"count": leader.token, "expires": now + timedelta(seconds=leader.seconds)}
    free = (claims.c.count == leader.token) | (claims.c.expires <= now)
    if not connection.execute(update(claims).where(claims.c.key == _key(lane), free).values(values)).rowcount:
        insert: Any = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        new = insert(claims).values(key=_key(lane), **values).on_conflict_do_nothing().returning(claims.c.key)
        return connection.execute(new).first() is not None
    if led:
        # What the one before had under way comes first.
        theirs = outbox.c.lane == lane, outbox.c.failed.is_(None), outbox.c.attempts > 0
        connection.execute(update(outbox).where(*theirs).values(due=now))
    return True


def _key(lane: str) -> str:
    return f"history:leads:{lane}"


def put(connection: Connection, letters: Sequence[Letter], now: datetime) -> None:
    """Write letters within somebody's transaction."""
    if letters:
        connection.execute(
            outbox.insert(),
            [
                {
                    "lane": letter.lane, "id": letter.id, "at": now, "due": now, "attempts": 0, "gathered": False,
                    "failed": None, "body": letter.body,
                }
                for letter in letters
            ],
        )  # fmt: skip
