"""Records that a command prints over several lines each: JSON laid out, and YAML."""

from __future__ import annotations

import json

from ...patterns.lazy import LazyPattern
from .order import newest_first
from .types import Lines

_KEYS = "message|@message|log|msg|line|textPayload|MESSAGE|LogEntry|text|event"
_MESSAGE = LazyPattern(rf'\s*"(?:{_KEYS})"\s*:\s*("(?:[^"\\]|\\.)*+")\s*[,\}}\] ]*$')
_PLAIN = LazyPattern(
    r'\s*(?:[\[{]+|[\]}]+[\s,\]}]*|"[^"]{1,80}"\s*:\s*(?:[\[{]+[\s\]}]*,?|"(?:[^"\\]|\\.)*+"[\s\]}]*,?|[-+.\w]{1,40}[\s\]}]*,?)'
    r'|"(?:[^"\\]|\\.)*+",?)\s*$'
)
_STAMP = LazyPattern(r'\s*"(?:timestamp|@timestamp|time|ts)"\s*:\s*"?([^",]{4,60})"?,?\s*$')
_YAML = LazyPattern(r"(?:textPayload|  message): (?P<text>.*)$")
_YAML_PLAIN = LazyPattern(r"(?:---|[A-Za-z]\w{1,40}:(?: .*)?|  [A-Za-z][\w./-]{1,80}: .*|  [A-Za-z][\w-]{1,40}:)$")
SHARE = 0.9
"""Of the lines that are not empty, so many must be a record's."""
LEAST = 3
"""Lines that must be there at all."""


def unrecord(lines: Lines) -> Lines | None:
    """Return the messages of records that were laid out over several lines, oldest first."""
    first = next((line.strip() for _, line in lines if line.strip()), "")
    if len(lines) < LEAST:
        return None
    return _of_yaml(lines) if first == "---" or first.startswith("insertId:") else _of_json(lines)


def _of_json(lines: Lines) -> Lines | None:
    found: list[tuple[str, int, str]] = []
    stamp, pending = "", -1
    strange = full = 0
    for number, line in lines:
        if not line.strip():
            continue
        full += 1
        if message := _MESSAGE.match(line):
            try:
                text = json.loads(message.group(1), strict=False)
            except (ValueError, RecursionError):
                strange += 1
                continue
            found.append((stamp, number, text))
            pending = len(found) - 1
        elif time := _STAMP.match(line):
            stamp = time.group(1)
            if pending >= 0:
                # The time stands before or behind the message: the one that is nearer to it is its own.
                found[pending] = (stamp, *found[pending][1:])
                pending = -1
        elif not _PLAIN.match(line):
            strange += 1
    if not found or strange > (1 - SHARE) * full:
        return None
    return _in_order(found)


def _of_yaml(lines: Lines) -> Lines | None:
    found: list[tuple[str, int, str]] = []
    strange = full = 0
    for number, line in lines:
        full += bool(line.strip())
        if message := _YAML.match(line):
            found.append(("", number, _unquoted(message["text"])))
        elif line.strip() and not _YAML_PLAIN.match(line):
            strange += 1
            if found and line.startswith("  ") and found[-1][1] == number - 1:
                found.append(("", number, line))
    if not found or strange > (1 - SHARE) * full:
        return None
    return _in_order(found)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            pass
    return text


def _in_order(found: list[tuple[str, int, str]]) -> Lines:
    if newest_first([stamp for stamp, _, _ in found if stamp]):
        found.reverse()
    return [
        (number, part) for _, number, text in found for part in text.rstrip("\r\n").replace("\r\n", "\n").split("\n")
    ]
