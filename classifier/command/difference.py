"""What the fix changes: a unified diff against what was run, one option a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .start import Start, takes_no_word
from .words import Word, is_assignment, join

CONTEXT = 3
"""Lines shown around the change."""


def difference(before: Start, after: Start, facts: Mapping[str, object]) -> str:
    """Return the diff between two commands, or between the manifests that they stand in."""
    del facts
    return "\n".join(["--- as run", "+++ corrected", *hunk(_lines(before), _lines(after))]) + "\n"


def hunk(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the one hunk that turns ``old`` into ``new``; difflib takes longer to import than all forms to make."""
    shorter = min(len(old), len(new))
    first = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    last = next((count for count in range(shorter - first) if old[-count - 1] != new[-count - 1]), shorter - first)
    begin, behind = max(0, first - CONTEXT), max(0, last - CONTEXT)
    spans = [
        f"{begin + 1 if length else begin},{length}"
        for length in (len(old) - behind - begin, len(new) - behind - begin)
    ]
    return [
        f"@@ -{spans[0]} +{spans[1]} @@",
        *(f" {line}" for line in old[begin:first]),
        *(f"-{line}" for line in old[first : len(old) - last]),
        *(f"+{line}" for line in new[first : len(new) - last]),
        *(f" {line}" for line in old[len(old) - last : len(old) - behind]),
    ]


def _lines(start: Start) -> list[str]:
    if start.manifest is not None:
        return start.manifest.text(start).splitlines()
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
