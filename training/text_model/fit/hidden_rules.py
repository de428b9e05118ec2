"""Which rules are hidden where a fold's model, which has not seen their rows, is asked beside the others."""

from __future__ import annotations

from ....corpus.store import load
from .folds import fold_of


def hidden_rules(part: int, folds: int, whole_causes: bool = False) -> frozenset[str]:
    """Return the ids of the rules whose rows the model of a fold has not seen; or of causes that have no others."""
    rules = [rule for rule in load().rules if rule.role in ("cause", "symptom")]
    kept = {(rule.bucket, rule.cause) for rule in rules if whole_causes and fold_of(rule.id, folds) != part}
    return frozenset(
        rule.id for rule in rules if fold_of(rule.id, folds) == part and (rule.bucket, rule.cause) not in kept
    )
