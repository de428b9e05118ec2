"""Writes the index of repairs in the layout that ``corpus/repairs`` describes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence

from ...corpus.repairs import MAGIC, MESSAGES, SHARDS, Facet, key_of, piece_row

Row = tuple[int, int, str]
"""Number of a pull request, number of its first release, what it needs."""


def pack(releases: Sequence[str], repairs: Sequence[Row], facets: Iterable[tuple[int, Facet]]) -> bytes:
    """Return the index.

    Args:
        releases: The oldest first.
        repairs: The oldest first.
        facets: With the place of their repair.
    """
    shards: list[set[str]] = [set() for _ in range(SHARDS)]
    messages: set[str] = set()
    for number, facet in facets:
        rest = (facet.how, str(number), " ".join(facet.lost), " ".join(facet.gained))
        if facet.kind in MESSAGES:
            messages.add("\t".join((*piece_row(facet.key), facet.kind, *rest)))
        else:
            key = key_of(facet.kind, facet.key)
            shards[key % SHARDS].add("\t".join((f"{key:x}", *rest)))
    body = bytearray()

    def add(rows: Iterable[str]) -> tuple[int, int]:
        packed = zlib.compress("\n".join(rows).encode(), 9)
        body.extend(packed)
        return len(body) - len(packed), len(packed)

    head = {
        "releases": list(releases),
        "repairs": add("\t".join(map(str, row)) for row in repairs),
        "messages": add(sorted(messages)),
        "shards": [add(sorted(rows)) for rows in shards],
    }
    packed = zlib.compress(json.dumps(head, separators=(",", ":")).encode(), 9)
    return b"".join((MAGIC, len(packed).to_bytes(4, "little"), packed, body))
