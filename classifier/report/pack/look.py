"""More lines of a log, for a reader who wants to see further than a pack: by number, or by what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ....corpus.records import field, record, replace
from ...errors import InputError
from ...incidents.keeper import Stretch
from ...input.numbers import Numbers
from ...input.read import Block
from ..model import OPTIONAL, Node
from .model import BUDGET, LARGEST, LEAST, Pack, PackLine
from .rows import WIDE, Row, as_line, rows_in
from .telling import cut_around
from .text import fenced, line_text

MOST = 400
"""Lines that are shown at a time."""
WIDTHS = (LARGEST, 2_000, 600, 300, 160)
"""Characters of a line, from the most to the least: the first with which all fits."""


@record(frozen=True, slots=True, kw_only=True)
class Look(Node):
    """Lines of a log, bounded and masked."""

    lines: tuple[PackLine, ...] = ()
    more: int = 0
    """how many more there are that were asked for, as far as the log was read"""
    next: int = field(default=0, metadata=OPTIONAL)
    """number of the first of them"""

    def text(self) -> str:
        """Return the lines as text, fenced."""
        body = [line_text(line, self.lines[at - 1] if at else None) for at, line in enumerate(self.lines)]
        told = [f"{self.more} more, from line {self.next} on."] if self.more else []
        return "\n".join([*fenced(body), *told]) + "\n"


def span_of(text: str) -> tuple[int, int]:
    """Return the first and the last line that ``100-180``, ``100`` or ``100-`` names.

    Raises:
        InputError: It names none.
    """
    first, dash, last = text.strip().partition("-")
    if not (first.isdigit() and (not last or last.isdigit())) or int(first) < 1:
        raise InputError(f"{text!r} names no lines: give 100-180, 100 or 100-")
    end = int(last) if last else (int(first) + MOST - 1 if dash else int(first))
    if end < int(first):
        raise InputError(f"{text!r} ends before it begins")
    return int(first), end


def look(blocks: Iterable[Block], lines: str = "", find: str = "", process: str = "", budget: int = BUDGET) -> Look:
    """Return lines of a log by their numbers, or those that hold a text in upper or lower case, or both.

    Args:
        blocks: The log from its beginning.
        lines: ``100-180``, ``100`` or ``100-``; empty: all.
        find: A text.
        process: Only lines of processes whose name holds this.
        budget: Characters of the answer.

    Raises:
        InputError: Nothing is asked for, or the budget is out of bounds.
    """
    first, last = _asked(lines, find)
    words = find.lower().encode("utf-8", "replace")
    return looked_at(_found(blocks, first, last, words), process, budget, find)


def look_in(pack: Pack, lines: str = "", find: str = "", process: str = "", budget: int = BUDGET) -> Look:
    """Return lines of a pack, where it is all that is left of a log; as ``look``.

    Raises:
        InputError: As there.
    """
    first, last = _asked(lines, find)
    shown = (line for line in pack.lines if first <= line.line and (not last or line.line <= last))
    return looked_at((line for line in shown if find.lower() in line.text.lower()), process, budget, find)


def _asked(lines: str, find: str) -> tuple[int, int]:
    if not lines and not find:
        raise InputError("say which lines: by number (100-180), or by a text that they hold")
    return span_of(lines) if lines else (1, 0)


def looked_at(found: Iterable[PackLine], process: str = "", budget: int = BUDGET, find: str = "") -> Look:
    """Return as many lines as a budget holds, cut where they are long."""
    if not LEAST <= budget <= LARGEST:
        raise InputError(f"budget {budget!r} is not a number of characters from {LEAST} to {LARGEST}")
    kept: list[PackLine] = []
    more = after = 0
    for line in found:
        if process.lower() not in line.process.lower():
            continue
        if len(kept) < MOST:
            kept.append(line)
        else:
            more, after = more + 1, after or line.line
    return _fitted(kept, (more, after), budget, find)


def _fitted(lines: Sequence[PackLine], beyond: tuple[int, int], budget: int, find: str) -> Look:
    for width in WIDTHS:
        shown = tuple(replace(line, text=cut_around(line.text, width, find)) for line in lines)
        made = Look(lines=shown, more=beyond[0], next=beyond[1])
        if len(made.text()) <= budget:
            return made
    while len(made.text()) > budget and len(made.lines) > 1:
        count = max(1, len(made.lines) * 9 // 10)
        left = len(made.lines) - count
        made = Look(lines=made.lines[:count], more=made.more + left, next=made.lines[count].line)
    return made


def _found(blocks: Iterable[Block], first: int, last: int, words: bytes) -> Iterator[PackLine]:
    numbers: Numbers | None = None
    for block in blocks:
        if block.mended is not None or numbers is not None:
            numbers = numbers or Numbers(block.number - 1)
            numbers.note(block.data.count(b"\n"), block.mended)
        original: Callable[[int], int] = numbers.original if numbers is not None else int
        if original(block.number + block.data.count(b"\n")) < first:
            continue
        for row in rows_in(Stretch(block.number, block.data), words):
            number = original(row.number)
            if last and number > last:
                return
            if number >= first and _says(row, words):
                yield as_line(row, original, LARGEST, words.decode("utf-8", "replace"))


def _says(row: Row, words: bytes) -> bool:
    """Return whether a line says something once it is masked: nobody finds out a secret by asking for its beginnings."""
    if not words:
        return True
    at = row.raw.lower().find(words)
    if at < 0:
        return False
    if len(row.raw) > WIDE:
        # Cut between words: half a token is no longer recognised as one.
        row.raw = row.raw[max(0, at - WIDE // 2) : at + WIDE // 4].partition(b" ")[2].rpartition(b" ")[0]
    return words.decode("utf-8", "replace") in row.peeled().raw.lower()
