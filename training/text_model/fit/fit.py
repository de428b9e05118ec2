"""Fits the linear model with scikit-learn, its weights rounded so that the exported file holds the same numbers."""

from __future__ import annotations

import math
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..features.profiles import Profiles, profiles_of
from ..features.vocabulary import Vocabulary
from ..features.vocabulary import learn as learn_vocabulary
from ..rows.dataset import SEED, Grown, with_terms
from ..rows.row import Row
from . import confidence
from .cases import compose, verdicts
from .confidence import ABSTAINS, Confidence, Verdict

if TYPE_CHECKING:
    from ....classifier.text_model.shipped import TextModel

__all__ = ("ABSTAINS", "Fitted", "Settings", "calibrate", "fit", "fit_grown", "fold_of", "judge", "split")

WRAPPERS = 400
"""Of each kind, the most that is put around a failure when a log is composed."""


@dataclass(slots=True, frozen=True)
class Settings:
    """What validation chooses (``choose.py``)."""

    strength: float = 10.0
    """C of the logistic regression."""
    least_groups: int = 2
    """Messages that must have a term for it to count."""
    most_terms: int = 24000
    most_grams: int = 12000
    gram: float = 0.35
    """What a piece of a word counts for against a word."""
    kind: str = "logistic"
    """Learner: ``logistic`` (multinomial), ``svm`` (linear, one against the rest) or ``sgd``."""


@dataclass(slots=True)
class Fitted:
    """A fitted model on scikit-learn's side."""

    estimator: Any
    buckets: list[str]
    vocabulary: Vocabulary
    quantised: Any
    """Weights as int8, a row a term."""
    scales: Any
    """What each row's whole numbers are multiplied with."""
    profiles: Profiles
    """Words of known failures."""
    confidence: Confidence
    temperature: float = 1.0

    @property
    def keys(self) -> list[int]:
        """CRC-32 of every term, ascending; row ``i`` of the weights belongs to ``keys[i]``."""
        return self.vocabulary.keys

    @property
    def threshold(self) -> float:
        """Probability from which on the model answers."""
        return self.confidence.threshold

    @threshold.setter
    def threshold(self, value: float) -> None:
        self.confidence.threshold = value

    @property
    def after_rules(self) -> float:
        """The same where rules went first."""
        found = self.confidence.after_rules
        return self.threshold if found is None else found

    def scores(self, rows: Sequence[Sequence[str]]) -> tuple[Any, Any, Any]:
        """Return of rows given as terms scikit-learn's scores, how much is known, and how like a known failure each is."""
        matrix, known = self.vocabulary.matrix(rows)
        return self.estimator.decision_function(matrix), known, self.profiles.likeness(matrix, len(self.buckets))

    def probabilities(self, rows: Sequence[Sequence[str]]) -> Any:
        """Return the shares of the buckets in single units."""
        from scipy.special import softmax

        return softmax(self.scores(rows)[0] / self.temperature, axis=1)

    def exported(self) -> TextModel:
        """Return the model as the classifier reads it."""
        from ....classifier.text_model.shipped import TextModel
        from .export import described, packed

        return TextModel(packed(self), described(self))


def fit(rows: Iterable[Row], settings: Settings) -> Fitted:
    """Fit on rows (they are augmented here)."""
    return fit_grown(with_terms(rows), settings)


def fit_grown(grown: Grown, settings: Settings) -> Fitted:
    """Fit on rows that were augmented, with their terms.

    Raises:
        ValueError: They are all of one bucket.
    """
    import numpy as np

    vocabulary = learn_vocabulary(grown, settings.least_groups, settings.most_terms, settings.most_grams, settings.gram)
    labels = np.array([row.bucket for row, _ in grown])
    many = Counter(labels.tolist())
    # A rare bucket counts for more, a frequent one for less, by the root of its frequency.
    weights = np.array([row.weight / math.sqrt(many[row.bucket]) for row, _ in grown])
    weights *= len(weights) / weights.sum()
    estimator = _learner(settings)
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


def _learner(settings: Settings) -> Any:
    """Return an estimator of scikit-learn's that is linear."""
    if settings.kind == "svm":
        from sklearn.svm import LinearSVC

        return LinearSVC(C=settings.strength, max_iter=300, random_state=SEED)
    if settings.kind == "sgd":
        from sklearn.linear_model import SGDClassifier

        return SGDClassifier("log_loss", alpha=1e-5 / settings.strength, average=True, max_iter=20, random_state=SEED)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=settings.strength, max_iter=120, tol=2e-3)


def _rounded(weights: Any) -> tuple[Any, Any]:
    """Return weights as whole numbers from -127 to 127 and the scale of each row."""
    import numpy as np

    scales = (np.abs(weights).max(axis=1) / 127).astype(np.float32)
    scales[scales == 0] = 1.0
    return np.rint(weights / scales[:, None]).clip(-127, 127).astype(np.int8), scales


def calibrate(model: Fitted, rows: Sequence[Row], more: Sequence[Verdict] = ()) -> dict[str, float]:
    """Set confidence and threshold by logs composed of rows that were not trained on, and by ``more`` verdicts.

    Returns:
        How the model does on what calibrated it.
    """
    found = [*_composed(model, rows), *more]
    model.confidence = confidence.learn(found)
    return confidence.figures(model.confidence, found)


def judge(model: Fitted, rows: Sequence[Row]) -> dict[str, float]:
    """Return how a calibrated model does on logs composed of rows."""
    return confidence.figures(model.confidence, _composed(model, rows))


def _composed(model: Fitted, rows: Sequence[Row]) -> list[Verdict]:
    grown = with_terms(rows)
    seed = random.Random(SEED)  # noqa: S311 (nothing is secret here)
    wrappers, calm = around(grown)
    return verdicts(model, compose(grown, wrappers, calm, seed))


def around(grown: Grown) -> tuple[list[list[str]], list[list[str]]]:
    """Return what stands around failures: what is said after one, and errors of healthy logs."""
    wrappers = [found for row, found in grown if row.bucket == "engine_dead"]
    calm = [found for row, found in grown if row.bucket == "no_failure"]
    return wrappers[:WRAPPERS], calm[:WRAPPERS]


def fold_of(name: str, folds: int) -> int:
    """Return the fold of a group or a fault."""
    return zlib.crc32(name.encode()) % folds


def split(
    rows: Iterable[Row], part: int = 0, of: int = 5, by: Callable[[Row], str] = lambda row: row.group
) -> tuple[list[Row], list[Row]]:
    """Part rows into those to train on and those to judge by: whole messages, whole rules, whole programs."""
    train: list[Row] = []
    held: list[Row] = []
    for row in rows:
        (held if fold_of(by(row), of) == part else train).append(row)
    return train, held
