"""What the fix changes: a unified diff against what was run, one option a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from .start import Start, takes_no_word
from .words import Word, is_assignment, join


def difference(before: Start, after: Start, facts: Mapping[str, Any]) -> str:
    """Return the diff between two commands, or between the manifests that they stand in."""
    del facts
    lines = unified_diff(_lines(before), _lines(after), "as run", "corrected", lineterm="")
    return "\n".join(lines) + "\n"


def _lines(start: Start) -> list[str]:
    if start.manifest is not None:
        return str(start.manifest.text(start)).splitlines()
    lines = _head(start)
    if start.inner is not None:
        lines += [f"    {line}" for line in _lines(start.inner)]
    else:
        parts = list(start.parts)
        if lines and parts and not parts[0].name and len(parts[0].words) == 1 and start.image < 0:
            lines[-1] += " " + parts.pop(0).words[0].raw
        lines += [f"    {join(part.words)}" for part in parts]
    return [line for whole in [*lines, *([join(start.after)] if start.after else [])] for line in whole.splitlines()]


def _head(start: Start) -> list[str]:
    words = list(start.before)
    lines: list[str] = []
    place = 0
    while place < len(words) and is_assignment(words[place]):
        lines.append(words[place].raw)
        place += 1
    if start.image < 0:
        return [*lines, join(words[place:])] if place < len(words) else lines
    run = next(index for index in range(place, start.image) if words[index].value in ("run", "create"))
    lines.append(join(words[place : run + 1]))
    lines += _options(words[run + 1 : start.image])
    lines.append(f"    {join(words[start.image :])}")
    return lines


def _options(words: Sequence[Word]) -> list[str]:
    lines = []
    place = 0
    while place < len(words):
        count = 1 if takes_no_word(words[place].value) else 2
        lines.append(f"    {join(words[place : place + count])}")
        place += count
    return lines
