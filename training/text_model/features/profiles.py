"""Profiles of known failures: the words that the examples of a rule, or the recordings of a fault, share.

How like a log is to the nearest of them tells whether the model has seen such a failure: what is like none it can only
guess at, however sure its weights make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....classifier.text_model.shipped import SHARE
from ..rows.dataset import Grown

KEPT = 40
"""Terms of a profile, the weightiest."""
CHUNK = 2000
"""Rows that are compared at a time: the matrix is dense."""
ORIGINS = frozenset({"rule", "recorded"})


@dataclass(slots=True)
class Profiles:
    """Profiles as they lie in the file."""

    words: Any
    """Sparse matrix of terms by failures, each of length 1, in whole numbers of 1/``SHARE``."""
    kinds: list[int]
    """The bucket of each failure by its number; ascending."""

    def likeness(self, matrix: Any, buckets: int) -> Any:
        """Return the likeness of each row of features to the nearest known failure of each bucket."""
        import numpy as np

        nearest = np.zeros((matrix.shape[0], buckets))
        if not self.kinds:
            return nearest
        present, starts = np.unique(np.array(self.kinds), return_index=True)
        for start in range(0, matrix.shape[0], CHUNK):
            part = np.asarray((matrix[start : start + CHUNK] @ self.words).todense())
            nearest[start : start + CHUNK, present] = np.maximum.reduceat(part, starts, axis=1) / SHARE
        return nearest


def profiles_of(grown: Grown, matrix: Any, buckets: Sequence[str]) -> Profiles:
    """Return the profiles of rules and recorded faults.

    Args:
        grown: Rows with their terms.
        matrix: Their features, a row each.
        buckets: All buckets, in the order of the model.
    """
    import numpy as np
    from scipy.sparse import csr_matrix

    number_of = {bucket: number for number, bucket in enumerate(buckets)}
    places = [
        place
        for place, (row, _) in enumerate(grown)
        if row.origin in ORIGINS and row.bucket not in ("no_failure", "unknown")
    ]
    names = sorted({(number_of[grown[place][0].bucket], grown[place][0].group) for place in places})
    order = {name: number for number, name in enumerate(names)}
    members = [order[number_of[grown[place][0].bucket], grown[place][0].group] for place in places]
    weights = [grown[place][0].weight for place in places]
    together = csr_matrix((weights, (members, range(len(places)))), shape=(len(names), len(places)))
    sums = (together @ matrix[places]).tocsr()
    sums.sort_indices()
    rows, columns, values = [], [], []
    for number in range(len(names)):
        part = slice(sums.indptr[number], sums.indptr[number + 1])
        found, terms = sums.data[part], sums.indices[part]
        top = np.argsort(-found, kind="stable")[:KEPT]
        length = float(np.sqrt((found[top] ** 2).sum())) or 1.0
        rows += terms[top].tolist()
        columns += [number] * len(top)
        values += np.rint(found[top] / length * SHARE).tolist()
    made = csr_matrix((values, (rows, columns)), shape=(matrix.shape[1], max(1, len(names))), dtype=np.float64)
    made.sort_indices()
    return Profiles(made, [bucket for bucket, _ in names])
