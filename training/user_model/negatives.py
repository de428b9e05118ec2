"""What a model of one's own is held against: failures, healthy lines and other software that the wheel itself knows of."""

from __future__ import annotations

from functools import cache

from ..text_model.rows.dataset import rows_beside
from ..text_model.rows.row import Row


@cache
def background() -> tuple[Row, ...]:
    """Return the rows of rules, recorded logs and other software, the same each time; needs no sources of vLLM."""
    return tuple(rows_beside(()))


def rows_of_rules() -> list[Row]:
    """Return those without the recorded logs, which people evaluate on."""
    return [row for row in background() if row.origin != "recorded"]
