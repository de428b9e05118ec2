"""Makes a pack: spends the budget by worth, lines and what is said above them against each other."""

from __future__ import annotations

from collections.abc import Mapping

from ....corpus.records import replace
from ...errors import InputError
from .about import About, about, fitted, series_of, size_of_all
from .material import Material
from .model import BUDGET, LARGEST, LEAST, Gap, Pack, PackLine
from .rows import REPEATED, Row, as_line, row_of, rows_of
from .text import as_text, line_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..model import Report

WHOLE = 0.88
"""Share of a budget up to which the lines of a log are all taken; what is said above them needs the rest."""
ABOVE = 0.3
"""Share of a budget that what is said above the lines may take where some are left out."""
OVERHEAD = 1.3
"""How much longer than the log a pack may be: a short log is not drowned in headings."""
LEAST_OVERHEAD = 32
"""Characters that a pack may be longer in any case: the fence takes them."""
WIDTHS = ((90, 6, 600), (60, 16, 240), (0, 48, 140))
"""By what a line is worth: the share of a budget that it may take, and so many characters in any case."""
LONGEST = 12_000
"""Characters of a line that are shown where all are."""
ROUNDS = 4
"""Times that what is left of the budget is spent: what lines cost besides their text shows when they stand together."""
IN_VAIN = 24
"""Lines that do not fit any more after which no others are tried."""
APART, TOLD = 40, 26
"""Characters that a line costs besides its text where it stands apart from others, and where its writer is named."""
KINDS = (
    (b"HTTP/1.", "requests"), (b"%|", "progress"), (b'  File "', "frames"), (b"ERROR", "ERROR"), (b"WARN", "WARNING"),
    (b"INFO", "INFO"), (b"DEBUG", "DEBUG"),
)  # fmt: skip
"""Kinds of lines by which a gap is described; the first that fits."""


def make_pack(report: Report, budget: int = BUDGET, candidates: bool = True) -> Pack:
    """Return the pack of a report.

    Args:
        report: The answer; where the log's text is not known any more, the lines that it shows are all there are.
        budget: Characters that the text of the pack may have.
        candidates: Whether it says what rules propose.

    Raises:
        InputError: The budget is not a number of characters from 500 to 60,000.
    """
    if not LEAST <= budget <= LARGEST:
        raise InputError(f"budget {budget!r} is not a number of characters from {LEAST} to {LARGEST}")
    kept = report.kept
    if isinstance(kept, Mapping):
        from .schema import pack_of

        try:
            kept = pack_of(kept)
        except InputError:
            kept = None  # of another release
    if isinstance(kept, Pack):
        return _smaller(kept if candidates else kept.without_candidates(), budget)
    material = report.kept if isinstance(report.kept, Material) else None
    rows = rows_of(material) if material is not None and material.stretches else _rows_of_report(report)
    say = about(report, material.release, series_of(material.serving)) if material is not None else about(report)
    if not candidates:
        say = About(say.told, (), ())
    if material is None:
        return _spent(Pack(budget=budget, lines_of_log=report.input.lines, whole=False), rows, say, lambda _: ())
    blank, most = Pack(budget=budget, lines_of_log=material.lines, whole=False), budget
    if material.whole and material.characters <= budget:
        most = min(budget, max(int(OVERHEAD * material.characters), material.characters + LEAST_OVERHEAD))
        full = replace(blank, lines=tuple(as_line(row, material.original, LONGEST) for row in rows), whole=True)
        left = most - len(as_text(full))
        # Nothing of a text that fits is left out for what is said above it, but where it takes the whole budget.
        if budget - most + left >= 0 and (most < budget or left >= min((1 - WHOLE) * budget, size_of_all(say))):
            return _headed(full, say, left, most)
    numbered = material.original
    made = _spent(replace(blank, budget=most), rows, say, lambda taken: _gaps(rows, taken, material), numbered)
    return replace(made, budget=budget)


def _smaller(pack: Pack, budget: int) -> Pack:
    """Return what is worth most of a pack that was made for a larger budget."""
    if len(as_text(pack)) <= budget:
        return replace(pack, budget=budget)
    rows = [row_of(line) for line in pack.lines]
    say = About(pack.told, pack.candidates, pack.withheld)
    blank = Pack(budget=budget, lines_of_log=pack.lines_of_log, whole=False)
    return _spent(blank, rows, say, lambda taken: _wider(pack, taken))


def _headed(full: Pack, say: About, left: int, most: int) -> Pack:
    """Return a pack of all lines with as much above them as ``left`` characters hold, ``most`` in all."""
    for _ in range(ROUNDS):
        made = _with(full, *fitted(say, left, 0))
        if (over := len(as_text(made)) - most) <= 0:
            return made
        left -= over
    return full


def _with(pack: Pack, say: About, missing: Sequence[str]) -> Pack:
    return replace(pack, told=say.told, candidates=say.candidates, withheld=say.withheld, cut=tuple(missing))


