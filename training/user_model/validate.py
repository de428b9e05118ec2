"""How a user's model does on logs that it was not trained on, and the temperature and threshold that follow from it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..progress import track
from .fit import PLACES, fit_user_model
from .model import MOST_THRESHOLD, REST
from .negatives import Negative
from .training_set import OwnRow

FOLDS = 5
"""Parts by failure, each of which is left out once."""
PRECISION, LEAST_THRESHOLD = 0.9, 0.5
"""What answers above the threshold must reach in validation, and the least threshold."""
WORN = 30
"""Percent of a failure's terms that are replaced, to stand for the same failure in somewhat other words."""


@dataclass(slots=True)
class Validation:
    """How the model does on logs that it was not trained on: copies of a failure always stand on one side."""

    asked: int = 0
    answered: int = 0
    right: int = 0
    """Of the answers."""
    alarms: int = 0
    """Answers on what is none of the buckets."""
    beside: int = 0
    """How many of those were asked about."""
    per_bucket: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Bucket to right answers, answers, and logs."""

    def as_data(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "logs": self.asked, "answered": self.answered, "right": self.right, "alarms": self.alarms, "beside": self.beside,
            "buckets": {
                bucket: {"right": right, "answered": answered, "logs": logs}
                for bucket, (right, answered, logs) in self.per_bucket.items()
            },
        }  # fmt: skip


@dataclass(slots=True, frozen=True)
class _Judged:
    """What the model of one fold makes of what it was not trained on: a row of scores, class, weight for each."""

    logits: Any
    truth: list[int]
    weights: list[float]
    fresh: list[bool]
    """Whether it is a failure of its own, rather than one trained on in other words."""


def validate(
    rows: Sequence[OwnRow], against: Sequence[Negative], folds: int = FOLDS
) -> tuple[Validation, float, float]:
    """Return how models trained on the other folds do, and the temperature and threshold that follow from it.

    These are learnt from failures not trained on, from what is none of the buckets, and from failures that come again in
    somewhat other words; the figures leave the last out.
    """
    import numpy as np
    from scipy.special import softmax

    classes = [REST, *sorted({row.bucket for row in rows})]
    folds = max(2, min(folds, len({row.group for row in rows})))
    place = _folds(rows, folds)
    parts = [
        _judge_fold(fold, rows, against, place, folds, classes)
        for fold in track(list(range(folds)), "validating")
        if any(place[row.group] != fold for row in rows)
    ]
    logits = np.vstack([part.logits for part in parts])
    truth = np.array([item for part in parts for item in part.truth])
    weight = np.array([item for part in parts for item in part.weights])
    fresh = np.array([item for part in parts for item in part.fresh])
    temperature = _temperature(logits, truth, weight)
    chances = softmax(logits / temperature, axis=1)
    best, top = chances.argmax(axis=1), chances.max(axis=1)
    threshold = _threshold(top[best > 0], (best == truth)[best > 0], weight[best > 0])
    return _figures(classes, truth[fresh], best[fresh], top[fresh] >= threshold), temperature, threshold


def _judge_fold(
    fold: int,
    rows: Sequence[OwnRow],
    against: Sequence[Negative],
    place: Mapping[int, int],
    folds: int,
    classes: list[str],
) -> _Judged:
    import numpy as np

    out = [row for row in rows if place[row.group] == fold]
    train = [row for row in rows if place[row.group] != fold]
    held = [item for item in against if _fold(item.group, folds) == fold]
    model = fit_user_model(train, [item for item in against if _fold(item.group, folds) != fold])
    again = [_worn(row.units[0], fold) for row in train]
    told = model.logits([*(row.units[0] for row in out), *(item.terms for item in held), *again])
    # A class that the fold was not trained on has a score that no softmax sees.
    logits = np.full((len(told), len(classes)), -30.0)
    logits[:, [0, *(classes.index(name) for name in model.buckets)]] = told
    truth = [
        *(classes.index(row.bucket) for row in out),
        *(0 for _ in held),
        *(classes.index(row.bucket) for row in train),
    ]
    share = len(out) / max(1e-9, sum(item.weight for item in held))
    weights = [*(1.0 for _ in out), *(share * item.weight for item in held), *(len(out) / len(train) for _ in train)]
    return _Judged(logits, truth, weights, [True] * (len(out) + len(held)) + [False] * len(train))


def _temperature(logits: Any, truth: Any, weight: Any) -> float:
    """Return the temperature by which the probabilities fit best what was right."""
    import numpy as np
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    def loss(temperature: float) -> float:
        return float(-(weight * log_softmax(logits / temperature, axis=1)[np.arange(len(truth)), truth]).sum())

    return round(float(minimize_scalar(loss, bounds=(0.2, 5.0), method="bounded").x), PLACES)


def _worn(unit: Sequence[str], salt: int) -> list[str]:
    """Return the terms of a failure as it may come again: some of them are others, always the same ones."""
    return [term if zlib.crc32(f"{salt}{term}".encode()) % 100 >= WORN else f"{term}?" for term in unit]


def _folds(rows: Sequence[OwnRow], folds: int) -> dict[int, int]:
    """Return the fold of each group: those of one bucket go round, so that each fold is trained on some of them."""
    found: dict[int, int] = {}
    for bucket in sorted({row.bucket for row in rows}):
        for place, group in enumerate(sorted({row.group for row in rows if row.bucket == bucket})):
            found.setdefault(group, place % folds)
    return found


def _fold(group: str, folds: int) -> int:
    return zlib.crc32(group.encode()) % folds


def _threshold(top: Any, told: Any, weight: Any) -> float:
    """Return the least probability from which on answers were right often enough, within bounds."""
    import numpy as np

    order = np.argsort(-top, kind="stable")
    # Of a fold in which nothing was left out, all weights are 0: it says nothing.
    share = np.cumsum((told * weight)[order]) / np.maximum(np.cumsum(weight[order]), 1e-9)
    enough = np.nonzero(share >= PRECISION)[0]
    return (
        round(min(MOST_THRESHOLD, max(LEAST_THRESHOLD, float(top[order][enough[-1]]))), 3)
        if len(enough)
        else MOST_THRESHOLD
    )


def _figures(classes: Sequence[str], truth: Any, best: Any, sure: Any) -> Validation:
    answered = (best > 0) & sure
    mine = truth > 0
    found = Validation(
        int(mine.sum()), int((answered & mine).sum()), int((answered & mine & (best == truth)).sum()),
        int((answered & ~mine).sum()), int((~mine).sum()),
    )  # fmt: skip
    for place, bucket in enumerate(classes):
        if place:
            told = answered & (best == place)
            found.per_bucket[bucket] = (
                int((told & (truth == place)).sum()), int(told.sum()), int((truth == place).sum())
            )  # fmt: skip
    return found
