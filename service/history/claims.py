"""Claims: who of many processes is the first, and how many there were."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, case
from sqlalchemy.dialects import postgresql, sqlite

from .tables import claims


def claim(connection: Connection, key: str, times: int, now: datetime, end: datetime) -> int:
    """Count claims to a key; return how many there are in its window, these included.

    Args:
        connection: A transaction that writes.
        key: What is claimed.
        times: How many claims.
        now: When.
        end: Of the window, where these are the first in it.
    """
    key = claim_key(key)
    insert: Any = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    new = insert(claims).values(key=key, expires=end, count=times)
    over = claims.c.expires <= now
    statement = new.on_conflict_do_update(
        index_elements=["key"],
        set_={
            "count": case((over, new.excluded.count), else_=claims.c.count + new.excluded.count),
            "expires": case((over, new.excluded.expires), else_=claims.c.expires),
        },
    ).returning(claims.c.count)
    return int(connection.execute(statement).scalar_one())


def claim_key(key: str) -> str:
    """Return a key as it is stored: not endless."""
    return key if len(key) <= 200 else "sha256:" + hashlib.sha256(key.encode()).hexdigest()
