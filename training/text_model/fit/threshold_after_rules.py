"""How sure the model must be where rules went first: what they leave is harder than what they decide.

A fold's model has not seen half of the rules; with these hidden, the logs and examples that only they decide are asked of
it as ``--engine auto`` would. From which confidence on its answers there add no wrong ones is a threshold of its own.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ....classifier.api import Triage
from ....corpus.store import load
from ...examples.row import Row
from ..rows.dataset import SEED
from ..rows.recorded import LabelledLog
from .confidence import ABSTAINS
from .export import export

if TYPE_CHECKING:
    from .fitted import Fitted

PRECISION = 0.99
"""Share of the answers that must be right: rules go before the model, and it must not add wrong answers to theirs."""
EXAMPLES = 900
"""Of a fold's rows that show a known cause, the most that are asked."""
Asked = tuple[float, bool]
"""Confidence of an answer of the model, and whether it was right."""


def asked(model: Fitted, hidden: frozenset[str], logs: Sequence[LabelledLog], rows: Sequence[Row]) -> list[Asked]:
    """Return what a model answers where the rules that are left say nothing.

    Args:
        model: One that has seen neither the hidden rules nor the logs; its confidence is learnt.
        hidden: Ids of rules that are not asked.
        logs: Whole logs.
        rows: Pieces of log, of which some are drawn.
    """
    draw = random.Random(SEED)  # noqa: S311 (nothing is secret here)
    sure = [row for row in rows if row.cause and row.bucket not in ABSTAINS]
    if len(sure) > EXAMPLES:
        sure = draw.sample(sure, EXAMPLES)
    texts = [(log.text, (log.bucket, *log.also)) for log in logs] + [(f"{row.text}\n", (row.bucket,)) for row in sure]
    found = []
    with tempfile.TemporaryDirectory() as name:
        export(replace(model, confidence=replace(model.confidence, threshold=0.0, after_rules=0.0)), Path(name), {})
        engine = Triage(without=hidden, engine="auto", model=name)
        for text, fair in texts:
            answer = engine.report(text)
            if answer.decided_by == "model" and answer.bucket not in ABSTAINS:
                found.append((answer.confidence, answer.bucket in fair))
    return found


def hidden_rules(part: int, folds: int, whole_causes: bool = False) -> frozenset[str]:
    """Return the ids of the rules whose rows the model of a fold has not seen; or of causes that have no others."""
    from .folds import fold_of

    rules = [rule for rule in load().rules if rule.role in ("cause", "symptom")]
    kept = {(rule.bucket, rule.cause) for rule in rules if whole_causes and fold_of(rule.id, folds) != part}
    return frozenset(
        rule.id for rule in rules if fold_of(rule.id, folds) == part and (rule.bucket, rule.cause) not in kept
    )


def threshold(found: Sequence[Asked], least: float) -> float:
    """Return the least confidence, not below ``least``, from which on answers are right often enough."""
    best, right = 0.99, 0
    for count, (sure, told) in enumerate(sorted(found, key=lambda item: (-item[0], item[1])), 1):
        right += told
        if right >= PRECISION * count:
            best = sure
    return round(max(best, least), 3)


def figures(found: Sequence[Asked], least: float) -> dict[str, float]:
    """Return how many answers there were to ask for, which part is given from ``least`` on, and how often that is right."""
    taken = [told for sure, told in found if sure >= least]
    return {
        "rows": len(found),
        "accuracy": round(sum(told for _, told in found) / max(1, len(found)), 4),
        "coverage": round(len(taken) / max(1, len(found)), 4),
        "precision": round(sum(taken) / max(1, len(taken)), 4),
    }
