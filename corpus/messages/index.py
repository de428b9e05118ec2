"""Which messages a text may hold: each is looked for by the longest literal piece of its template.

A compiled corpus holds the index and the rows packed. Most texts hold a handful of pieces; making sixteen thousand rows and an
automaton for their pieces took three times as long as the rest of an answer.
"""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..packed_rules import Rows, joined, parts_of
from .row import SLOT, Label, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from ahocorasick_rs import AhoCorasick

SHORTEST = 6
"""Characters of the literal piece by which a template is looked for; templates of shorter pieces are not looked for."""
LONGEST = 32
"""Characters of that piece that are looked for: the expression sees the rest."""
SOON = 1 << 18
"""Characters that are looked through, before an automaton pays that looks through more at once."""

Pieces: TypeAlias = "list[tuple[str, list[int]]]"
"""Pieces that begin with the same characters, each with the positions of its rows."""


class Index:
    """Finds the rows of which a piece stands in a text.

    Args:
        pieces: By their first ``SHORTEST`` characters.
    """

    def __init__(self, pieces: Mapping[str, Pieces]) -> None:
        self._pieces = pieces
        self._seen = 0
        self._automaton: tuple[AhoCorasick, list[list[int]]] | None = None

    def find(self, text: str) -> set[int]:
        """Return the positions of the rows of which a piece stands in ``text``."""
        self._seen += len(text)
        if self._seen > SOON:
            return self._find_at_once(text)
        candidates: set[int] = set()
        known = self._pieces
        for at in range(len(text) - SHORTEST + 1):
            head = text[at : at + SHORTEST]
            if head in known:
                for piece, rows in known[head]:
                    if text.startswith(piece, at):
                        candidates.update(rows)
        return candidates

    def _find_at_once(self, text: str) -> set[int]:
        if self._automaton is None:
            from ahocorasick_rs import AhoCorasick, Implementation

            every = [item for items in self._pieces.values() for item in items]
            made = AhoCorasick([piece for piece, _ in every], implementation=Implementation.ContiguousNFA)
            self._automaton = made, [rows for _, rows in every]
        automaton, rows = self._automaton
        hits = automaton.find_matches_as_indexes(text, overlapping=True)
        return {row for piece, _, _ in hits for row in rows[piece]}


class PackedPieces(Mapping[str, "Pieces"]):
    """Pieces by their first characters, each group unpacked when a text holds those."""

    __slots__ = ("_made", "_packed")

    def __init__(self, packed: dict[str, bytes]) -> None:
        self._packed = packed
        self._made: dict[str, Pieces] = {}

    def __getitem__(self, head: str) -> Pieces:
        """Return the pieces that begin so; raise ``KeyError`` where there are none."""
        made = self._made.get(head)
        if made is None:
            made = self._made[head] = marshal.loads(self._packed[head])  # noqa: S302 - our own file
        return made

    def __contains__(self, head: object) -> bool:
        """Return whether pieces begin so."""
        return head in self._packed

    def __iter__(self) -> Iterator[str]:
        """Yield what pieces begin with."""
        return iter(self._packed)

    def __len__(self) -> int:
        """Return how many beginnings there are."""
        return len(self._packed)


class PackedRows(Sequence[Row]):
    """Rows of the catalogue, each made when it is asked for."""

    __slots__ = ("_made", "_packed")

    def __init__(self, packed: Rows) -> None:
        self._packed = packed
        self._made: dict[int, Row] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._packed)

    def __getitem__(self, position: int) -> Row:  # type: ignore[override] # nobody asks for a slice
        """Return a row."""
        made = self._made.get(position)
        if made is None:
            package, template, path, label = marshal.loads(self._packed[position])  # noqa: S302 - our own file
            made = Row(package, template, "", "", path, "", 0, "", "", Label(*label))
            made = self._made.setdefault(position, made)
        return made


def anchor(template: str) -> str:
    """Return the longest literal piece of a template."""
    return max((piece.strip() for piece in template.split(SLOT)), key=len)


def piece_of(row: Row) -> str:
    """Return what a row is looked for by; "" where that would be too short."""
    piece = anchor(row.template)[:LONGEST].rstrip()
    return piece if len(piece) >= SHORTEST else ""


def pieces_of(rows: Iterable[Row]) -> dict[str, Pieces]:
    """Return the pieces of rows that all have one, by their first characters."""
    by_piece: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        by_piece.setdefault(piece_of(row), []).append(position)
    found: dict[str, Pieces] = {}
    for piece, positions in by_piece.items():
        found.setdefault(piece[:SHORTEST], []).append((piece, positions))
    return found


def packed(rows: Iterable[Row]) -> bytes:
    """Return the form in which a compiled corpus holds rows: as much of them as an answer needs."""
    kept = [row for row in rows if piece_of(row)]
    pieces = {head: marshal.dumps(items) for head, items in pieces_of(kept).items()}
    data, ends = bytearray(), array("I")
    for row in kept:
        label = row.label
        told = (label.bucket, label.cause, label.owner, label.fatal, label.specific, label.by)
        data += marshal.dumps((row.package, row.template, row.path if label.by == "place" else "", told))
        ends.append(len(data))
    return joined(marshal.dumps(pieces), ends.tobytes(), data)


def unpacked(data: bytes | memoryview) -> tuple[PackedRows, PackedPieces]:
    """Return the rows and the pieces that ``packed`` stored."""
    pieces, ends, rows = parts_of(data)
    return PackedRows(Rows(rows, ends.cast("I"))), PackedPieces(marshal.loads(pieces))  # noqa: S302 - our own file
