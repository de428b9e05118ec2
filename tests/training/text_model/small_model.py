"""A small model, fitted and calibrated as the released one is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from vllm_triage.training.examples.row import Row
from vllm_triage.training.text_model.fit import confidence
from vllm_triage.training.text_model.fit.composed_logs import around, compose, verdicts
from vllm_triage.training.text_model.fit.fit import fit_grown
from vllm_triage.training.text_model.fit.fitted import Fitted, Settings
from vllm_triage.training.text_model.fit.folds import fold_of
from vllm_triage.training.text_model.rows.dataset import with_terms


def small_model(rows: Sequence[Row], settings: Settings) -> Fitted:
    """Fit on two messages of three, and learn the confidence from logs composed of the third."""
    train, held = ([row for row in rows if (fold_of(row.group, 3) == 0) is out] for out in (False, True))
    model = fit_grown(with_terms(train), settings)
    grown = with_terms(held)
    model.confidence = confidence.learn(verdicts(model, compose(grown, *around(grown), random.Random(1))))
    return model


def probabilities(model: Fitted, rows: Sequence[Sequence[str]]) -> Any:
    """Return the shares of the buckets as scikit-learn's side has them, a row for each list of terms."""
    from scipy.special import softmax

    return softmax(model.scores(rows)[0] / model.temperature, axis=1)
