"""vLLM's release by fingerprint: which releases log from those lines, and have tracebacks through those.

A log that does not print its release still shows where in vLLM's files its lines come from. No release fits them all
but the one that wrote the log, and those whose files are the same there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ...corpus.records import Record, record
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..lines.types import Frame, Line
    from .fingerprint_index import Index

ENOUGH = 0.85
"""Share of the marks that a release has to fit: below it the log is of a fork, or of a build between releases, which fit
0.6 to 0.78 of the marks where one is known to have written the log. Releases miss one mark of seven at most, which
happened where a packager had added lines to a file."""
FORGIVEN = 4
"""Marks from which on one of them may be wrong, whatever share that is: a line cut or copied badly."""
NEAR = 0.5
"""Share of the marks that the nearest release has to fit for a build between releases."""
MOST = 400
"""Marks that are tested; a log with more says nothing more by them."""

_SITE = LazyPattern(
    r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? "
    r"\[?(?P<path>[\w./…-]{1,80}\.py):(?P<line>\d{1,5})\](?: (?P<words>[^\r\n]{0,40}))?"
)
_FRAME = LazyPattern(
    r'File "(?P<path>[^"\r\n]{0,300}\bvllm/[^"\r\n]{1,200}\.py)", line (?P<line>\d{1,5})(?:, in (?P<function>[\w<>]{1,100}))?'
    r"[^\r\n]{0,20}(?:\r?\n(?P<code>[^\r\n]{1,400}))?"
)
_PREFIX = LazyPattern(
    r"^.{0,120}?(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? \[?[\w./…-]{1,80}\.py:\d{1,5}\]"
    r"|\(\w[^()]{0,60}\bpid=\d{1,9}[^()]{0,30}\) (?= ))"
)
_COLOUR = LazyPattern("\x1b\\[[0-9;]*m")


@record(frozen=True, slots=True)
class SiteMark(Record):
    """A line of vLLM's own log: where it was logged, and how its message starts."""

    path: str
    """As the log has it: ``core.py``, or ``v1/engine/core.py`` where it logs at DEBUG."""
    line: int
    words: str
    """Empty where the log was cut there."""


@record(frozen=True, slots=True)
class FrameMark(Record):
    """A frame of a traceback in one of vLLM's files."""

    path: str
    """From the package on: ``vllm/v1/engine/core.py``."""
    function: str
    line: int
    code: str
    """The line under it; empty where the log has none."""


Mark = SiteMark | FrameMark


@record(frozen=True, slots=True)
class ReleaseRange(Record):
    """The releases that a log fits."""

    releases: tuple[str, ...]
    """Oldest first; empty where the marks fit none."""
    marks: int
    """That were tested: each place once, those of other programs' files left out."""
    fitting: int
    """How many of them the releases fit."""
    confidence: float
    """That the log's own release is among them, 0 to 1; 0 where there are none."""
    nearest: tuple[str, ...] = ()
    """Where none fits, those that fit most: the log is of a build made about then, or of a fork of them. Empty where
    they fit too little as well."""

    @property
    def first(self) -> str:
        """The oldest of the releases; empty where there are none."""
        return self.releases[0] if self.releases else ""

    @property
    def last(self) -> str:
        """The newest of the releases; empty where there are none."""
        return self.releases[-1] if self.releases else ""

    def __str__(self) -> str:
        """Return the range for people: ``0.8.4 or 0.8.5 (by 7 marks)``."""
        if not self.marks:
            return "not told: no line says where in vLLM it was logged"
        by = f"by {self.marks} mark{'s' if self.marks > 1 else ''}"
        if self.fitting < self.marks:
            by = f"by {self.fitting} of {self.marks} marks"
        if self.nearest:
            return f"none fits, nearest {_named(self.nearest)} ({by}): a fork, or a build between releases"
        if not self.releases:
            return f"none fits ({by}): a fork, or a build between releases"
        return f"{_named(self.releases)} ({by})"


