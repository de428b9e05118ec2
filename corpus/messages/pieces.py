"""Where the literal pieces of a template stand in a text, one behind the other: in time that grows with the text, whatever it is.

An expression with a lazy gap for each slot does the same for texts that mean no harm. On one that repeats the pieces it tries
all ways to put the gaps: seconds for a line of two thousand characters, and anybody may write a log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from .row import SLOT

GAP = 400
"""Characters that one slot may stand for."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

Places: TypeAlias = "list[tuple[int, int]]"
"""Where each literal piece begins and ends."""


def places_of(template: str, text: str) -> Places | None:
    """Return where the pieces of a template stand, the first as early as possible, then each as near as possible; None where not.

    Args:
        template: With ``{}`` where values are put in; pieces are parted by at most ``GAP`` characters.
        text: With the template's kind of white space.
    """
    pieces = [piece for piece in template.split(SLOT) if piece]
    fitting: list[list[int]] = []
    behind: list[int] = []
    for piece in reversed(pieces):
        starts = _starts(piece, text)
        if fitting:
            # Only places count from which the rest can follow.
            starts = [start for start in starts if _next(behind, start + len(piece)) is not None]
        if not starts:
            return None
        fitting.append(starts)
        behind = starts
    found: Places = []
    for piece, starts in zip(pieces, reversed(fitting), strict=True):
        start = _next(starts, found[-1][1]) if found else starts[0]
        if start is None:
            return None
        found.append((start, start + len(piece)))
    return found


def span_of(template: str, text: str) -> tuple[int, int] | None:
    """Return where a template begins and ends in a text; a slot at its beginning counts up to ``GAP``, one at its end is left open."""
    places = places_of(template, text)
    if not places:
        return None
    start = places[0][0]
    return (max(0, start - GAP) if template.startswith(SLOT) else start), places[-1][1]


def _starts(piece: str, text: str) -> list[int]:
    found = []
    at = text.find(piece)
    while at >= 0:
        found.append(at)
        at = text.find(piece, at + 1)
    return found


def _next(starts: Sequence[int], end: int) -> int | None:
    """Return the first place at or behind ``end``, and no farther than a slot is long."""
    place = bisect_left(starts, end)
    return starts[place] if place < len(starts) and starts[place] <= end + GAP else None
