"""Fits the linear model with scikit-learn: vocabulary, weights, calibration, and from where on it may answer."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .dataset import grow, terms
from .rows import Row

ABSTAINS = ("unknown", "no_failure")
"""Buckets that are no answer: the model says with them that there is nothing to name."""
HELD_OUT_PROGRAMS = frozenset({"other/web", "other/native", "other/kernel", "other/java", "other/inference"})
PRECISION = 0.90
"""What answers above the threshold must reach on messages that were not trained on."""


@dataclass(slots=True)
class Settings:
    """What validation chooses."""

    strength: float = 3.0
    """C of the logistic regression; of 3, 10 and 30 the one that answers most at the wanted precision."""
    least_groups: int = 2
    """Messages that must have a term for it to count."""
    most_terms: int = 24000


@dataclass(slots=True)
class Fitted:
    """A fitted model on scikit-learn's side."""

    estimator: Any
    buckets: list[str]
    keys: list[int]
    """CRC-32 of every term, ascending; row ``i`` of the weights belongs to ``keys[i]``."""
    rarity: list[float]
    unseen: float
    temperature: float = 1.0
    threshold: float = 1.0

    def matrix(self, rows: Sequence[Sequence[str]]) -> Any:
        """Return the feature matrix of rows given as terms."""
        return _matrix(rows, {key: index for index, key in enumerate(self.keys)}, self.rarity, self.unseen)

    def logits(self, rows: Sequence[Sequence[str]]) -> Any:
        """Return scikit-learn's scores."""
        return self.estimator.decision_function(self.matrix(rows))

    def probabilities(self, rows: Sequence[Sequence[str]]) -> Any:
        """Return calibrated probabilities."""
        from scipy.special import softmax

        return softmax(self.logits(rows) / self.temperature, axis=1)


