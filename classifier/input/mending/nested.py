"""Lines within records: what a JSON text anywhere in a line holds, to any depth, and what a Markdown table's cells hold."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from ...patterns.lazy import LazyPattern
from .types import Lines

FEW = 3
"""Lines up to which a text may be one literal of a program: in a log such is a request's prompt."""
LAID_OUT = 60
"""Lines of a record that is laid out over several."""
DEEPEST = 8
"""Records within records."""
LONGEST = 1 << 20
"""Characters of a line that is looked at."""
_OPENS = LazyPattern(r'[{\[]\s*"')
_COLLECTED = LazyPattern(r'\s*\[?\s*\{[^{}]*"(?:message|@message|log|msg|line|textPayload|MESSAGE)"\s*:\s*"')
"""A collector's record, that will be read as what it is."""
_LITERAL = LazyPattern(
    r"""(?<![\w'"])(?:^\[['"].*['"]\]|b?"(?:[^"\\]|\\.){40,}"|b?'(?:[^'\\]|\\.){40,}')(?=[)\],;}]*\s*$)"""
)
_DECODER = json.JSONDecoder(strict=False)
_RULE = LazyPattern(r"\|(?:\s*:?-{2,}:?\s*\|)+\s*$")


def unnest(lines: Lines) -> Lines | None:
    """Return the lines with those opened that hold a record whose values are several lines each; None where none does."""
    if lines[0][1].lstrip()[:1] in ("{", "[") and len(lines) <= LAID_OUT and any("\\n" in line for _, line in lines):
        held = _held("\n".join(line for _, line in lines).lstrip())
        if any("\n" in text.rstrip("\n") for text in held):
            at = max(lines, key=lambda item: len(item[1]))[0]
            return [(at, part) for text in held for part in _whole(text).rstrip("\n").split("\n")]
    found: Lines = []
    for number, line in lines:
        asked = ("\\n" in line or line.startswith("['")) and len(line) < LONGEST and not _COLLECTED.match(line)
        opened = _OPENS.search(line) if asked else None
        held = _held(line[opened.start() :]) if opened is not None else []
        if asked and not held and len(lines) <= FEW and (opened := _LITERAL.search(line)) is not None:
            held = _written(opened.group())
        if opened is not None and any("\n" in text.rstrip("\n") for text in held):
            found += [(number, line[: opened.start()])] if line[: opened.start()].strip() else []
            found += [(number, part) for text in held for part in _whole(text).rstrip("\n").split("\n")]
        else:
            found.append((number, line))
    return found if len(found) > len(lines) else None


def _held(text: str) -> list[str]:
    """Return the texts of a record that are lines, in order; of one that is broken off none."""
    try:
        value, _ = _DECODER.raw_decode(text)
        return [said for said in _texts(value, DEEPEST) if "\n" in said or " " in said]
    except (ValueError, RecursionError):
        return []


def _whole(text: str) -> str:
    """Return a text with halves of characters, which escapes can write, put together or replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _written(literal: str) -> list[str]:
    """Return the lines of a string, or of a list of strings, as Python writes it; nothing where it is neither."""
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    texts = value if isinstance(value, list) else [value]
    return ["\n".join(texts)] if all(isinstance(each, str) for each in texts) else []


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list) and depth:
        for each in value:
            yield from _texts(each, depth - 1)
    elif isinstance(value, str):
        inner = value.strip()
        opened = depth and inner[:1] in ("{", "[") and "\\n" in inner and _OPENS.match(inner)
        yield from (_held(inner) or [value]) if opened else [value]


def uncell(lines: Lines) -> Lines | None:
    """Return what the widest column of a Markdown table holds, with what stands around the table; None where there is none."""
    at = next((place for place, (_, line) in enumerate(lines) if _RULE.match(line.strip())), 0)
    if not at:
        return None
    columns = lines[at][1].strip().count("|") - 1
    behind = next(
        (place for place in range(at + 1, len(lines)) if not lines[place][1].lstrip().startswith("|")), len(lines)
    )
    rows = [
        line.strip().removeprefix("|").removesuffix("|").split("|", columns - 1) for _, line in lines[at + 1 : behind]
    ]
    if not rows or any(len(row) != columns for row in rows):
        return None
    widest = max(range(columns), key=lambda column: sum(len(row[column]) for row in rows))
    cells = [
        (number, row[widest].removeprefix(" ").rstrip())
        for (number, _), row in zip(lines[at + 1 : behind], rows, strict=True)
    ]
    return [*lines[: at - 1], *cells, *lines[behind:]]
