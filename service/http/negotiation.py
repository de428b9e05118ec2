"""Which format an answer has: the best one that the Accept header allows."""

from __future__ import annotations

from collections.abc import Sequence

from .problems import Problem

MARKS = 50
"""Media ranges of a header that are looked at."""


def choose(header: str | None, offered: Sequence[str]) -> str:
    """Return the media type to answer with; the first offered where the header does not care.

    Raises:
        Problem: None of them is wanted.
    """
    if not header or not header.strip():
        return offered[0]
    ranges = [_range(part) for part in header.lower().split(",")[:MARKS] if part.strip()]
    best = max(offered, key=lambda media: (_quality(media, ranges), -offered.index(media)))
    if _quality(best, ranges) <= 0:
        raise Problem("not-acceptable", f"The answer can be had as {', '.join(offered)}.")
    return best


def _range(part: str) -> tuple[str, float]:
    media, *parameters = (piece.strip() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = float(value)
            except ValueError:
                quality = 0.0
    return media, quality if 0 <= quality <= 1 else 0.0


def _quality(media: str, ranges: list[tuple[str, float]]) -> float:
    """Return how much a type is wanted: the most exact range that names it counts."""
    family = media.partition("/")[0] + "/*"
    for name in (media, family, "*/*"):
        if found := [quality for given, quality in ranges if given == name]:
            return max(found)
    return 0.0
