"""Fits a model of a user's logs, against what stands for "none of these"."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence

from .model import REST, UserModel, Vocabulary
from .negatives import Negative
from .training_set import OwnRow

SHARE = 0.4
"""Weight of a log's second root against its first."""
STRENGTH = 30.0
"""C of the logistic regression."""
AGAINST = 4.0
"""Weight of all that stands for "none of these", against all own rows."""
MOST_TERMS = 20000
"""Terms that are kept, the commonest: the file is read at every start."""
PLACES = 4
"""Decimal places of the weights."""


def fit_user_model(rows: Sequence[OwnRow], against: Sequence[Negative]) -> UserModel:
    """Fit on own rows against what stands for "none of these"; the same rows give the same numbers."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    copies = Counter(row.group for row in rows)
    data: list[tuple[tuple[str, ...], str, float]] = []
    for row in rows:
        # A failure that was recorded a hundred times counts for more than one seen once, not for a hundred.
        weight = 1 / math.sqrt(copies[row.group])
        data += [(unit, row.bucket, weight * SHARE**place) for place, unit in enumerate(row.units)]
    own, rest = sum(item[2] for item in data), sum(item.weight for item in against)
    data += [(item.terms, REST, AGAINST * own * item.weight / rest) for item in against]
    vocabulary = _vocabulary(rows, against)
    labels = np.array([item[1] for item in data])
    shares = np.array([item[2] for item in data])
    learner = LogisticRegression(C=STRENGTH, max_iter=400, tol=1e-4)
    learner.fit(vocabulary.matrix([item[0] for item in data]), labels, sample_weight=shares)
    weights, intercept = learner.coef_, learner.intercept_
    if len(weights) == 1:
        # Of two classes scikit-learn keeps one row; the file has one for each.
        weights, intercept = np.vstack([-weights, weights]) / 2, np.concatenate([-intercept, intercept]) / 2
    buckets = [str(name) for name in learner.classes_ if name != REST]
    # Rounded here, so that this side and the file hold the same numbers.
    return UserModel(buckets, vocabulary, np.round(weights, PLACES), np.round(intercept, PLACES))


def _vocabulary(rows: Sequence[OwnRow], against: Sequence[Negative]) -> Vocabulary:
    having: dict[str, set[object]] = {term: set() for row in rows for unit in row.units for term in unit}
    for row in rows:
        for unit in row.units:
            for term in unit:
                having[term].add(row.group)
    for item in against:
        for term in item.terms:
            if term in having:
                having[term].add(item.group)
    total = len({item.group for item in against}) + len({row.group for row in rows})
    table: dict[int, int] = {}
    for term in sorted(having, key=lambda item: (-len(having[item]), item))[:MOST_TERMS]:
        table.setdefault(zlib.crc32(term.encode()), len(having[term]))
    keys = sorted(table)
    rarity = [round(math.log((1 + total) / (1 + table[key])) + 1, PLACES) for key in keys]
    return Vocabulary(keys, rarity, round(math.log((1 + total) / 2) + 1, PLACES))
