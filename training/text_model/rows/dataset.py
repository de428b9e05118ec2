"""The training set: rows from releases, rules, messages, recorded logs and other software, and what life makes of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

from ....classifier.api import Triage
from ....corpus import messages
from ...examples.row import Row
from ...examples.terms import judged_parts, terms
from .augment import variants
from .messages import frame_rows, message_rows
from .other_software import other_rows
from .recorded import log_rows, recorded_logs
from .releases import release_rows
from .rules import Known, read_buckets, rule_rows

SEED = 20261121
CORPUS = Path(__file__).parents[3] / "corpus"
Grown = list[tuple[Row, list[str]]]
"""Rows and their variants with the terms of each."""


def build(folders: list[Path], progress: Callable[[str], None]) -> list[Row]:
    """Return the rows of the training set, before augmentation, in an order that depends on the inputs alone.

    Args:
        folders: Releases: folders of sources, or archives of them (see :mod:`sources`).
        progress: Told about each release.
    """
    rows = list(release_rows(folders, Triage(), SEED, progress))
    return rows + rows_beside(rows)


def rows_beside(releases: Iterable[Row]) -> list[Row]:
    """Return the rows of rules, recorded logs, other software and messages; ``releases`` tell what vLLM said from when on."""
    seed = random.Random(SEED)  # noqa: S311 (nothing is secret here)
    known: dict[str, str] = {}
    for row in releases:
        known.setdefault(row.group, row.release)
    rows = list(rule_rows(read_buckets(CORPUS), seed, Known(known)))
    if (CORPUS / "logs" / "recorded").is_dir():
        rows += log_rows(recorded_logs(CORPUS / "logs"), judged_parts)
    rows += other_rows(seed)
    catalogue = messages.catalogue()
    rows += message_rows(catalogue, known.keys(), SEED)
    rows += frame_rows(catalogue, SEED)
    return rows


def grow(rows: Iterable[Row], salt: str = "") -> list[Row]:
    """Return the rows with their variants; another ``salt`` gives other ones.

    Each row draws by itself: a split before growing changes nothing.
    """
    grown: list[Row] = []
    for row in rows:
        seed = random.Random(f"{SEED}:{salt}{row.group}:{row.text}")  # noqa: S311
        grown += variants(row, seed)
    return grown


def with_terms(rows: Iterable[Row], salt: str = "") -> Grown:
    """Return rows and their variants with the terms of each; those that have none are left out."""
    return [(row, found) for row in grow(rows, salt) if (found := terms(row))]
