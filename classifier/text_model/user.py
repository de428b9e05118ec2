"""A model of a user's own logs, as ``vllm-triage train`` writes it: its buckets, and 'none of these'."""

# Importing pathlib would cost more than reading the model.
# ruff: noqa: PTH116, PTH118, PTH119, PTH123

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict, cast

FILE = "own.json"
SIGNS, MOST_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_"), 64
"""Of which the id of a bucket is made."""
MOST = 64 << 20
"""Bytes of a file: one of 20,000 terms and ten buckets has three million."""
FORMAT = 1
"""Number of the file's layout; raise it with every change of it, and of what terms there are."""
PIECE, PIECE_VALUE = "g:", 0.35
"""Terms that are pieces of words, and what one counts for against a word."""
ROOTS = 4
"""Exceptions or errors of a log that are looked at: the likeliest roots."""
LATER = 0.9
"""What a later one counts for against the one before it."""


class OwnAbout(TypedDict):
    """What the file says that the model is made of."""

    buckets: list[str]
    titles: dict[str, str]
    threshold: float
    temperature: float
    unseen: float
    intercept: list[float]
    terms: dict[str, list[float]]


class OwnModel:
    """The model as it lies in its file.

    Args:
        about: What the file holds. ``terms`` maps the CRC-32 of a term to how rare it is and to its weight for each class;
            the classes are 'none of these', then ``buckets``.

    Raises:
        ValueError: The numbers do not fit together.
    """

    def __init__(self, about: OwnAbout) -> None:
        self.buckets: list[str] = [str(name) for name in about["buckets"]]
        self.titles: dict[str, str] = {str(name): str(title) for name, title in about["titles"].items()}
        self.threshold = float(about["threshold"])
        self.temperature = float(about["temperature"])
        self.unseen = float(about["unseen"])
        """How rare a term is that was not in the user's logs: it makes the known ones count for less."""
        self.intercept: list[float] = [float(value) for value in about["intercept"]]
        self.terms: dict[int, tuple[float, list[float]]] = {
            int(key): (float(row[0]), [float(value) for value in row[1:]]) for key, row in about["terms"].items()
        }
        width = len(self.buckets) + 1
        if len(self.intercept) != width or any(len(row) != width for _, row in self.terms.values()):
            raise ValueError("its numbers do not fit together")
        figures = [self.threshold, self.temperature, self.unseen, *self.intercept]
        figures += [value for rarity, row in self.terms.values() for value in (rarity, *row)]
        if width == 1 or self.temperature <= 0 or not all(map(math.isfinite, figures)):
            raise ValueError("its numbers make no sense")
        if strange := [
            name for name in (*self.buckets, *self.titles) if not set(name) <= SIGNS or not 0 < len(name) <= MOST_SIGNS
        ]:
            raise ValueError(f"{strange[0][:MOST_SIGNS]!r} is not the id of a bucket")
        self.titles = {
            name: "".join(sign for sign in title if sign.isprintable()) for name, title in self.titles.items()
        }

    def ask(self, parts: Sequence[Mapping[str, int]]) -> tuple[dict[str, float], float, int]:
        """Judge a log by the root that speaks most for one of the buckets.

        Args:
            parts: For each root the terms, each with the line that it stands on; the likeliest first.

        Returns:
            The probabilities of the buckets, that of 'none of these', and which root decided.
        """
        best: tuple[float, int, list[float]] = (-1.0, 0, [1.0] + [0.0] * len(self.buckets))
        for rank, part in enumerate(parts[:ROOTS]):
            shares = self.probabilities(self.logits(part))
            shares = [1 - LATER**rank * (1 - shares[0]), *(LATER**rank * share for share in shares[1:])]
            if max(shares[1:]) > best[0]:
                best = (max(shares[1:]), rank, shares)
        _, rank, shares = best
        return dict(zip(self.buckets, shares[1:], strict=True)), shares[0], rank

    def logits(self, terms: Iterable[str]) -> list[float]:
        """Return the scores of one root: 'none of these', then the buckets."""
        scores = list(self.intercept)
        for value, weights, _ in self._vector(terms):
            scores = [score + value * weight for score, weight in zip(scores, weights, strict=True)]
        return scores

    def probabilities(self, logits: Sequence[float]) -> list[float]:
        """Return calibrated probabilities."""
        top = max(logits)
        powers = [math.exp((value - top) / self.temperature) for value in logits]
        total = sum(powers)
        return [value / total for value in powers]

    def reasons(self, part: Mapping[str, int], bucket: str) -> list[tuple[str, float, int]]:
        """Return the terms that spoke for a bucket against 'none of these': (term, weight, line), weightiest first."""
        at = self.buckets.index(bucket) + 1
        found = [
            (term, round(value * (weights[at] - weights[0]), 4), part[term])
            for value, weights, term in self._vector(part)
        ]
        return sorted((item for item in found if item[1] > 0), key=lambda item: (-item[1], item[0]))

    def _vector(self, terms: Iterable[str]) -> list[tuple[float, list[float], str]]:
        known: list[tuple[float, list[float], str]] = []
        squares = 0.0
        for term in terms:
            factor = PIECE_VALUE if term.startswith(PIECE) else 1.0
            found = self.terms.get(zlib.crc32(term.encode()))
            value = factor * (self.unseen if found is None else found[0])
            squares += value * value
            if found is not None:
                known.append((value, found[1], term))
        norm = math.sqrt(squares) or 1.0
        return [(value / norm, weights, term) for value, weights, term in known]


def read_own(folder: str) -> OwnModel:
    """Read the model in ``folder``, or the file itself.

    Raises:
        OSError: The file is missing.
        ValueError: It is damaged, or of another layout.
    """
    import json
    import stat

    path = folder if os.path.basename(folder) == FILE else os.path.join(folder, FILE)
    kept = os.stat(path)
    if not stat.S_ISREG(kept.st_mode) or kept.st_size > MOST:
        raise ValueError(f"it is no file, or larger than {MOST >> 20} MiB")
    with open(path, encoding="utf-8") as file:
        try:
            about = json.load(file)
        except RecursionError:
            raise ValueError("it is nested deeply") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError("it is of another layout than this release reads")
    if about.get("sha256") != digest(about):
        raise ValueError("its SHA-256 is not the one that was written with it")
    try:
        return OwnModel(cast("OwnAbout", about))
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"it is not whole ({error})") from None


def digest(about: Mapping[str, object]) -> str:
    """Return the SHA-256 of all that a file holds, its own digest left out."""
    import hashlib
    import json

    told = {name: value for name, value in about.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(told, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
