"""Fits the linear model with scikit-learn, its weights rounded so that the exported file holds the same numbers."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from ..features.profiles import profiles_of
from ..features.vocabulary import learn
from ..rows.dataset import Grown
from .confidence import Confidence
from .fitted import Fitted, Settings


def fit_grown(grown: Grown, settings: Settings) -> Fitted:
    """Fit on rows that were augmented, with their terms.

    Raises:
        ValueError: They are all of one bucket.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    vocabulary = learn(grown, settings.least_groups, settings.most_terms, settings.most_grams, settings.gram)
    labels = np.array([row.bucket for row, _ in grown])
    many = Counter(labels.tolist())
    # A rare bucket counts for more, a frequent one for less, by the root of its frequency.
    weights = np.array([row.weight / math.sqrt(many[row.bucket]) for row, _ in grown])
    weights *= len(weights) / weights.sum()
    estimator = LogisticRegression(C=settings.strength, max_iter=120, tol=2e-3)
    matrix, _ = vocabulary.matrix([found for _, found in grown])
    estimator.fit(matrix.astype(np.float32), labels, sample_weight=weights.astype(np.float32))
    if len(estimator.classes_) == 2:
        # scikit-learn keeps one row of weights for two buckets; two rows of half of it say the same.
        estimator.coef_ = np.vstack([-estimator.coef_, estimator.coef_]) / 2
        estimator.intercept_ = np.concatenate([-estimator.intercept_, estimator.intercept_]) / 2
    quantised, scales = _rounded(estimator.coef_.astype(np.float64).T)
    estimator.coef_ = np.ascontiguousarray((quantised * scales.astype(np.float64)[:, None]).T)
    estimator.intercept_ = estimator.intercept_.astype(np.float32).astype(np.float64)
    buckets = [str(name) for name in estimator.classes_]
    return Fitted(estimator, buckets, vocabulary, quantised, scales, profiles_of(grown, matrix, buckets), Confidence())


def _rounded(weights: Any) -> tuple[Any, Any]:
    """Return weights as whole numbers from -127 to 127 and the scale of each row."""
    import numpy as np

    scales = (np.abs(weights).max(axis=1) / 127).astype(np.float32)
    scales[scales == 0] = 1.0
    return np.rint(weights / scales[:, None]).clip(-127, 127).astype(np.int8), scales
