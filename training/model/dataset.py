"""From releases and rules to the training set, and from rows to the terms that the classifier reads out of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from ...classifier.analyze import Analysis, Engine
from ...classifier.api import Triage
from ...classifier.model import Incident, Line
from ...classifier.read import read_blocks
from ...classifier.text_model import Unit, notable, units
from ...corpus.store import load
from .augment import variants
from .knowledge import read_buckets, rule_rows
from .others import other_rows
from .releases import release_rows
from .rows import Row

SEED = 20261121
CORPUS = Path(__file__).parents[2] / "corpus"


def build(folders: list[Path], progress: Callable[[str], None]) -> list[Row]:
    """Return the rows of the training set, before augmentation, in an order that depends on the inputs alone."""
    seed = random.Random(SEED)  # noqa: S311 (nothing is secret here)
    rows = list(release_rows(folders, Triage(), progress))
    rows += rule_rows(read_buckets(CORPUS), seed)
    rows += other_rows(seed)
    return rows


def grow(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with their variants. Each row draws by itself: a split before growing changes nothing."""
    grown: list[Row] = []
    for row in rows:
        seed = random.Random(f"{SEED}:{row.group}:{row.text}")  # noqa: S311
        grown += variants(row, seed)
    return grown


def terms(row: Row) -> list[str]:
    """Return the terms of a row: those of the first thing in it that the classifier would judge."""
    found = read_units(row.text, row.stage)
    return sorted(found[0].terms) if found else []


def read_units(text: str, stage: str = "") -> list[Unit]:
    """Return what the classifier judges a piece of log by, with all rules silent."""
    incident, beside = read(text)
    return units(incident.traces, beside, stage or incident.reached)


def read(text: str) -> tuple[Incident, list[Line]]:
    """Return the last incident of a log, read without any rule but those on facts, and the lines to judge beside it."""
    analysis = Analysis(_silent())
    for block in read_blocks(text + "\n"):
        analysis.feed(block)
    incident = analysis.finish()[-1]
    beside = incident.errors or ([] if incident.traces else notable(analysis.tail()) or analysis.tail()[-2:])
    return incident, beside


@cache
def _silent() -> Engine:
    return Engine([rule for rule in load().rules if rule.role == "fact"])
