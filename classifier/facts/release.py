"""Which vLLM release the advice is for: the log's, else the newest that prints such words, else the newest known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from .types import FactValue
from .versions import in_range, version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .fingerprint import ReleaseRange

ENOUGH = 3
"""Marks from which on a release that fits them is taken for the log's own: with fewer, half of the releases fit."""
V0 = "<0.11"
"""Releases that have the V0 engine."""


def release_for(
    facts: Mapping[str, FactValue],
    ranges: Iterable[str],
    releases: Sequence[str],
    bound: Callable[[], ReleaseRange] | None = None,
) -> tuple[str, str]:
    """Return the release, and where it was not read in the log a sentence that says so.

    Args:
        facts: Of the incident.
        ranges: Releases that print what was found, the deciding words first (``<0.11``, ``>=0.8.2,<0.11``).
        releases: All that are known, oldest first.
        bound: Returns the releases that the places fit from which the log's lines were logged; asked where it is not told.
    """
    told = str(facts.get("vllm_version") or "")
    if version_key(told) is not None or not releases:
        return told, ""
    found = bound() if bound is not None else None
    if found is not None and found.marks >= ENOUGH and (near := found.releases or found.nearest):
        # The fingerprints begin long before the table of options does.
        at = [release for release in near if release in releases] or list(near)
        return at[-1], f"The log does not tell vLLM's release; by its lines it is {found}: the fixes are for {at[-1]}."
    wanted = [V0] if facts.get("engine") == "V0" else []
    fitting = [release for release in releases if all(in_range(release, text) for text in wanted)]
    for text in ranges:
        # Words of another program, or of a release that was patched, may contradict: what was found first counts.
        fitting = [release for release in fitting if in_range(release, text)] or fitting
    if found is not None and found.releases:
        fitting = [release for release in fitting if release in found.releases] or fitting
    latest, newest = fitting[-1], releases[-1]
    why = "the newest known" if latest == newest else "the newest in which this log can have been written"
    return (
        latest,
        f"The log does not tell vLLM's release; the fixes are for {latest}, {why} (--vllm-version for another).",
    )


def gone_from(ranges: str, release: str) -> str:
    """Return the release from which words with these ``ranges`` are gone, where ``release`` still had them; else ""."""
    bound = ranges.rpartition("<")[2] if "<" in ranges and not ranges.rpartition("<")[2].startswith("=") else ""
    return bound if bound and in_range(release, f"<{bound}") else ""
