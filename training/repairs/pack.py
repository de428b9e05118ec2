"""Writes the index of repairs in the layout that ``corpus/repairs`` describes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...corpus.repairs import MAGIC, MESSAGES, Facet, key_of, piece_row
from ...corpus.shards import Writer

Row = tuple[int, int, str]
"""Number of a pull request, number of its first release, what it needs."""


def pack(releases: Sequence[str], repairs: Sequence[Row], facets: Iterable[tuple[int, Facet]]) -> bytes:
    """Return the index.

    Args:
        releases: The oldest first.
        repairs: The oldest first.
        facets: With the place of their repair.
    """
    rows: list[tuple[int, str]] = []
    messages: set[str] = set()
    for number, facet in facets:
        row = (str(number), facet.how, " ".join(facet.lost), " ".join(facet.gained))
        if facet.kind in MESSAGES:
            messages.add("\t".join((*piece_row(facet.key), facet.kind, *row)))
        else:
            rows.append((key_of(facet.kind, facet.key), "\t".join(row)))
    made = Writer()
    head: dict[str, object] = {
        "releases": list(releases),
        "repairs": made.add("\n".join("\t".join(map(str, row)) for row in repairs).encode()),
        "messages": made.add("\n".join(sorted(messages)).encode()),
        **made.add_rows(rows),
    }
    return made.finish(MAGIC, head)
