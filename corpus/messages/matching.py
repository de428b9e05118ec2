"""Which rows of the catalogue a text holds: the longest literal piece of each is looked for first, then the whole template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..records import Record, record
from .index import Index, Pieces, piece_of, pieces_of
from .pieces import span_of
from .row import SLOT, Row

NEAR = 0.8
"""Share of the best match's literal characters from which on another one counts beside it."""
_CLASS = re.compile(r"(?:[\w.]+: )?")
_SPACE = re.compile(r"\s+")


@record(slots=True, frozen=True)
class Match(Record):
    """A row that a text holds."""

    row: Row
    start: int
    """Where it begins in the text with single spaces."""
    end: int
    literal: int
    """Characters of the template that stand there literally: the more, the surer."""
    whole: bool
    """The text is this message, after an exception's class at most, and nothing else."""


class Matcher:
    """Looks for the templates of many rows at once.

    Args:
        rows: What is looked for; the text of a row is compared with runs of white space made one space.
        pieces: By which they are looked for; None works that out, and leaves rows out that have no piece.
    """

    def __init__(self, rows: Iterable[Row], pieces: Mapping[str, Pieces] | None = None) -> None:
        self._rows: Sequence[Row]
        if pieces is None or not isinstance(rows, Sequence):
            self._rows = [row for row in rows if piece_of(row)]
            pieces = pieces_of(self._rows)
        else:
            self._rows = rows
        self._index = Index(pieces)

    def find(self, text: str) -> list[Match]:
        """Return what a text holds, most literal characters first; of matches within a longer one none.

        Args:
            text: A message, or some lines of a log.
        """
        text = _SPACE.sub(" ", text)
        matches = []
        for index in sorted(self._index.find(text)):
            row = self._rows[index]
            span = span_of(row.template, text)
            if span is not None:
                matches.append(Match(row, *span, row.literal, _is_whole(row, text, *span)))
        matches.sort(key=lambda match: (-match.literal, match.row.package, match.row.template))
        return _outermost(matches)


def decided(matches: Sequence[Match]) -> Row | None:
    """Return the row whose words alone name the bucket; None where none does, or where the best disagree.

    Words that are not specific decide where they are the whole message, and not a very short one.
    """
    if not matches:
        return None
    best = [match for match in matches if match.literal >= NEAR * matches[0].literal]
    rows = [match.row for match in best if match.row.decides or (match.whole and match.row.tells)]
    return rows[0] if len({row.label.bucket for row in rows}) == 1 else None


def of_module(matches: Sequence[Match]) -> Row | None:
    """Return the row of a package around vLLM that a whole text is, although nobody has read it: its module names the bucket.

    None where no row is the whole text, where its words may be anybody's, or where modules of several buckets say it.
    """
    rows = [match.row for match in matches if match.whole and match.row.tells_module]
    return rows[0] if len({row.label.bucket for row in rows}) == 1 else None


def _is_whole(row: Row, text: str, start: int, end: int) -> bool:
    head = _CLASS.match(text)
    begins = start == 0 or (head is not None and head.end() == start)
    return begins and (end >= len(text.rstrip()) or row.template.endswith(SLOT))


def _outermost(matches: list[Match]) -> list[Match]:
    kept: list[Match] = []
    for match in matches:
        if not any(
            other.start <= match.start and match.end <= other.end and other.literal > match.literal for other in kept
        ):
            kept.append(match)
    return kept
