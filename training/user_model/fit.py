"""A model of a user's own logs, to be asked on top of the shipped one: how it is fitted, how it does, how it is written.

It knows the user's buckets and «none of these», for which rules' examples and other software stand. What it leaves to
«none of these» is answered as if it were not there, so it can be trained on few logs and goes on working when the
shipped model changes. Of the logs it keeps checksums of words and places (see ``docs/model.md``), never a text.
"""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...classifier.text_model.user import FILE, FORMAT, PIECE, PIECE_VALUE, digest
from ..progress import track
from ..text_model.rows.dataset import terms
from ..text_model.rows.row import Row
from .rows import OwnRow, OwnSet

REST = ""
"""Class that stands for «none of these»: it sorts before every bucket."""
SHARE = 0.4
"""Weight of a log's second root against its first."""
FOLDS = 5
STRENGTH = 30.0
"""C of the logistic regression."""
AGAINST = 4.0
"""Weight of all that stands for «none of these», against all own rows."""
PRECISION, LEAST, MOST = 0.9, 0.5, 0.95
"""What answers above the threshold must reach in validation; the least and the highest threshold."""
WORN = 30
"""Percent of a failure's terms that are taken to be others when it comes again."""
MOST_TERMS = 20000
"""Terms that are kept, the commonest: the file is read at every start."""
PLACES = 4
"""Decimal places of the weights."""


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
class Layer:
    """A fitted model on scikit-learn's side."""

    buckets: list[str]
    vocabulary: Vocabulary
    weights: Any
    """A row for «none of these», then one for each bucket."""
    intercept: Any
    temperature: float = 1.0
    threshold: float = MOST

    def logits(self, rows: Iterable[Sequence[str]]) -> Any:
        """Return the scores of rows given as terms, a column for each class."""
        return self.vocabulary.matrix(rows) @ self.weights.T + self.intercept

    def write(self, folder: Path, made: OwnSet, checked: Validation) -> Path:
        """Write the model into ``folder``; nothing of the logs but checksums of terms, buckets and counts."""
        columns = self.weights.T.tolist()
        rows = zip(self.vocabulary.keys, self.vocabulary.rarity, columns, strict=True)
        about: dict[str, Any] = {
            "format": FORMAT,
            "buckets": self.buckets,
            "titles": made.titles,
            "threshold": self.threshold,
            "temperature": self.temperature,
            "unseen": self.vocabulary.unseen,
            "intercept": self.intercept.tolist(),
            "terms": {str(key): [rarity, *column] for key, rarity, column in rows},
            "training": {"logs": len(made.rows), "sha256": made.sha256(),
                         "failures": {bucket: made.groups(bucket) for bucket in made.buckets}},
            "validation": checked.as_data(),
        }  # fmt: skip
        about["sha256"] = digest(about)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE
        path.write_text(json.dumps(about, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        return path


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
class Beside:
    """A row that stands for «none of these»."""

    terms: tuple[str, ...]
    group: str
    weight: float


def beside_rows(rows: Iterable[Row], own: Iterable[str]) -> list[Beside]:
    """Return what stands for «none of these»: rows of all buckets but the user's own, and of no failure at all."""
    taken = set(own)
    chosen = [row for row in rows if row.bucket not in taken]
    found = [(row, tuple(terms(row))) for row in track(chosen, "reading what it is held against")]
    return [Beside(words, row.group, row.weight) for row, words in found if words]


def fit_layer(rows: Sequence[OwnRow], beside: Sequence[Beside], strength: float | None = None) -> Layer:
    """Fit on own rows against what stands for «none of these»; the same rows give the same numbers."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    copies = Counter(row.group for row in rows)
    data: list[tuple[tuple[str, ...], str, float]] = []
    for row in rows:
        # A failure that was recorded a hundred times counts for more than one seen once, not for a hundred.
        weight = 1 / math.sqrt(copies[row.group])
        data += [(unit, row.bucket, weight * SHARE**place) for place, unit in enumerate(row.units)]
    total, against = sum(item[2] for item in data), sum(item.weight for item in beside)
    data += [(item.terms, REST, AGAINST * total * item.weight / against) for item in beside]
    vocabulary = _vocabulary(rows, beside)
    labels = np.array([item[1] for item in data])
    shares = np.array([item[2] for item in data])
    learner = LogisticRegression(C=STRENGTH if strength is None else strength, max_iter=400, tol=1e-4)
    learner.fit(vocabulary.matrix([item[0] for item in data]), labels, sample_weight=shares)
    weights, intercept = learner.coef_, learner.intercept_
    if len(weights) == 1:
        # Of two classes scikit-learn keeps one row; the file has one for each.
        weights, intercept = np.vstack([-weights, weights]) / 2, np.concatenate([-intercept, intercept]) / 2
    buckets = [str(name) for name in learner.classes_ if name != REST]
    # Rounded here, so that this side and the file hold the same numbers.
    return Layer(buckets, vocabulary, np.round(weights, PLACES), np.round(intercept, PLACES))


def _vocabulary(rows: Sequence[OwnRow], beside: Sequence[Beside]) -> Vocabulary:
    having: dict[str, set[object]] = {term: set() for row in rows for unit in row.units for term in unit}
    for row in rows:
        for unit in row.units:
            for term in unit:
                having[term].add(row.group)
    for item in beside:
        for term in item.terms:
            if term in having:
                having[term].add(item.group)
    total = len({item.group for item in beside}) + len({row.group for row in rows})
    table: dict[int, int] = {}
    for term in sorted(having, key=lambda item: (-len(having[item]), item))[:MOST_TERMS]:
        table.setdefault(zlib.crc32(term.encode()), len(having[term]))
    keys = sorted(table)
    rarity = [round(math.log((1 + total) / (1 + table[key])) + 1, PLACES) for key in keys]
    return Vocabulary(keys, rarity, round(math.log((1 + total) / 2) + 1, PLACES))


def validate(rows: Sequence[OwnRow], beside: Sequence[Beside], folds: int = FOLDS) -> tuple[Validation, float, float]:
    """Return how models trained on the other folds do, and the temperature and threshold that follow from it.

    These are learnt from failures not trained on, from what is none of the buckets, and from failures that come again in
    somewhat other words; the figures leave the last out.
    """
    import numpy as np
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax, softmax

    classes = [REST, *sorted({row.bucket for row in rows})]
    scores: list[Any] = []
    wanted: list[int] = []
    weights: list[float] = []
    new: list[bool] = []
    folds = max(2, min(folds, len({row.group for row in rows})))
    place = _folds(rows, folds)
    for fold in track(list(range(folds)), "validating"):
        out = [row for row in rows if place[row.group] == fold]
        held = [item for item in beside if _fold(item.group, folds) == fold]
        train = [row for row in rows if place[row.group] != fold]
        if not train:
            continue
        layer = fit_layer(train, [item for item in beside if _fold(item.group, folds) != fold])
        again = [_worn(row.units[0], fold) for row in train]
        told = layer.logits([*(row.units[0] for row in out), *(item.terms for item in held), *again])
        spread = np.full((len(told), len(classes)), -30.0)
        spread[:, [0, *(classes.index(name) for name in layer.buckets)]] = told
        scores.append(spread)
        wanted += [
            *(classes.index(row.bucket) for row in out),
            *(0 for _ in held),
            *(classes.index(row.bucket) for row in train),
        ]
        share = len(out) / max(1e-9, sum(item.weight for item in held))
        weights += [
            *(1.0 for _ in out),
            *(share * item.weight for item in held),
            *(len(out) / len(train) for _ in train),
        ]
        new += [True] * (len(out) + len(held)) + [False] * len(train)
    logits, truth, weight = np.vstack(scores), np.array(wanted), np.array(weights)
    fresh = np.array(new)

    def loss(temperature: float) -> float:
        return float(-(weight * log_softmax(logits / temperature, axis=1)[np.arange(len(truth)), truth]).sum())

    temperature = round(float(minimize_scalar(loss, bounds=(0.2, 5.0), method="bounded").x), PLACES)
    chances = softmax(logits / temperature, axis=1)
    best, top = chances.argmax(axis=1), chances.max(axis=1)
    threshold = _threshold(top[best > 0], (best == truth)[best > 0], weight[best > 0])
    return _judged(classes, truth[fresh], best[fresh], top[fresh] >= threshold), temperature, threshold


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
    share = np.cumsum((told * weight)[order]) / np.cumsum(weight[order])
    enough = np.nonzero(share >= PRECISION)[0]
    return round(min(MOST, max(LEAST, float(top[order][enough[-1]]))), 3) if len(enough) else MOST


def _judged(classes: Sequence[str], truth: Any, best: Any, sure: Any) -> Validation:
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
