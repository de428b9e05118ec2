"""What a user's model is held against, "none of these": failures, healthy lines and other software known to the package."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..examples.row import Row, read_rows
from ..examples.terms import terms
from ..progress import track

SHIPPED = Path(__file__).with_name("background.jsonl.xz")
"""Holds the rows in a wheel, made when it was built; a checkout makes them of its rules and logs."""


@cache
def background() -> tuple[Row, ...]:
    """Return the rows of rules, recorded logs and other software, the same each time; needs no sources of vLLM."""
    if SHIPPED.exists():
        return tuple(read_rows(SHIPPED))
    from ..text_model.rows.dataset import rows_beside

    return tuple(rows_beside(()))


def rows_of_rules() -> list[Row]:
    """Return those without the recorded logs, which people evaluate on."""
    return [row for row in background() if row.origin != "recorded"]


@dataclass(slots=True, frozen=True)
class Negative:
    """A row that stands for "none of these"."""

    terms: tuple[str, ...]
    group: str
    weight: float


def negatives(rows: Iterable[Row], own: Iterable[str]) -> list[Negative]:
    """Return what stands for "none of these": rows of all buckets but the user's own, and of no failure at all."""
    taken = set(own)
    chosen = [row for row in rows if row.bucket not in taken]
    found = [(row, tuple(terms(row))) for row in track(chosen, "reading what it is held against")]
    return [Negative(words, row.group, row.weight) for row, words in found if words]
