"""The kept text of a log as rows: one for each line, what says the same in a row folded, each with what it is worth."""

from __future__ import annotations

from collections import Counter

from ....corpus.records import Mutable, record
from ...incidents.keeper import Stretch
from ...lines.prefix import split_line
from ...lines.types import Line
from ...masking.apart import hide_apart
from ...masking.mask import mask, mask_lines
from ..shown import printable
from .about import one_line
from .material import Material, key_of, message_of
from .model import PackLine
from .telling import SIGNS, cut_around, strength

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


SHORTEST_KEY = 10
"""Bytes of a key from which on a line that says the same elsewhere is worth less."""
WIDE = 1 << 14
"""Bytes of a line that are looked at; of a longer one its begin, what surrounds its first sign of trouble, and its end."""
TROUBLE, WARNING = 46, 36
"""What lines are worth that tell of trouble by their words alone."""
REPEATED = 1
"""What a line is worth that says nothing that is not shown; such lines fill no budget."""
ONCE, EVERY = 8, 4
"""What any other line is worth: one that says what no other says, and one of many."""
HEAD, TAIL = 36, 40
"""What the first and the last line are worth."""
FARTHER = 2
"""How much less each further one is worth."""
ENDS = 12
"""Lines of the begin and of the end that are worth more than others."""
AROUND = 60
"""What a line must be worth for its neighbours to be worth something."""
ABOVE, BELOW = (10, 3, 12), (14, 5, 6)
"""Neighbours before and after: how much less the nearest is worth, how much less each further one, and how many there are."""
STRANGER = 14
"""How much less a neighbour that another process printed is worth."""
AGAIN = 60
"""How much less a line is worth that another one says better."""
_KEY = b"PRIVATE KEY"


@record(slots=True)
class Row(Mutable):
    """A line, or lines in a row that say the same."""

    number: int
    """As it was read."""
    last: int
    raw: bytes
    key: bytes
    count: int = 1
    worth: int = EVERY
    kind: str = ""
    tells: str = ""
    masked: str = ""
    """The line without secrets, where that shows only among its neighbours."""
    line: Line | None = None

    @property
    def counts(self) -> bool:
        """Whether it matters how often it was printed; of calls and code it does not."""
        return self.last > self.number or self.kind not in ("", "frame", "near", "head", "tail", "message")

    def peeled(self) -> Line:
        """Return the line masked and without control characters, what stands before its message peeled off."""
        if self.line is None:
            text = self.masked or mask(_printed(_narrowed(self.raw)))
            self.line = split_line(self.number, text)
        return self.line


def rows_of(material: Material) -> list[Row]:
    """Return the rows of what was kept, with what each is worth."""
    rows = [row for stretch in material.stretches for row in rows_in(stretch)]
    folded = _folded(rows)
    said = Counter(row.key for row in folded)
    by_line: dict[int, list[int]] = {}
    for place, row in enumerate(folded):
        by_line.setdefault(row.number, []).append(place)
        row.worth = ONCE if said[row.key] == 1 else EVERY
        if any(sign in row.raw for sign in SIGNS):
            found = strength(row.raw[:4000].decode("utf-8", "replace"))
            row.worth, row.kind = ((row.worth, ""), (WARNING, "telling"), (TROUBLE, "telling"))[found]
        row.count = max(row.count, material.counts.get(row.key, 1))
    _note_ends(folded)
    _note_leads(folded, by_line, material)
    _note_neighbours(folded)
    _note_repeats(folded, said)
    for row in folded:
        if not row.key.strip(b"^~ \t|"):
            row.worth = 0  # marks below code
    return folded


def rows_in(stretch: Stretch, words: bytes = b"") -> Iterator[Row]:
    """Yield the lines of a stretch that are not empty, those between bare carriage returns each for itself.

    Args:
        stretch: The lines.
        words: In lower case: lines without them may be left out.
    """
    data = stretch.data
    if words and words not in data.lower():
        return
    told = data.decode("utf-8", "replace").split("\n")
    hidden = hide_apart(told)
    lines = [
        raw if now is text else now.encode() for raw, text, now in zip(data.split(b"\n"), told, hidden, strict=True)
    ]
    # What is a private key shows only over several lines.
    texts = mask_lines(_printed(line[:WIDE]) for line in lines) if _KEY in data else []
    for number, raw in enumerate(lines, stretch.number):
        parts = raw.split(b"\r") if b"\r" in raw else [raw]
        for part in parts:
            if part and not part.isspace():
                whole = texts[number - stretch.number] if texts else ""
                masked = whole if len(parts) == 1 or "<private-key>" in whole else ""
                yield Row(number, number, part, key_of(part), masked=masked)


def row_of(line: PackLine) -> Row:
    """Return a line of a pack as a row."""
    raw = line.text.encode("utf-8", "replace")
    peeled = Line(line.line, line.text, line.process, line.level, line.source, line.time)
    return Row(
        line.line, line.last or line.line, raw, raw, line.count, line.worth, line.kind, masked=line.text, line=peeled
    )