def bound_release(marks: Iterable[Mark], releases: Sequence[str] = ()) -> ReleaseRange:
    """Return the releases that fit the marks of one server start best.

    Args:
        marks: In any order, repetitions included.
        releases: To choose from, where other evidence has left some out; empty: all that the index holds.
    """
    from .fingerprint_index import index

    known = index()
    allowed = sum(1 << at for at, name in enumerate(known.releases) if not releases or name in releases)
    sets = [fitting & allowed for fitting in _tested(known, _distinct(marks)) if fitting is not None]
    return _bounded(sets, known.releases)


def mark_of_line(line: Line) -> SiteMark | None:
    """Return where a line of vLLM's own log was logged; None for every other line."""
    path, _, number = line.source.rpartition(":")
    return SiteMark(path, int(number), line.text) if line.logged and path.endswith(".py") else None


def mark_of_frame(frame: Frame) -> FrameMark | None:
    """Return a frame as a mark; None where it is of another package, or has no line."""
    path = short_path(frame.path)
    return FrameMark(path, frame.function, frame.number, frame.code) if path and frame.number else None


def marks_in(text: str) -> Iterator[Mark]:
    """Yield the marks in a log's text, in order of kind; ANSI colours may be in it."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    for found in _SITE.finditer(text):
        yield SiteMark(found["path"], int(found["line"]), (found["words"] or "").strip())
    for found in _FRAME.finditer(text):
        path = short_path(found["path"])
        if path:
            code = _PREFIX.sub("", found["code"] or "").strip()
            yield FrameMark(path, found["function"] or "", int(found["line"]), code)


def short_path(path: str) -> str:
    """Return a frame's path from vLLM's package on; empty where it is another package's file."""
    packages = max(path.rfind("site-packages/"), path.rfind("dist-packages/"))
    if packages >= 0:
        rest = path[packages + len("site-packages/") :]
        return rest if rest.startswith("vllm/") else ""
    at = path.rfind("vllm/")
    return path[at:] if at >= 0 else ""


def _distinct(marks: Iterable[Mark]) -> list[Mark]:
    found: dict[tuple[str, int, str], Mark] = {}
    for mark in marks:
        code = mark.code if isinstance(mark, FrameMark) else ""
        found.setdefault((mark.path, mark.line, code), mark)
        if len(found) >= MOST:
            break
    return list(found.values())


def _tested(known: Index, marks: list[Mark]) -> Iterator[int | None]:
    """Yield for each mark the releases that fit it; None where it is another program's."""
    from .fingerprint_index import Spot

    files: dict[str, list[Spot]] = {}
    for mark in marks:
        if isinstance(mark, SiteMark):
            yield known.site(mark.path.rpartition("/")[2], mark.line, mark.words)
        else:
            files.setdefault(mark.path, []).append(Spot(mark.function, mark.line, mark.code))
    for path, spots in files.items():
        yield from known.frames(path, spots)


def _bounded(sets: list[int], names: Sequence[str]) -> ReleaseRange:
    # Most marks fit the same releases as others do.
    alike = Counter(sets).items()
    counts = [sum(count for fitting, count in alike if fitting >> at & 1) for at in range(len(names))]
    best = max(counts, default=0)
    found = tuple(name for name, count in zip(names, counts, strict=True) if best and count == best)
    wrong = len(sets) - best
    if best and (best >= ENOUGH * len(sets) or (wrong == 1 and len(sets) >= FORGIVEN)):
        return ReleaseRange(found, len(sets), best, _confidence(best, len(sets)))
    near = found if best >= max(2, NEAR * len(sets)) else ()
    return ReleaseRange((), len(sets), best, 0.0, near)


def _confidence(fitting: int, marks: int) -> float:
    return round((1 - 0.5**fitting) * fitting / marks, 3)


def _named(releases: Sequence[str]) -> str:
    return f"{releases[0]} to {releases[-1]}" if len(releases) > 2 else " or ".join(releases)
