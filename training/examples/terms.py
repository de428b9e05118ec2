"""What is read out of an example: the exceptions and lines that the classifier would judge it by, and their terms.

All rules are silent but those on facts, so an example shows what the text model would see where no rule decides.
"""

from __future__ import annotations

from functools import cache

from ...classifier.incidents.session import Session
from ...classifier.incidents.types import Incident
from ...classifier.input.read import read_blocks
from ...classifier.lines.types import Line, Trace
from ...classifier.matching.engine import Engine
from ...classifier.text_model.features import Unit, judged, units
from ...corpus.store import load
from .row import Row


def terms(row: Row) -> list[str]:
    """Return the terms of a row, sorted: those of the first thing in it that the classifier would judge."""
    found = read_units(row.text, row.stage)
    return sorted(found[0].terms) if found else []


def read_units(text: str, stage: str = "") -> list[Unit]:
    """Return what the classifier judges a piece of log by, the likeliest root first.

    Args:
        text: The piece of log.
        stage: How far the start had got, where that is known; else what the log itself tells.
    """
    incident, traces, lines = judged_parts(text)
    return units(traces, lines, stage or incident.reached)


def judged_parts(text: str) -> tuple[Incident, list[Trace], list[Line]]:
    """Return the last incident of a log, and the exceptions and lines that it is judged by."""
    analysis = Session(_silent())
    for block in read_blocks(text + "\n"):
        analysis.feed(block)
    incident = analysis.finish()[-1]
    return (incident, *judged(incident, incident.errors, analysis.tail()))


@cache
def _silent() -> Engine:
    return Engine([rule for rule in load().rules if rule.role == "fact"])
