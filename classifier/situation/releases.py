"""Which releases can have written a log: the one that it tells, else a bound with the marks that speak for it.

No release is ever assumed. Where nothing bounds it, all that are known can have written the log, and what is advised says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...corpus.records import Record, record
from ..facts.types import FactValue
from ..facts.versions import in_range, version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..facts.fingerprint import ReleaseRange

ENOUGH = 3
"""Marks from which on the releases that fit them are taken for the log's own: with fewer, a neighbour's may be among them."""
WIDER = {1: 3, 2: 2}
"""Releases on both sides that may have written a log with so few marks: one line may have been cut or copied badly."""
BETWEEN, SURE = 1, 10
"""Releases on both sides of those that fit that may have written a log all the same, a build between them; none where so many
marks fit without exception."""
V0, V1 = "<0.11", ">=0.6.4"
"""Releases that have the engines of these names."""


@record(frozen=True, slots=True)
class ReleaseBound(Record):
    """The releases that can have written a log."""

    told: str
    """The release as the log prints it; "" where it does not."""
    releases: tuple[str, ...]
    """That fit, oldest first; empty where the log tells another one than those that are known."""
    marks: tuple[str, ...]
    """What speaks for that, in words."""
    bounded: bool
    """Whether anything leaves out some of the releases that are known."""
    likely: str = ""
    """The newest of those that all marks speak for, none allowed for; "" where there is no such release."""

    @property
    def first(self) -> str:
        """The oldest of them; the told one where there is one."""
        return self.told or (self.releases[0] if self.releases else "")

    @property
    def last(self) -> str:
        """The newest of them; the told one where there is one. Unless it is told, only an upper bound."""
        return self.told or (self.releases[-1] if self.releases else "")

    def within(self, wanted: str) -> bool | None:
        """Return whether a range (``>=0.8,<0.11``) holds for all of them; None where for some, or where nothing is known."""
        found = {in_range(release, wanted) for release in ((self.told,) if self.told else self.releases)}
        return found.pop() if len(found) == 1 else None

    def having(self, option: str) -> str | None:
        """Return for which of them a flag or variable exists: "" for all, a range (``>=0.9.2``) for some; None for none."""
        from ...corpus import options

        # Those older than all that are listed count as the oldest of these.
        listed = [release for release in self.releases if release in options.releases()] or [_listed(self.first)]
        has = [options.exists(option, release) is not False for release in listed]
        if all(has):
            return ""
        if not any(has):
            return None
        first, last = has.index(True), len(has) - 1 - has[::-1].index(True)
        since = f">={listed[first]}" if first else ""
        until = f"<={listed[last]}" if last < len(has) - 1 else ""
        return ",".join(filter(None, (since, until)))

    def __str__(self) -> str:
        """Return the bound for people: ``0.8.4 to 0.9.0``."""
        if self.told or len(self.releases) < 2:
            return self.first
        return f"{self.first} {'or' if len(self.releases) == 2 else 'to'} {self.last}"

    def note(self) -> str:
        """Return a sentence that says what is not known of the release; "" where the log tells it."""
        if self.told or not self.releases:
            return ""
        how = "(--vllm-version for another)" if len(self.releases) == 1 else "(--vllm-version to name it)"
        if not self.bounded:
            return f"The log does not say which vLLM release ran, and nothing bounds it: what is advised is held against {self} {how}."
        return (
            f"The log does not say which vLLM release ran; by {' and '.join(self.marks[:2])} it is {self}: what is advised is "
            f"held against {'it' if len(self.releases) == 1 else 'all of them'} {how}."
        )


def bound_of(
    facts: Mapping[str, FactValue],
    signs: Iterable[tuple[str, str]],
    known: Sequence[str],
    places: Callable[[], ReleaseRange] | None = None,
) -> ReleaseBound:
    """Return the releases that can have written a log.

    Args:
        facts: Of the incident.
        signs: Ranges of releases that the log shows (``<0.11``, ``>=0.8.2,<0.11``), each with the sign in words, the surest first.
        known: All releases, oldest first.
        places: Returns the releases that the places fit from which the log's lines were logged; asked where it is not told.
    """
    told = str(facts.get("vllm_version") or "")
    if version_key(told) is not None or not known:
        return ReleaseBound(told, (told,) if told in known else (), (), True)
    fitting, marks = list(known), []
    engine = str(facts.get("engine") or "")
    ranges = [*signs, *([(V0 if engine == "V0" else V1, f"its engine, {engine}")] if engine in ("V0", "V1") else [])]
    for text, sign in ranges:
        # Words of another program, or of a release that was patched, may contradict: what was found first counts.
        left = [release for release in fitting if in_range(release, text)]
        if left and len(left) < len(fitting):
            fitting = left
            marks.append(sign)
    found = places() if places is not None else None
    if found is not None and (near := _near(found, known)):
        left = [release for release in fitting if release in near]
        if not left and found.marks >= ENOUGH:
            # So many places outweigh words: what these left is given up.
            left, fitting, marks = [release for release in known if release in near], list(known), []
        if left and len(left) < len(fitting):
            fitting = left
            marks.insert(
                0,
                f"{found.fitting} of {found.marks} places in its files" if found.marks > 1 else "a place in its files",
            )
    best = [release for release in fitting if found is not None and release in (found.releases or found.nearest)]
    likely = best[-1] if best and found is not None and found.marks >= ENOUGH else ""
    return ReleaseBound("", tuple(fitting), tuple(dict.fromkeys(marks)), len(fitting) < len(known), likely)


def _near(found: ReleaseRange, known: Sequence[str]) -> set[str]:
    """Return the releases that fit the places of a log, with their neighbours where the places are few or fit none."""
    fit = found.releases or found.nearest
    if not fit:
        return set()
    sure = found.releases and found.fitting == found.marks >= SURE
    wider = 0 if sure else WIDER.get(found.marks, BETWEEN)
    at = [place for place, release in enumerate(known) if release in fit]
    return {known[near] for place in at for near in range(max(0, place - wider), min(len(known), place + wider + 1))}


def reference(bound: ReleaseBound, listed: Sequence[str]) -> str:
    """Return the one release whose defaults are asked for first: the likely one, else the newest that can have written the log.

    Args:
        bound: Of the log.
        listed: The releases whose options are known, oldest first.
    """
    return bound.likely or next((release for release in reversed(bound.releases) if release in listed), bound.last)


def gone_from(ranges: str, bound: ReleaseBound) -> str:
    """Return the release from which words with these ``ranges`` are gone, where the log's own may still have had them; else ""."""
    end = ranges.rpartition("<")[2] if "<" in ranges and not ranges.rpartition("<")[2].startswith("=") else ""
    return end if end and bound.within(f"<{end}") is not False else ""


def _listed(release: str) -> str:
    """Return the release whose options count: of one older than all that are listed, the oldest that is."""
    from ...corpus import options

    oldest = options.releases()[0]
    return oldest if in_range(release, f"<{oldest}") else release