def _spent(
    blank: Pack,
    rows: list[Row],
    say: About,
    gaps: Callable[[Mapping[int, PackLine]], tuple[Gap, ...]],
    numbered: Callable[[int], int] = int,
) -> Pack:
    """Return the pack of a log that does not fit: the lines that are worth most, and above them the shares of each part."""
    budget = blank.budget
    pack = _with(blank, *fitted(say, int(ABOVE * budget), budget))
    order = [place for place, row in enumerate(rows) if row.worth > REPEATED]
    order.sort(key=lambda place: (-rows[place].worth, place))
    taken: dict[int, PackLine] = {}
    made, room = pack, budget - len(as_text(pack))
    for _ in range(ROUNDS):
        if not _take(taken, order, rows, room, (numbered, budget)):
            break
        while True:
            made = replace(pack, lines=tuple(taken[at] for at in sorted(taken)), gaps=gaps(taken))
            room = budget - len(as_text(made))
            if room >= 0 or not taken:
                break
            # What was taken last is worth least; nothing else is tried in its place.
            _give_back(taken, room)
            order = []
    return made


def _take(
    taken: dict[int, PackLine], order: list[int], rows: list[Row], room: int, within: tuple[Callable[[int], int], int]
) -> bool:
    """Take the rows that are worth most and fit into ``room``; ``order`` is left without them. Return whether any was."""
    numbered, budget = within
    failed, before = 0, len(taken)
    left: list[int] = []
    for at, place in enumerate(order):
        line = as_line(rows[place], numbered, _width(rows[place].worth, budget))
        near = (place - 1 in taken) + (place + 1 in taken)
        cost = len(line.text) + len(str(line.line)) + 3 + (0 if near == 2 else TOLD if near else APART + TOLD)
        if cost <= room:
            taken[place] = line
            room -= cost
            continue
        left.append(place)
        failed += 1
        if failed > IN_VAIN:
            left += order[at + 1 :]
            break
    order[:] = left
    return len(taken) > before


def _give_back(taken: dict[int, PackLine], room: int) -> None:
    """Leave out what was taken last, until that makes up for a room that is too small."""
    while room < 0 and taken:
        room += len(line_text(taken.popitem()[1], None))


def _width(worth: int, budget: int) -> int:
    return next(max(budget // share, least) for from_, share, least in WIDTHS if worth >= from_)


def _gaps(rows: list[Row], taken: Mapping[int, object], material: Material) -> tuple[Gap, ...]:
    """Return what is left out between the lines that were taken."""
    gaps: list[Gap] = []
    start = material.part[0] if material.part else 1
    kinds: dict[str, int] = {}
    bare = True
    for place, row in enumerate(rows):
        # Lines that were not kept are among those left out, too.
        bare = bare and row.number <= start
        if place in taken:
            if not bare:
                _close(gaps, start, row.number - 1, kinds, material)
            start, kinds, bare = row.last + 1, {}, True
        elif row.worth:
            kind = next((name for sign, name in KINDS if sign in row.raw), "others")
            kinds[kind] = kinds.get(kind, 0) + row.last - row.number + 1
            bare = False
        else:
            start = max(start, row.last + 1) if bare else start
    if not bare or start <= material.end:
        _close(gaps, start, material.end, kinds, material)
    return tuple(gaps)


def _close(gaps: list[Gap], first: int, last: int, kinds: dict[str, int], material: Material) -> None:
    if last >= first:
        gaps.append(
            Gap(first=material.original(first), last=material.original(last), lines=last - first + 1, kinds=dict(kinds))
        )


def _wider(pack: Pack, taken: Mapping[int, object]) -> tuple[Gap, ...]:
    """Return the gaps of a pack, wider by the lines of it that were not taken."""
    gaps: list[Gap] = []
    left = [Gap(first=line.line, last=line.last or line.line, lines=(line.last or line.line) - line.line + 1, kinds={line.level: 1} if line.level else {})
        for at, line in enumerate(pack.lines) if at not in taken]  # fmt: skip
    shown = sorted(pack.lines[at].line for at in taken)
    for gap in sorted([*pack.gaps, *left], key=lambda gap: gap.first):
        before = gaps[-1] if gaps else None
        if before is None or any(before.last < number < gap.first for number in shown):
            gaps.append(gap)
            continue
        kinds = {name: before.kinds.get(name, 0) + gap.kinds.get(name, 0) for name in {**before.kinds, **gap.kinds}}
        gaps[-1] = Gap(first=before.first, last=max(before.last, gap.last), lines=before.lines + gap.lines, kinds=kinds)
    return tuple(gaps)


def _rows_of_report(report: Report) -> list[Row]:
    """Return the lines that an answer shows as rows: all that is known of a log that is gone."""
    story = report.story
    parts: list[tuple[str, int, Iterable[object]]] = [
        ("near", 50, report.context), ("consequence", 48, report.symptoms[:6]), ("raised from it", 66, report.chain),
        ("first death", 94, [story.died_first] if story is not None and story.died_first is not None else []),
        ("deciding", 100, [item for item in report.evidence if not item.mark]),
    ]  # fmt: skip
    found: dict[int, Row] = {}
    for kind, worth, items in parts:
        for item in items:
            line, text = item.line, item.text  # type: ignore[attr-defined] # Evidence and ContextLine alike
            raw = text.encode("utf-8", "replace")
            found[line] = Row(line, line, raw, raw, getattr(item, "count", 1), worth, kind, masked=text)
    return [found[line] for line in sorted(found)]
