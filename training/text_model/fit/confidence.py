"""How sure an answer is: a regression on signs of whole logs that the model was not trained on, and from where on it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ....classifier.text_model.shipped import SIGNS

ABSTAINS = ("unknown", "no_failure")
"""Buckets that are no answer: the model says with them that there is nothing to name."""
PRECISION = 0.85
"""What answers at the threshold must reach on logs of messages that the model was not trained on."""
LEAST_THRESHOLD = 0.4
"""Below this nothing is answered, however few logs there were to learn from."""
BINS = 10


@dataclass(slots=True)
class Confidence:
    """What makes a probability of the signs, and an answer of a probability."""

    threshold: float = 0.0
    weights: list[float] = field(default_factory=lambda: [0.0, 1.0, *(0.0 for _ in SIGNS[1:])])
    """The bias, then one of each sign; before anything is learnt the odds stand as they come."""


@dataclass(slots=True, frozen=True)
class Verdict:
    """What a model made of one log, against its label."""

    bucket: str
    signs: tuple[float, ...]
    fair: tuple[str, ...]
    """What may be answered, the label first."""
    weight: float = 1.0
    seen: bool = False
    """Whether the model was trained on the same message in other words: it then teaches probabilities alone."""

    @property
    def right(self) -> bool:
        """Whether the first bucket is fair."""
        return self.bucket in self.fair

    @property
    def failure(self) -> bool:
        """Whether the log shows a failure that can be named."""
        return self.fair[0] not in ABSTAINS


def learn(verdicts: Sequence[Verdict], precision: float = PRECISION) -> Confidence:
    """Return what the verdicts teach."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    right = np.array([item.right for item in verdicts])
    if not len(right) or right.all() or not right.any():
        # Too few logs to learn from: the odds stand as they come.
        return Confidence(LEAST_THRESHOLD if len(right) and right.all() else 0.99)
    signs = np.array([item.signs for item in verdicts])
    weight = np.array([item.weight for item in verdicts])
    middle, spread = signs.mean(axis=0), signs.std(axis=0)
    spread[spread < 1e-9] = 1.0
    learner = LogisticRegression(C=1.0, max_iter=1000)
    learner.fit((signs - middle) / spread, right, sample_weight=weight)
    slopes = learner.coef_[0] / spread
    bias = float(learner.intercept_[0] - (slopes * middle).sum())
    found = Confidence(0.0, [round(float(value), 6) for value in (bias, *slopes)])
    sure = sureness(found, verdicts)
    named = np.array([item.bucket not in ABSTAINS and not item.seen for item in verdicts])
    found.threshold = _threshold(sure[named], right[named], weight[named], precision)
    return found


def sureness(confidence: Confidence, verdicts: Sequence[Verdict]) -> Any:
    """Return the probability of each verdict to be right."""
    import numpy as np

    signs = np.array([item.signs for item in verdicts])
    points = confidence.weights[0] + signs @ np.array(confidence.weights[1:])
    return 1 / (1 + np.exp(-points.clip(-30, 30)))


def figures(confidence: Confidence, verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Return how good verdicts and their probabilities are.

    ``accuracy``, ``coverage`` and ``silent`` are of the failures, ``precision`` and ``ece_named`` of what is answered at
    the threshold, ``alarms`` of what shows no failure that could be named, ``ece`` of everything.
    """
    import numpy as np

    if not verdicts:
        return {"rows": 0}
    sure = sureness(confidence, verdicts)
    right = np.array([item.right for item in verdicts])
    weight = np.array([item.weight for item in verdicts])
    failures = np.array([item.failure for item in verdicts])
    taken = np.array([item.bucket not in ABSTAINS for item in verdicts]) & (sure >= confidence.threshold)

    def share(part: Any, whole: Any) -> float:
        total = float(weight[whole].sum())
        return round(float(weight[part & whole].sum()) / total, 4) if total else 0.0

    return {
        "rows": len(verdicts),
        "accuracy": share(right, failures if failures.any() else ~failures),
        "coverage": share(taken, failures),
        "precision": share(right, taken),
        "silent": share(~taken, np.ones(len(verdicts), dtype=bool)),
        "alarms": share(taken, ~failures),
        "ece": calibration_error(sure, right, weight),
        "ece_named": calibration_error(sure[taken], right[taken], weight[taken]),
    }


def calibration_error(sure: Any, right: Any, weight: Any) -> float:
    """Return the expected calibration error over ten bins of equal width."""
    import numpy as np

    if not len(sure):
        return 0.0
    bins = np.minimum(BINS - 1, (sure * BINS).astype(int))
    gaps = [abs(float((weight * (sure - right))[bins == number].sum())) for number in range(BINS)]
    return round(sum(gaps) / float(weight.sum()), 4)


def _threshold(sure: Any, right: Any, weight: Any, precision: float) -> float:
    """Return the least confidence from which on answers are right often enough."""
    import numpy as np

    order = np.argsort(-sure, kind="stable")
    share = np.cumsum((right * weight)[order]) / np.cumsum(weight[order])
    enough = np.nonzero(share >= precision)[0]
    return round(max(LEAST_THRESHOLD, float(sure[order][enough[-1]])), 3) if len(enough) else 0.99
