"""A fitted model on scikit-learn's side, and the settings that it is fitted with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..features.profiles import Profiles
from ..features.vocabulary import Vocabulary
from .confidence import Confidence


@dataclass(slots=True, frozen=True)
class Settings:
    """What nested validation over faults and releases found best, of eight candidates (November 2026)."""

    strength: float = 10.0
    """C of the logistic regression."""
    least_groups: int = 2
    """Messages that must have a term for it to count."""
    most_terms: int = 24000
    most_grams: int = 12000
    gram: float = 0.35
    """What a piece of a word counts for against a word."""


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

    def scores(self, rows: Sequence[Sequence[str]]) -> tuple[Any, Any, Any]:
        """Return of rows given as terms scikit-learn's scores, how much is known, and how like a known failure each is."""
        matrix, known = self.vocabulary.matrix(rows)
        return self.estimator.decision_function(matrix), known, self.profiles.likeness(matrix, len(self.buckets))
