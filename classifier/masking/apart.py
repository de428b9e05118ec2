"""Secrets whose name stands on another line: environments and arguments in YAML, JSON, Terraform, XML, commands over lines."""

from __future__ import annotations

from collections.abc import Iterable

from ..patterns.lazy import LazyPattern
from .named import SECRET, WORDS, is_secret_value

REACH = 4
"""Lines within which a value follows its name, or goes before it."""
WIDEST = 600
"""Characters of the end of a line that are looked at."""
_MARKS = r"[\"'`\\]{0,4}"
_ROW = LazyPattern(rf"(?i)\b(?:name|key){_MARKS}[ \t]*[:=>][ \t]*{_MARKS}(?P<name>[\w.-]{{2,80}})(?!.*\bvalue)")
"""A name that has its value beside it, in a table."""
_NAME = LazyPattern(
    r"(?i)(?<![a-z0-9_.-])(?P<name>--[a-z][\w-]{1,60}(?=[\"'`\\, \t]{0,8}$)|[\w.-]{2,60}(?=[\"'`]{0,4}[ \t]*[:=]))"
    r"[\"'`\\]{0,4}[ \t]*[,:=]?[ \t]*[>|]?[+-]?[ \t]*\\?\s*$"
)
"""A name that ends its line: an option, or with the sign that ties it to its value."""
_VALUE = LazyPattern(
    rf"(?i)\bvalue{_MARKS}[ \t]*(?:[:=>][ \t]*{_MARKS}(?P<value>[^\s\"'\\<>|].*?){_MARKS}(?:</\w+>)?[,;]?|:[ \t]*[>|]?[+-]?)\s*$"
)
_WORD = r"[^\s\"'\\,<>]{4,}"
_BELOW = LazyPattern(rf"(?P<before>.*?)(?:(?:-[ \t]+[\"']?|[\"'])(?P<item>{_WORD}).*|(?P<word>{_WORD})[\"'\\, \t]*)$")
"""What stands below a name: an item of a list, or a word alone."""
_FIRST = LazyPattern(r"[^\s`\"'\\;)\x1b]+")
_NOTHING = LazyPattern(r"(?i)(?:^|[\s\]|])(?:#.*|valueFrom[\"']?:.*|)$")
"""What may stand between a name and its value: nothing, a comment."""
_FIGURES = str.maketrans("123456789", "000000000")


def hide_apart(lines: Iterable[str]) -> list[str]:
    """Return lines that follow each other, in which values are replaced that have their names on other ones."""
    found = list(lines)
    for place, line in enumerate(found):
        end = line[-WIDEST:]
        lowered = end.lower()
        if not any(word in lowered for word in WORDS):
            continue
        if name := _ROW.search(end):
            at = _beside(found, place)
        elif name := _NAME.search(end):
            at = _below(found, place, place)
        if name is not None and at is not None:
            number, start, stop = at
            if (value := _FIRST.match(found[number], start)) and is_secret_value(name["name"], value[0]):
                found[number] = found[number][:start] + SECRET + found[number][stop:]
    return found


def _beside(lines: list[str], place: int) -> tuple[int, int, int] | None:
    """Return where the value of a table's row stands (line, begin, end): behind its name, else before it."""
    for way in (range(place + 1, place + 1 + REACH), range(place - 1, place - 1 - REACH, -1)):
        for at in way:
            if not 0 <= at < len(lines) or _ROW.search(lines[at][-WIDEST:]):
                break
            if len(lines[at]) <= WIDEST and (value := _VALUE.search(lines[at])):
                return (at, *value.span("value")) if value["value"] else _below(lines, place, at)
    return None


def _below(lines: list[str], name: int, place: int) -> tuple[int, int, int] | None:
    """Return where a value stands below its name, behind nothing but what stands before the name as well."""
    for at in range(place + 1, min(place + 1 + REACH, len(lines))):
        if _NOTHING.search(lines[at][:WIDEST]):
            continue
        value = _BELOW.match(lines[at])
        before = value["before"].rstrip().translate(_FIGURES) if value is not None else ""
        if value is None or not lines[name].translate(_FIGURES).startswith(before):
            return None
        return at, *value.span("item" if value["item"] else "word")
    return None
