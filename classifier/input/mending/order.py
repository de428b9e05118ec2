"""Which way round a list of records is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def newest_first(stamps: Sequence[str]) -> bool:
    """Return whether times fall, as most log services answer: of equal length they are compared as text."""
    falls = sum(two < one for one, two in pairwise(stamps))
    rises = sum(two > one for one, two in pairwise(stamps))
    return falls > 1 and falls > 4 * rises
