"""A fitted model of a user's logs on scikit-learn's side: its vocabulary, its weights, the scores that it gives.

It knows the user's buckets and "none of these". What it leaves to "none of these" is answered as if it were not there,
so it can be trained on few logs and goes on working when the shipped model changes.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...classifier.text_model.user import PIECE, PIECE_VALUE

REST = ""
"""Class that stands for "none of these": it sorts before every bucket."""
MOST_THRESHOLD = 0.95
"""The highest threshold; the one of a model that was not validated yet."""


@dataclass(slots=True)
class Vocabulary:
    """The terms of the user's logs by their CRC-32, ascending, and how rare each is in all that was read."""

    keys: list[int]
    rarity: list[float]
    unseen: float

    def matrix(self, rows: Iterable[Sequence[str]]) -> Any:
        """Return the features of rows given as terms; each has length 1, unknown terms included."""
        import numpy as np
        from scipy.sparse import csr_matrix

        index = {key: place for place, key in enumerate(self.keys)}
        starts, columns, values = [0], [], []
        for row in rows:
            found = [
                (index.get(zlib.crc32(term.encode())), PIECE_VALUE if term.startswith(PIECE) else 1.0) for term in row
            ]
            sizes = [factor * (self.unseen if place is None else self.rarity[place]) for place, factor in found]
            norm = math.sqrt(sum(size * size for size in sizes)) or 1.0
            for (place, _), size in zip(found, sizes, strict=True):
                if place is not None:
                    columns.append(place)
                    values.append(size / norm)
            starts.append(len(columns))
        shape = (len(starts) - 1, len(self.keys))
        matrix = csr_matrix((np.array(values), np.array(columns, dtype=np.int32), np.array(starts)), shape=shape)
        matrix.sum_duplicates()
        return matrix


@dataclass(slots=True)
class UserModel:
    """A fitted model on scikit-learn's side."""

    buckets: list[str]
    vocabulary: Vocabulary
    weights: Any
    """A row for "none of these", then one for each bucket."""
    intercept: Any
    temperature: float = 1.0
    threshold: float = MOST_THRESHOLD

    def logits(self, rows: Iterable[Sequence[str]]) -> Any:
        """Return the scores of rows given as terms, a column for each class."""
        return self.vocabulary.matrix(rows) @ self.weights.T + self.intercept
