"""The training set: rows from releases, rules, recorded logs and other software, and the terms read out of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from ....classifier.api import Triage
from ....classifier.incidents.session import Session
from ....classifier.incidents.types import Incident
from ....classifier.input.read import read_blocks
from ....classifier.lines.types import Line, Trace
from ....classifier.matching.engine import Engine
from ....classifier.text_model.features import Unit, judged, units
from ....corpus.store import load
from .augment import variants
from .other_software import other_rows
from .recorded import log_rows, recorded_logs
from .releases import release_rows
from .row import Row
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
    """Return the rows of rules, recorded logs and other software; ``releases`` tell what vLLM said from when on."""
    seed = random.Random(SEED)  # noqa: S311 (nothing is secret here)
    known: dict[str, str] = {}
    for row in releases:
        known.setdefault(row.group, row.release)
    rows = list(rule_rows(read_buckets(CORPUS), seed, Known(known)))
    if (CORPUS / "logs" / "recorded").is_dir():
        rows += log_rows(recorded_logs(CORPUS / "logs"), judged_parts)
    rows += other_rows(seed)
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


def terms(row: Row) -> list[str]:
    """Return the terms of a row: those of the first thing in it that the classifier would judge."""
    found = read_units(row.text, row.stage)
    return sorted(found[0].terms) if found else []


def read_units(text: str, stage: str = "") -> list[Unit]:
    """Return what the classifier judges a piece of log by, with all rules silent."""
    incident, traces, beside = judged_parts(text)
    return units(traces, beside, stage or incident.reached)


def judged_parts(text: str) -> tuple[Incident, list[Trace], list[Line]]:
    """Return the last incident of a log, and the exceptions and lines that it is judged by."""
    incident, tail = _analysed(text)
    return (incident, *judged(incident, incident.errors, tail))


def read(text: str) -> tuple[Incident, list[Line]]:
    """Return the last incident of a log, read without any rule but those on facts, and the lines to judge beside it."""
    incident, tail = _analysed(text)
    return incident, judged(incident, incident.errors, tail)[1]


def _analysed(text: str) -> tuple[Incident, list[Line]]:
    analysis = Session(_silent())
    for block in read_blocks(text + "\n"):
        analysis.feed(block)
    return analysis.finish()[-1], analysis.tail()


@cache
def _silent() -> Engine:
    return Engine([rule for rule in load().rules if rule.role == "fact"])
