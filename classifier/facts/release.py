"""Which vLLM release the advice is for: the log's, else the newest that prints such words, else the newest known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .types import FactValue
from .versions import in_range, version_key

V0 = "<0.11"
"""Releases that have the V0 engine."""


def release_for(facts: Mapping[str, FactValue], ranges: Iterable[str], releases: Sequence[str]) -> tuple[str, str]:
    """Return the release, and where it was not read in the log a sentence that says so.

    Args:
        facts: Of the incident.
        ranges: Releases that print what was found, the deciding words first (``<0.11``, ``>=0.8.2,<0.11``).
        releases: All that are known, oldest first.
    """
    told = str(facts.get("vllm_version") or "")
    if version_key(told) is not None or not releases:
        return told, ""
    wanted = [V0] if facts.get("engine") == "V0" else []
    fitting = [release for release in releases if all(in_range(release, text) for text in wanted)]
    for text in ranges:
        # Words of another program, or of a release that was patched, may contradict: what was found first counts.
        fitting = [release for release in fitting if in_range(release, text)] or fitting
    found, newest = fitting[-1], releases[-1]
    why = "the newest known" if found == newest else "the newest in which this log can have been written"
    return (
        found,
        f"The log does not tell vLLM's release; the fixes are for {found}, {why} (--vllm-version for another).",
    )


def gone_from(ranges: str, release: str) -> str:
    """Return the release from which words with these ``ranges`` are gone, where ``release`` still had them; else ""."""
    bound = ranges.rpartition("<")[2] if "<" in ranges and not ranges.rpartition("<")[2].startswith("=") else ""
    return bound if bound and in_range(release, f"<{bound}") else ""
