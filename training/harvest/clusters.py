"""Puts starts together that failed alike: lines of one shape, and shapes whose words are close."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...classifier.errors import InputError
from ...classifier.lines.types import Line
from ...classifier.text_model.features import units
from .shapes import Shape, logs_of, shapes, without_values
from .unnamed import Unnamed

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

LEAST = 3
"""Logs below which a group is no cluster."""
MOST = 2000
"""Shapes that are compared with each other, the most frequent ones; others stay alone."""
APART = 0.25
"""Distance (1 - cosine of the text model's terms) within which groups are joined whatever their density."""
FAR = 0.45
"""Distance beyond which shapes are never put together."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Starts that failed alike."""

    id: str
    """8 hex digits, the same as long as its most frequent shape is."""
    shapes: tuple[Shape, ...]
    """The most frequent first."""

    @property
    def members(self) -> tuple[Unnamed, ...]:
        """All its starts."""
        return tuple(member for shape in self.shapes for member in shape.members)

    @property
    def logs(self) -> int:
        """How many logs they stand in."""
        return logs_of(self.members)

    @property
    def starts(self) -> int:
        """How many starts they are."""
        return sum(member.starts for member in self.members)

    @property
    def first(self) -> str:
        """The first day; "" where nobody knows."""
        return min((member.day for member in self.members if member.day), default="")

    @property
    def last(self) -> str:
        """The last day."""
        return max((member.until or member.day for member in self.members), default="")

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that print it, as far as they are told."""
        return tuple(sorted({member.release for member in self.members if member.release}))

    @property
    def nearest(self) -> str:
        """The bucket that most of them are most like; "" where nobody knows."""
        votes: Counter[str] = _votes(self.members)
        return votes.most_common(1)[0][0] if votes else ""

    @property
    def answered(self) -> tuple[str, int]:
        """The cause that rules answer most of its starts with, and how many; "" where they answer none."""
        counts = Counter[str]()
        for member in self.members:
            if member.rule:
                counts[member.rule] += member.starts
        return counts.most_common(1)[0] if counts else ("", 0)

    def examples(self, most: int = 3) -> tuple[Unnamed, ...]:
        """Return starts whose lines differ, of the most frequent shapes."""
        found: dict[str, Unnamed] = {}
        for depth in range(most):
            for shape in self.shapes:
                if depth < len(shape.members):
                    found.setdefault(shape.members[depth].line, shape.members[depth])
        return tuple(found.values())[:most]


def clusters(found: Iterable[Unnamed], least: int = LEAST, most: int = MOST) -> list[Cluster]:
    """Return the clusters of some starts, the largest first.

    Args:
        found: The starts that no rule names.
        least: Logs that a cluster must stand in.
        most: Shapes that are compared with each other (memory: 40 bytes for each pair); 0 for none: each is a group.

    Raises:
        InputError: scikit-learn is not installed.
    """
    alone = shapes(found)
    compared, rest = alone[:most], alone[most:]
    groups = _together(compared) if len(compared) > 1 else [[shape] for shape in compared]
    groups += [[shape] for shape in rest]
    made = [_cluster(group) for group in groups]
    return sorted((item for item in made if item.logs >= least), key=lambda item: (-item.logs, item.id))


def _together(alone: Sequence[Shape]) -> list[list[Shape]]:
    """Return the shapes in groups: HDBSCAN over the terms that the text model would read in their lines."""
    try:
        from sklearn.cluster import HDBSCAN
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.metrics.pairwise import cosine_distances
    except ImportError:
        from ...classifier.extras import install

        raise InputError(f"this needs scikit-learn: {install('model')}") from None
    counts = DictVectorizer().fit_transform([terms_of(shape) for shape in alone])
    distances = cosine_distances(TfidfTransformer(use_idf=False).fit_transform(counts)).astype("float64")
    # What shares next to nothing is no neighbour, however empty the space around it is.
    distances[distances > FAR] = 1.0
    # (Its cluster_selection_epsilon fails in scikit-learn 1.9 where it comes to the root: near groups are joined below.)
    labels = HDBSCAN(
        min_cluster_size=2, min_samples=1, metric="precomputed", cluster_selection_method="leaf", copy=True
    ).fit_predict(distances)  # fmt: skip
    dense: dict[int, list[int]] = {}
    for index, label in enumerate(labels.tolist()):
        # Noise has the label -1: each such shape is a group of its own.
        dense.setdefault(label if label >= 0 else -1 - index - 1, []).append(index)
    groups = _joined(_cut(dense.values(), distances), distances, [shape.logs for shape in alone])
    return [[alone[index] for index in group] for group in groups]


def _cut(groups: Iterable[list[int]], distances: NDArray[float64]) -> list[list[int]]:
    """Return the groups in parts of which each shape is near the part's first one: chains are cut."""
    parts: list[list[int]] = []
    for group in groups:
        own: list[list[int]] = []
        for index in group:
            near = next((part for part in own if distances[index, part[0]] <= FAR), None)
            if near is None:
                own.append([index])
            else:
                near.append(index)
        parts += own
    return parts


def _joined(groups: list[list[int]], distances: NDArray[float64], logs: Sequence[int]) -> list[list[int]]:
    """Return the groups, those joined whose first shapes are close, the groups with most logs first."""
    heads: list[list[int]] = []
    for group in sorted(groups, key=lambda own: (-sum(logs[index] for index in own), own)):
        near = next((head for head in heads if distances[group[0], head[0]] <= APART), None)
        if near is None:
            heads.append(list(group))
        else:
            near += group
    return heads


def terms_of(shape: Shape) -> dict[str, int]:
    """Return what the text model reads in a shape's line, values left out: words, pairs of words, pieces of words."""
    line = shape.members[0].line
    # Lists of whatever a release supports would outweigh the words around them.
    found = units([], [Line(1, without_values(line), level="ERROR")]) or units([], [Line(1, line, level="ERROR")])
    return dict.fromkeys(found[0].terms, 1) if found else {line[:40]: 1}


def _cluster(group: Sequence[Shape]) -> Cluster:
    ordered = sorted(group, key=lambda shape: (-shape.logs, shape.key))
    digest = hashlib.blake2b(ordered[0].key.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return Cluster(digest, tuple(ordered))


def _votes(members: Iterable[Unnamed]) -> Counter[str]:
    return Counter(member.nearest for member in members if member.nearest)