def fit(rows: Iterable[Row], settings: Settings) -> Fitted:
    """Fit on rows (they are augmented here)."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    grown = [(row, found) for row in grow(rows) if (found := terms(row))]
    keys, rarity, unseen = _vocabulary(grown, settings)
    lists = [found for _, found in grown]
    labels = np.array([row.bucket for row, _ in grown])
    many = Counter(labels.tolist())
    # A rare bucket counts for more, a frequent one for less, by the root of its frequency.
    weights = np.array([row.weight / math.sqrt(many[row.bucket]) for row, _ in grown])
    weights *= len(weights) / weights.sum()
    data = _matrix(lists, {key: index for index, key in enumerate(keys)}, rarity, unseen)
    estimator = LogisticRegression(C=settings.strength, max_iter=120, tol=2e-3)
    estimator.fit(data, labels, sample_weight=weights)
    # Rounded here, so that scikit-learn and the exported file hold the same numbers.
    estimator.coef_ = estimator.coef_.astype(np.float16).astype(np.float64)
    estimator.intercept_ = estimator.intercept_.astype(np.float32).astype(np.float64)
    return Fitted(estimator, [str(name) for name in estimator.classes_], keys, rarity, unseen)


def _vocabulary(grown: list[tuple[Row, list[str]]], settings: Settings) -> tuple[list[int], list[float], float]:
    import numpy as np

    groups: dict[str, set[str]] = {}
    for row, found in grown:
        for term in found:
            groups.setdefault(term, set()).add(row.group)
    total = len({row.group for row, _ in grown})
    counted = sorted(((len(having), term) for term, having in groups.items()), key=lambda item: (-item[0], item[1]))
    kept = [(count, term) for count, term in counted if count >= settings.least_groups][: settings.most_terms]
    table: dict[int, int] = {}
    for count, term in kept:
        table.setdefault(zlib.crc32(term.encode()), count)
    keys = sorted(table)
    rarity = [float(np.float32(math.log((1 + total) / (1 + table[key])) + 1)) for key in keys]
    return keys, rarity, float(np.float32(math.log((1 + total) / 2) + 1))


def _matrix(rows: Sequence[Sequence[str]], index: dict[int, int], rarity: list[float], unseen: float) -> Any:
    import numpy as np
    from scipy.sparse import csr_matrix

    starts, columns, values = [0], [], []
    for row in rows:
        squares = 0.0
        known: list[tuple[int, float]] = []
        for term in row:
            column = index.get(zlib.crc32(term.encode()))
            value = unseen if column is None else rarity[column]
            squares += value * value
            if column is not None:
                known.append((column, value))
        norm = math.sqrt(squares) or 1.0
        columns += [column for column, _ in known]
        values += [value / norm for _, value in known]
        starts.append(len(columns))
    matrix = csr_matrix(
        (np.array(values), np.array(columns, dtype=np.int32), np.array(starts)), shape=(len(rows), len(rarity))
    )
    matrix.sum_duplicates()
    return matrix


def calibrate(model: Fitted, rows: Sequence[Row]) -> dict[str, float]:
    """Set temperature and threshold by rows that were not trained on; return how the model does on them."""
    import numpy as np
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax, softmax

    grown, logits = _scored(model, rows)
    wanted = np.array([model.buckets.index(row.bucket) for row in grown])
    weight = np.array([row.weight for row in grown])

    def loss(temperature: float) -> float:
        chances = log_softmax(logits / temperature, axis=1)
        return float(-(weight * chances[np.arange(len(wanted)), wanted]).sum())

    model.temperature = round(float(minimize_scalar(loss, bounds=(0.2, 5.0), method="bounded").x), 4)
    chances = softmax(logits / model.temperature, axis=1)
    best, top = chances.argmax(axis=1), chances.max(axis=1)
    answers = np.array([model.buckets[index] not in ABSTAINS for index in best])
    model.threshold = _threshold(top[answers], (best == wanted)[answers], weight[answers])
    return judge(model, rows)


def judge(model: Fitted, rows: Sequence[Row]) -> dict[str, float]:
    """Return how a calibrated model does on rows."""
    import numpy as np
    from scipy.special import softmax

    grown, logits = _scored(model, rows)
    chances = softmax(logits / model.temperature, axis=1)
    best, top = chances.argmax(axis=1), chances.max(axis=1)
    wanted = np.array([model.buckets.index(row.bucket) for row in grown])
    weight = np.array([row.weight for row in grown])
    taken = np.array([model.buckets[index] not in ABSTAINS for index in best]) & (top >= model.threshold)
    failures = np.array([row.bucket not in ABSTAINS for row in grown])
    right = best == wanted
    return {
        "rows": len(grown),
        "accuracy": round(float((right * weight).sum() / weight.sum()), 4),
        "coverage": round(float((taken & failures).sum() / max(1, failures.sum())), 4),
        "precision": round(float((weight * (right & taken)).sum() / max(1e-9, (weight * taken).sum())), 4),
        "silent": round(float((~taken).sum() / max(1, len(taken))), 4),
    }


def _scored(model: Fitted, rows: Sequence[Row]) -> tuple[list[Row], Any]:
    grown = [(row, found) for row in grow(rows) if row.bucket in model.buckets and (found := terms(row))]
    return [row for row, _ in grown], model.logits([found for _, found in grown])


def _threshold(top: Any, right: Any, weight: Any) -> float:
    """Return the least probability from which on answers are right often enough."""
    import numpy as np

    order = np.argsort(-top, kind="stable")
    share = np.cumsum((right * weight)[order]) / np.cumsum(weight[order])
    enough = np.nonzero(share >= PRECISION)[0]
    return round(float(top[order][enough[-1]]), 3) if len(enough) else 0.99


def split(rows: Iterable[Row], part: int = 0, of: int = 5) -> tuple[list[Row], list[Row]]:
    """Part rows into those to train on and those to judge by: whole messages, whole rules, whole programs."""
    train: list[Row] = []
    judge: list[Row] = []
    for row in rows:
        out = row.group in HELD_OUT_PROGRAMS if row.origin == "other" else zlib.crc32(row.group.encode()) % of == part
        (judge if out else train).append(row)
    return train, judge
