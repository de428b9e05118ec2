"""Which terms the model knows and what each is worth: the step from lists of terms to a sparse matrix."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...examples.row import Row

GRAM_PREFIX = "g:"
COMMON = 10
"""A piece of a word that one message in so many has is an ending, not a meaning."""


@dataclass(slots=True)
class Vocabulary:
    """The known terms by their CRC-32, ascending; row ``i`` of the weights belongs to ``keys[i]``."""

    keys: list[int]
    rarity: list[float]
    unseen: float
    """Value of a term that is not known: it makes the known ones count for less."""
    unseen_gram: float
    """The same for a piece of a word."""

    def matrix(self, rows: Sequence[Sequence[str]]) -> tuple[Any, Any]:
        """Return the feature matrix of rows given as terms, and how much of each row is known.

        Each row of the matrix has length 1, unknown terms included; the share that is known leaves pieces of words out.
        """
        import numpy as np
        from scipy.sparse import csr_matrix

        index = {key: column for column, key in enumerate(self.keys)}
        starts, columns, values, shares = [0], [], [], []
        numbers: dict[str, int | None] = {}
        for row in rows:
            squares = told = known_part = 0.0
            known: list[tuple[int, float]] = []
            for term in row:
                if term in numbers:
                    column = numbers[term]
                else:
                    column = numbers[term] = index.get(zlib.crc32(term.encode("utf-8", "replace")))
                gram = term.startswith(GRAM_PREFIX)
                if column is None:
                    value = self.unseen_gram if gram else self.unseen
                else:
                    value = self.rarity[column]
                    known.append((column, value))
                squares += value * value
                if not gram:
                    told += value * value
                    known_part += value * value if column is not None else 0.0
            norm = math.sqrt(squares) or 1.0
            columns += [column for column, _ in known]
            values += [value / norm for _, value in known]
            starts.append(len(columns))
            shares.append(known_part / (told or 1.0))
        matrix = csr_matrix(
            (np.array(values), np.array(columns, dtype=np.int32), np.array(starts)), shape=(len(rows), len(self.rarity))
        )
        matrix.sum_duplicates()
        return matrix, np.array(shares)


def learn(
    grown: Iterable[tuple[Row, Sequence[str]]], least_groups: int, most_terms: int, most_grams: int, gram: float
) -> Vocabulary:
    """Choose the terms by the number of messages that have them, and rate them by how few these are.

    Args:
        grown: Rows with their terms.
        least_groups: Messages that must have a term.
        most_terms: Words, frames and the like that are kept.
        most_grams: Pieces of words that are kept.
        gram: What a piece of a word counts for against a word.
    """
    import numpy as np

    groups: dict[str, set[int]] = {}
    everything: dict[str, int] = {}
    for row, found in grown:
        number = everything.setdefault(row.group, len(everything))
        for term in found:
            groups.setdefault(term, set()).add(number)
    total = len(everything)
    counted = sorted(((len(having), term) for term, having in groups.items()), key=lambda item: (-item[0], item[1]))
    kept = [(count, term) for count, term in counted if count >= least_groups]
    chosen = [item for item in kept if not item[1].startswith(GRAM_PREFIX)][:most_terms]
    chosen += [item for item in kept if item[1].startswith(GRAM_PREFIX) and item[0] < total / COMMON][:most_grams]
    table: dict[int, float] = {}
    for count, term in chosen:
        share = gram if term.startswith(GRAM_PREFIX) else 1.0
        rarity = share * (math.log((1 + total) / (1 + count)) + 1)
        table.setdefault(zlib.crc32(term.encode("utf-8", "replace")), float(np.float32(rarity)))
    keys = sorted(table)
    unseen = math.log((1 + total) / 2) + 1
    return Vocabulary(keys, [table[key] for key in keys], float(np.float32(unseen)), float(np.float32(unseen * gram)))
