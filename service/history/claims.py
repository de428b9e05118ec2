"""Claims: who of many processes is the first, and how many there were."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import BigInteger, Connection, case, literal_column, type_coerce
from sqlalchemy.dialects import postgresql, sqlite

from .tables import claims

WINDOWS = 64
"""Lengths of windows whose statements are kept; a service has a handful."""


def claim_each(
    connection: Connection, claimed: Sequence[tuple[str, int]], now: datetime, window: timedelta
) -> list[int]:
    """Count claims to keys; return for each how many there are in its window, itself and those before it included.

    One statement for all of them: whoever writes keeps every other writer waiting.

    Args:
        connection: A transaction that writes.
        claimed: Each key, and how many claims to it; a key may come several times.
        now: When.
        window: How long a window is that begins with these.
    """
    keys = [claim_key(key) for key, _ in claimed]
    sums = dict.fromkeys(keys, 0)
    for key, (_, times) in zip(keys, claimed, strict=True):
        sums[key] += times
    # In one order everywhere: two processes would wait for each other.
    rows = [{"key": key, "expires": now + window, "count": sums[key]} for key in sorted(sums)]
    before: dict[str, int] = {}
    if rows:
        statement = _statement(connection.dialect.name, window // timedelta(microseconds=1))
        before = {key: count - sums[key] for key, count in connection.execute(statement, rows)}
    found = []
    for key, (_, times) in zip(keys, claimed, strict=True):
        before[key] += times
        found.append(before[key])
    return found


@lru_cache(WINDOWS)
def _statement(dialect: str, window: int) -> Any:
    """Return the upsert for windows of so many microseconds."""
    insert: Any = sqlite.insert if dialect == "sqlite" else postgresql.insert
    new = insert(claims)
    # The length is written out: with a parameter outside of its values, SQLAlchemy sends row by row.
    now = type_coerce(new.excluded.expires, BigInteger) - literal_column(str(window))
    over = type_coerce(claims.c.expires, BigInteger) <= now
    return new.on_conflict_do_update(
        index_elements=["key"],
        set_={
            "count": case((over, new.excluded.count), else_=claims.c.count + new.excluded.count),
            "expires": case((over, new.excluded.expires), else_=claims.c.expires),
        },
    ).returning(claims.c.key, claims.c.count)


def claim_key(key: str) -> str:
    """Return a key as it is stored: not endless."""
    return key if len(key) <= 200 else "sha256:" + hashlib.sha256(key.encode()).hexdigest()