def as_line(row: Row, original: Callable[[int], int], most: int, tells: str = "") -> PackLine:
    """Return a row as it is shown: masked, peeled, cut to ``most`` characters around what tells."""
    peeled = row.peeled()
    number, last = original(row.number), original(row.last)
    return PackLine(
        line=number, last=last if last > number else 0,
        text=cut_around(peeled.text.expandtabs(4).rstrip(), most, tells or one_line(row.tells)), process=peeled.process,
        time=peeled.time, level=peeled.level, source=peeled.source, count=row.count if row.counts else 1, kind=row.kind,
        worth=row.worth,
    )  # fmt: skip


def _printed(raw: bytes) -> str:
    return printable(raw.decode("utf-8", "replace").rstrip())


def _folded(rows: list[Row]) -> list[Row]:
    """Return the rows with those folded into one that say the same in a row: of a progress bar its last state."""
    folded: list[Row] = []
    for row in rows:
        last = folded[-1] if folded else None
        if last is not None and last.key == row.key and _same(last, row):
            last.count += 1
            last.last = row.number
            if row.number == last.number or b"it/s" in row.raw:
                last.raw = row.raw
        else:
            folded.append(row)
    return folded


def _same(last: Row, row: Row) -> bool:
    """Return whether two lines with one key say the same to the number, or are states of one progress bar."""
    if b"it/s" in row.raw or b"%|" in row.raw:
        return True
    return message_of(last.raw) == message_of(row.raw)


def _note_ends(rows: list[Row]) -> None:
    for place, row in enumerate(rows[:ENDS]):
        row.worth, row.kind = max(row.worth, HEAD - FARTHER * place), row.kind or "head"
    for place, row in enumerate(reversed(rows[-ENDS:])):
        if TAIL - FARTHER * place > row.worth:
            row.worth, row.kind = TAIL - FARTHER * place, row.kind or "tail"


def _note_leads(rows: list[Row], by_line: dict[int, list[int]], material: Material) -> None:
    numbers = sorted(by_line)
    for number, lead in material.leads.items():
        places = by_line.get(number) or _folded_into(number, numbers, by_line, rows)
        if not places:
            continue
        telling = [place for place in places if rows[place].worth >= WARNING]
        for place in telling or places[-1:]:
            row = rows[place]
            if lead.worth >= row.worth or not row.kind:
                row.worth, row.kind = max(lead.worth, row.worth), lead.kind
                row.tells = lead.text or row.tells
            if not material.whole:
                row.count = max(row.count, lead.count)


def _folded_into(number: int, numbers: list[int], by_line: dict[int, list[int]], rows: list[Row]) -> list[int]:
    from bisect import bisect_right

    at = bisect_right(numbers, number) - 1
    places = by_line[numbers[at]] if at >= 0 else []
    return places[-1:] if places and rows[places[-1]].last >= number else []


def _note_neighbours(rows: list[Row]) -> None:
    leading = [(place, row.worth, _owner(row.raw)) for place, row in enumerate(rows) if row.worth >= AROUND]
    for place, worth, owner in leading:
        for (less, further, count), step in ((ABOVE, -1), (BELOW, 1)):
            for distance in range(1, count + 1):
                at = place + step * distance
                if not 0 <= at < len(rows):
                    break
                row = rows[at]
                value = worth - less - further * distance - (STRANGER if _owner(row.raw) != owner else 0)
                if value > row.worth:
                    row.worth, row.kind = value, row.kind if row.worth > WARNING else "near"


def _note_repeats(rows: list[Row], said: Counter[bytes]) -> None:
    """Make lines worth less that another one says, which is worth more or comes first, and count them with it."""
    best: dict[bytes, Row] = {}
    again = [row for row in rows if said[row.key] > 1 and len(row.key) >= SHORTEST_KEY]
    for row in sorted(again, key=lambda row: (-row.worth, row.number)):
        first = best.setdefault(row.key, row)
        if first is not row:
            first.count += row.count
            row.worth = max(REPEATED, row.worth - AGAIN)


def _owner(raw: bytes) -> bytes:
    """Return what stands for the process that printed a line."""
    return raw[: raw.find(b")", 0, 60)] if raw.startswith(b"(") else b""


def _narrowed(raw: bytes) -> bytes:
    """Return of an endless line its begin and what surrounds the first sign of trouble, cut between words."""
    if len(raw) <= WIDE:
        return raw
    at = min((at for sign in SIGNS if (at := raw.find(sign, 1024)) >= 0), default=1024)
    low, high = max(1024, at - 1024), at + WIDE // 2
    parts = raw[:1024].rpartition(b" ")[0], raw[low:high].partition(b" ")[2].rpartition(b" ")[0]
    return b" [...] ".join(part for part in parts if part)
