"""The exported text model: its file, checked before it is read, and what it computes; no numpy, nothing unpacked early."""

# Importing pathlib would cost more than reading the model.
# ruff: noqa: PTH118, PTH123

from __future__ import annotations

import math
import os
import struct
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TypedDict

from ...corpus.store import shipped_traits
from ...corpus.types import UNNAMED
from .features import Unit

FORMAT = 2
"""Number of the file's layout; raise it with every change of it, and of the terms."""
GRAM_PREFIX = "g:"
DECAY = 0.6
"""What a later unit counts for against the one before it."""
SIGNS = ("odds", "margin", "known", "near", "rival", "agreement", "units", "vllm", "spread", "silent")
"""What the confidence of an answer is worked out from, in the order of its weights."""
SHARE = 65535
"""What a share of 1 in a profile is written as."""
Vector = list[tuple[int, float, str, int]]
"""Known terms of a unit: row, value, term, line of the log."""


class About(TypedDict):
    """What ``text.json`` says that is needed to read ``text.bin``."""

    format: int
    buckets: list[str]
    threshold: float
    temperature: float
    confidence: list[float]
    unseen: float
    unseen_gram: float
    terms: int
    entries: int
    profiles: int


class TextModel:
    """The model as it lies in its file: nothing of it is unpacked before a term asks for its row."""

    def __init__(self, data: bytes, about: About) -> None:
        self.buckets: list[str] = about["buckets"]
        self.threshold = float(about["threshold"])
        """Probability from which on the first bucket may be answered where the model alone decides."""
        self.temperature = float(about["temperature"])
        self.confidence = [float(value) for value in about["confidence"]]
        """Weights of the confidence: the bias, then one of each sign."""
        self.unseen, self.unseen_gram = float(about["unseen"]), float(about["unseen_gram"])
        """Rarity of a term that the model does not know: it makes the known ones count for less."""
        count, width = int(about["terms"]), len(self.buckets)
        self.keys, self.rarity, self._scales = array("I"), array("f"), array("f")
        at = 0
        for part in (self.keys, self.rarity, self._scales):
            part.frombytes(data[at : at + 4 * count])
            at += 4 * count
            if sys.byteorder == "big":
                part.byteswap()
        self.intercept = struct.unpack_from(f"<{width}f", data, at)
        at += 4 * width
        self._starts, self._profiles, self._shares = array("I"), array("H"), array("H")
        entries = int(about["entries"])
        for part, length in ((self._starts, count + 1), (self._profiles, entries), (self._shares, entries)):
            part.frombytes(data[at : at + part.itemsize * length])
            at += part.itemsize * length
            if sys.byteorder == "big":
                part.byteswap()
        self._kinds = data[at : at + int(about["profiles"])]
        """The bucket of each profile."""
        at += len(self._kinds)
        if len(data) != at + count * width or self.keys.itemsize != 4 or len(self.confidence) != len(SIGNS) + 1:
            raise ValueError("the file has another size than its description says")
        self._weights = memoryview(data)[at:].cast("b")
        traits = shipped_traits()
        self._yields = [traits[bucket].yields if bucket in traits else 0.0 for bucket in self.buckets]

    def vector(self, unit: Unit) -> Vector:
        """Return the known terms of a unit; the values are those of a vector of length 1."""
        return self._vector(unit)[0]

    def _vector(self, unit: Unit) -> tuple[Vector, float]:
        """Return the known terms, and which part of the whole, pieces of words aside, they are."""
        squares = told = known_part = 0.0
        known = []
        keys, rarity, count = self.keys, self.rarity, len(self.keys)
        for term, line in unit.terms.items():
            key = zlib.crc32(term.encode("utf-8", "replace"))
            row = bisect_left(keys, key)
            gram = term.startswith(GRAM_PREFIX)
            if row < count and keys[row] == key:
                value = rarity[row]
                known.append((row, value, term, line))
                if not gram:
                    known_part += value * value
            else:
                value = self.unseen_gram if gram else self.unseen
            squares += value * value
            if not gram:
                told += value * value
        norm = math.sqrt(squares) or 1.0
        return [(row, value / norm, term, line) for row, value, term, line in known], known_part / (told or 1.0)

    def row(self, index: int) -> list[float]:
        """Return the weights of a term for all buckets."""
        scale, width = self._scales[index], len(self.buckets)
        return [scale * number for number in self._weights[index * width : (index + 1) * width]]

    def logits(self, unit: Unit) -> list[float]:
        """Return the scores of one unit for all buckets."""
        return self._scores(self.vector(unit))

    def _scores(self, vector: Vector) -> list[float]:
        scores = list(self.intercept)
        width, weights, scales = len(self.buckets), self._weights, self._scales
        for index, value, _, _ in vector:
            factor, at = value * scales[index], index * width
            scores = [score + factor * number for score, number in zip(scores, weights[at : at + width], strict=True)]
        return scores

    def probabilities(self, logits: Sequence[float]) -> list[float]:
        """Return the shares of the buckets in one unit, or in units that were weighed together."""
        top = max(logits)
        powers = [math.exp((value - top) / self.temperature) for value in logits]
        total = sum(powers)
        return [value / total for value in powers]

    def likeness(self, vector: Vector) -> list[float]:
        """Return how like a unit is to the nearest known failure of each bucket: the cosines."""
        found: dict[int, float] = {}
        starts, profiles, shares = self._starts, self._profiles, self._shares
        for row, value, _, _ in vector:
            for at in range(starts[row], starts[row + 1]):
                number = profiles[at]
                found[number] = found.get(number, 0.0) + value * shares[at]
        nearest = [0.0] * len(self.buckets)
        for number, points in found.items():
            bucket = self._kinds[number]
            if points > nearest[bucket] * SHARE:
                nearest[bucket] = points / SHARE
        return nearest

    def together(self, parts: list[Unit]) -> list[tuple[str, float]]:
        """Weigh the units of a log together: the buckets with calibrated probabilities, likeliest first."""
        found = [self._vector(part) for part in parts]
        joint, signs = self.weigh(
            [self._scores(vector) for vector, _ in found],
            [known for _, known in found],
            [self.likeness(vector) for vector, _ in found],
            [of_vllm(part.terms) for part in parts],
        )
        return self.ranked(joint, signs)

    def weigh(
        self,
        scores: Sequence[Sequence[float]],
        known: Sequence[float],
        likeness: Sequence[Sequence[float]],
        ours: Sequence[bool],
    ) -> tuple[list[float], list[float]]:
        """Return the joint scores of a log's units, and the signs that tell how sure their first bucket is.

        Args:
            scores: Of each unit for all buckets; roots before what came after.
            known: Which part of each unit's terms the model knows.
            likeness: How like each unit is to known failures of each bucket.
            ours: Whether vLLM itself says each unit.
        """
        shares = [self.probabilities(score) for score in scores]
        weights = self._unit_weights(shares)
        columns = range(len(self.buckets))
        joint = [
            sum(weight * score[column] for weight, score in zip(weights, scores, strict=True)) for column in columns
        ]
        chances = self.probabilities(joint)
        first = max(columns, key=chances.__getitem__)
        root = max(range(len(scores)), key=lambda item: (weights[item] * shares[item][first], -item))
        chance = min(1 - 1e-6, max(1e-6, chances[first]))
        second = max((joint[column] for column in columns if column != first), default=joint[first] - 9)
        signs = {
            "odds": math.log(chance / (1 - chance)),
            "margin": joint[first] - second,
            "known": known[root],
            "near": likeness[root][first],
            "rival": max((value for column, value in enumerate(likeness[root]) if column != first), default=0.0),
            "agreement": sum(
                weight for weight, share in zip(weights, shares, strict=True) if max(share) == share[first]
            ),
            "units": math.log(len(scores)),
            "vllm": float(ours[root]),
            "spread": -sum(value * math.log(value) for value in chances if value > 1e-9),
            "silent": float(self.buckets[first] in UNNAMED),
        }
        return joint, [signs[name] for name in SIGNS]

    def _unit_weights(self, shares: Sequence[Sequence[float]]) -> list[float]:
        """Return what each unit counts for; the sum is 1."""
        weights = []
        for rank, chances in enumerate(shares):
            yields = sum(share * chance for share, chance in zip(self._yields, chances, strict=True))
            weights.append(DECAY**rank * (1.02 - min(1.0, yields)))
        total = sum(weights)
        return [weight / total for weight in weights]

    def sureness(self, signs: Sequence[float]) -> float:
        """Return the probability that the first bucket is right."""
        bias, *slopes = self.confidence
        points = bias + sum(slope * sign for slope, sign in zip(slopes, signs, strict=True))
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, points))))

    def ranked(self, joint: Sequence[float], signs: Sequence[float]) -> list[tuple[str, float]]:
        """Return the buckets likeliest first: the first with its confidence, what is left shared by the others."""
        chances = self.probabilities(joint)
        first = max(range(len(chances)), key=chances.__getitem__)
        sure = self.sureness(signs)
        left = (1.0 - sure) / max(1e-12, 1.0 - chances[first])
        rest = [(name, chance * left) for name, chance in zip(self.buckets, chances, strict=True)]
        best = (rest.pop(first)[0], sure)
        # None of the others may stand above the first: where little speaks for it, little speaks for anything.
        others = [(name, min(chance, sure)) for name, chance in rest]
        return [best, *sorted(others, key=lambda item: (-item[1], item[0]))]

    def reasons(self, parts: list[Unit], bucket: str) -> list[tuple[str, float, int]]:
        """Return the terms that spoke for a bucket, against the mean of all buckets, weightiest first."""
        index = self.buckets.index(bucket)
        vectors = [self.vector(part) for part in parts]
        weights = self._unit_weights([self.probabilities(self._scores(vector)) for vector in vectors])
        found: dict[tuple[str, int], float] = {}
        for weight, vector in zip(weights, vectors, strict=True):
            for row, value, term, line in vector:
                told = self.row(row)
                points = weight * value * (told[index] - sum(told) / len(told))
                if points > 0:
                    found[term, line] = found.get((term, line), 0.0) + points
        ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return [(term, round(points, 4), line) for (term, line), points in ordered]


def of_vllm(terms: Iterable[str]) -> bool:
    """Return whether vLLM's own code says a unit: a frame of vLLM's, or a line of its logger."""
    return any(term.startswith(("i:", "src:")) for term in terms)


def read_model(folder: str) -> TextModel:
    """Read the model in ``folder``.

    Raises:
        OSError: A file is missing.
        ValueError: It is damaged, or of another layout.
    """
    import hashlib
    import json

    with open(os.path.join(folder, "text.json"), encoding="utf-8") as file:
        about = json.load(file)
    if about.get("format") != FORMAT:
        raise ValueError(f"its layout is {about.get('format')}, this release reads {FORMAT}")
    with open(os.path.join(folder, "text.bin"), "rb") as binary:
        data = binary.read()
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise ValueError("its SHA-256 is not the one that was written with it")
    return TextModel(data, about)
