"""What a report holds of its log, so that packs can be made of it: stretches around what tells, in bounded memory.

It is the log's own text, as yet unmasked: nothing but ``choose.py`` reads it, which masks what it takes; it is in no JSON, in
no ``repr`` and in no copy that leaves the process.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from ahocorasick_rs import BytesAhoCorasick

from ....corpus.records import Mutable, record
from ...incidents.keeper import Stretch, sliced
from ...patterns.lazy import LazyPattern
from ...situation.situate import situate
from .leads import Lead, leads_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...incidents.session import Session
    from ...incidents.types import Incident
    from ...input.numbers import Numbers
    from ...serving.types import Records
    from ...verdict.types import Verdict

SMALL = 1 << 17
"""Bytes up to which a log is kept as it is."""
MOST = 1 << 18
"""Bytes kept of a larger one."""
HEAD, TAIL = 1 << 13, 1 << 14
"""Bytes kept of its beginning and of its end."""
BEFORE, AFTER = 2048, 1536
"""Bytes kept before and after a line that counts."""
LOOKED_AT = 1 << 19
"""Bytes of each end of a large log that are searched for words of trouble besides."""
MATCHES = 400
"""Places of one such word that are looked at from either end."""
DIGITS = b"0123456789 #=\xe2\x96\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\xb1\xb0"
"""Bytes that tell lines apart which say the same: of numbers, and of the bars that show progress."""

KEYED = 400
"""Bytes of a line by which it is told apart."""
_PREFIX = LazyPattern(rb"(?:\([^()]{1,60}\) ?)?(?:(?:ERROR|WARNING|INFO) [\d :.,-]{14,24} \[?[^\]\s]{1,60}\]? ?)?", 0)


@record(slots=True)
class Material(Mutable):
    """The text of a log around what tells, with what the analysis made of its lines."""

    stretches: list[Stretch]
    leads: dict[int, Lead]
    lines: int
    """Of the log, or of the part of it that the answer is about."""
    whole: bool
    """Whether the stretches are all of it."""
    characters: int
    """Of the text, where that is whole."""
    counts: dict[bytes, int]
    """How often lines of a large log that tell of trouble were printed, by what they say."""
    serving: Records | None
    """What is kept of the server's statistics."""
    release: str
    """Which releases can have written it, and what speaks for that, where the log does not name its release."""
    part: tuple[int, int] | None = None
    """First and last line, where the answer is not about the log as a whole."""
    numbers: Numbers | None = None
    """Where the input was mended: from the numbers as read to those in the input."""

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the log behind: what goes to another process is masked (``Report.pack``)."""
        return Material, ([], {}, self.lines, False, 0, {}, None, "")

    def __repr__(self) -> str:
        return f"<Material of {self.lines} lines>"

    @property
    def end(self) -> int:
        """The last line."""
        return self.part[1] if self.part else self.lines

    def original(self, number: int) -> int:
        """Return the number in the input of a line that was read as ``number``."""
        return self.numbers.original(number) if self.numbers is not None else number


def gather(session: Session, incidents: Sequence[Incident], found: Verdict, part: bool = False) -> Material:
    """Return what a report about some starts of a log needs for its packs.

    Args:
        session: Which read the log.
        incidents: The starts.
        found: The verdict, its lines numbered as they were read.
        part: Whether the answer is about these starts alone, not about the log as a whole.
    """
    first, last = (incidents[0].first, incidents[-1].last) if part else (1, 0)
    stretches = session.keeper.stretches(first, last)
    leads = leads_of(found, incidents)
    kept = sum(len(stretch.data) for stretch in stretches)
    counts: dict[bytes, int] = {}
    lines = last - first + 1 if part else session.lines
    if kept > SMALL:
        stretches = _thinned(stretches, leads, counts)
    whole = kept <= SMALL and (part or kept == session.keeper.total)
    characters = sum(len(stretch.data.decode("utf-8", "replace")) for stretch in stretches) if whole else 0
    return Material(
        stretches, leads, lines, whole, characters, counts, found.incident.serving, _bound(found.incident),
        (first, last) if part else None, session.numbers,
    )  # fmt: skip


def _bound(incident: Incident) -> str:
    release = situate(incident).release
    if release.told or not release.bounded:
        return ""
    return f"{release}" + (f" ({'; '.join(release.marks)})" if release.marks else "")


def key_of(line: bytes) -> bytes:
    """Return what a line says, whoever printed it and whatever numbers stand in it: ranks that say the same have the same key."""
    return message_of(line)[:KEYED].translate(None, DIGITS)


def message_of(line: bytes) -> bytes:
    """Return a line without the prefix that vLLM puts before it."""
    found = _PREFIX.match(line) if line[:1] in (b"(", b"E", b"I", b"W") else None
    return line[found.end() :] if found is not None else line


def _thinned(stretches: list[Stretch], leads: dict[int, Lead], counts: dict[bytes, int]) -> list[Stretch]:
    """Return what surrounds what counts, and what tells of trouble by its words."""
    total = sum(len(stretch.data) for stretch in stretches)
    before, kept = 0, 0
    spans: list[list[tuple[int, int]]] = []
    wanted: list[tuple[int, int, int]] = []
    for place, stretch in enumerate(stretches):
        size = len(stretch.data)
        spans.append([])
        starts = stretch.starts()
        wanted += [
            (-leads[number].worth, place, _place(stretch.data, starts, number - stretch.number))
            for number in leads
            if 0 <= number - stretch.number < len(starts)
        ]
        if before < LOOKED_AT or total - before - size < LOOKED_AT:
            low = 0 if before < LOOKED_AT else max(0, size - LOOKED_AT)
            high = size if total - before - size < LOOKED_AT else LOOKED_AT
            wanted += [(-10, place, at) for at in _troubles(stretch, starts, low, high, counts)]
        before += size
    if stretches:
        spans[0].append((0, HEAD))
        spans[-1].append((len(stretches[-1].data) - TAIL, len(stretches[-1].data)))
    for _, place, at in sorted(wanted):
        if kept > MOST:
            break
        if not any(low <= at - BEFORE // 2 and at + AFTER // 2 <= high for low, high in spans[place][-64:]):
            spans[place].append((at - BEFORE, at + AFTER))
            kept += BEFORE + AFTER
    return [part for stretch, own in zip(stretches, spans, strict=True) for part in sliced(stretch, own)]


def _troubles(stretch: Stretch, starts: list[int], low: int, high: int, counts: dict[bytes, int]) -> Iterator[int]:
    """Yield where lines begin that tell of trouble, each thing that is said once; the counts of all are noted."""
    data = stretch.data
    lines = {bisect_right(starts, at) - 1 for at in _places(data, low, high)}
    for line in sorted(lines):
        end = starts[line + 1] - 1 if line + 1 < len(starts) else len(data)
        key = key_of(data[starts[line] : min(end, starts[line] + 2 * KEYED)])
        known = counts.get(key, 0)
        counts[key] = known + 1
        if not known:
            yield _place(data, starts, line)


def _place(data: bytes, starts: list[int], line: int) -> int:
    """Return where a line begins; of a long one, where it tells of trouble."""
    from .telling import SIGNS

    start, end = starts[line], starts[line + 1] if line + 1 < len(starts) else len(data)
    if end - start <= AFTER:
        return start
    return next((at for word in SIGNS if (at := data.find(word, start, end)) >= 0), start)


def _places(data: bytes, low: int, high: int) -> Iterator[int]:
    """Yield where words of trouble stand between two places: of each the first and the last ones."""
    found: dict[int, list[int]] = {}
    for word, at, _ in _automaton().find_matches_as_indexes(data[low:high]):
        found.setdefault(word, []).append(low + at)
    for places in found.values():
        yield from places if len(places) <= 2 * MATCHES else (*places[:MATCHES], *places[-MATCHES:])


@cache
def _automaton() -> BytesAhoCorasick:
    """Return what looks for all of them at once."""
    from .telling import SIGNS

    return BytesAhoCorasick(SIGNS)
