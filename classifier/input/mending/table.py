"""Tables: what a log viewer or a spreadsheet exports, one record a row, the line of the log in one of its cells."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ...patterns.lazy import LazyPattern
from .order import newest_first
from .starts import BEGINS
from .types import Lines

NAMES = (
    "message", "@message", "log", "msg", "line", "textpayload", "text", "log message", "logmessage", "log_message", "body",
    "content", "event", "_raw", "raw", "jsonpayload.message", "log line", "log.message", "description",
)  # fmt: skip
"""What viewers call the column that holds the line, the surest first."""
TIMES = ("timestamp", "@timestamp", "time", "date", "_time", "datetime", "timegenerated", "receivetimestamp", "ts")
TALLEST = 400
"""Lines in one cell."""
_STAMP = LazyPattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?$|\d{10,19}$")
_HEAD = LazyPattern(r"[\w @./()\[\]{}:#-]{0,60}$")
GIVEN_UP = 3
"""Cells that are opened and never closed after which it is no table."""


class Row(NamedTuple):
    """One record: its cells, each with the number of the line that it begins in."""

    cells: list[tuple[int, str]]
    quoted: bool = False
    """Whether it begins with a quote."""


def untable(lines: Lines) -> Lines | None:
    """Return what the cells of the messages hold, oldest first."""
    if len(lines) < 2:
        return None
    for sign in (",", ";", "\t"):
        if sum(1 for _, line in lines[:40] if sign in line) * 2 >= min(len(lines), 40) or sign in lines[0][1]:
            rows = _rows(lines, sign)
            if rows is not None and (column := _column(rows)) is not None:
                return _messages(rows, sign, *column)
    return None


def _rows(lines: Lines, sign: str) -> list[Row] | None:
    rows: list[Row] = []
    at = failures = 0
    while at < len(lines):
        number, line = lines[at]
        row, used = _row(lines, at, sign)
        if row is None:
            failures += 1
            if failures > GIVEN_UP:
                return None
            row, used = Row([(number, line)]), 1
        rows.append(row)
        at += used
    return rows


def _row(lines: Lines, at: int, sign: str) -> tuple[Row | None, int]:
    """Return the row that begins in a line, and how many lines it takes; None where a cell is never closed."""
    cells: list[tuple[int, str]] = []
    used = 1
    number, line = lines[at]
    position = 0
    while True:
        if line[position : position + 1] != '"':
            end = line.find(sign, position)
            end = len(line) if end < 0 else end
            cells.append((number, line[position:end]))
        else:
            begun, parts = number, []
            start = position + 1
            while (end := _closing(line, start, sign)) < 0:
                parts.append(line[start:])
                if used >= TALLEST or at + used >= len(lines):
                    return None, 1
                number, line = lines[at + used]
                used += 1
                start = 0
            parts.append(line[start:end])
            cells.append((begun, "\n".join(parts).replace('""', '"')))
            end += 1
        if end >= len(line):
            return Row(cells, lines[at][1][:1] == '"'), used
        position = end + 1


def _closing(line: str, start: int, sign: str) -> int:
    """Return where the quote stands that closes a cell; -1 where it goes on in the next line."""
    at = start
    while (at := line.find('"', at)) >= 0:
        if line[at + 1 : at + 2] == '"':
            at += 2
            continue
        if line[at + 1 : at + 2] in ("", sign):
            return at
        at += 1
    return -1


def _column(rows: list[Row]) -> tuple[int, int, int, int] | None:
    """Return the column of the message and that of the time (-1: none), the first row of the body, and the width."""
    head = [cell.strip(" \ufeff").lower() for _, cell in rows[0].cells]
    width = Counter(len(row.cells) for row in rows).most_common(1)[0][0]
    named = next((head.index(name) for name in NAMES if name in head), -1)
    if named >= 0 and len(head) > 1 and all(_HEAD.match(cell) for cell in head):
        time = next((head.index(name) for name in TIMES if name in head), -1)
        return named, time, 1, len(head)
    if width < 2 or len(rows) < 3 or sum(1 for row in rows if len(row.cells) == width) < 0.8 * len(rows):
        return None
    body = [row for row in rows if len(row.cells) == width]
    if sum(1 for row in body if row.quoted or _STAMP.match(row.cells[0][1])) < 0.8 * len(body):
        # Any list of words with commas has as many in each line.
        return None
    votes = [
        sum(1 for row in body if BEGINS.match(row.cells[column][1]) and not _STAMP.match(row.cells[column][1]))
        for column in range(width)
    ]
    best = max(range(width), key=votes.__getitem__)
    return (best, -1, 0, width) if votes[best] >= 2 and votes[best] >= 0.2 * len(body) else None


def _messages(rows: list[Row], sign: str, column: int, time: int, first: int, width: int) -> Lines:
    body = rows[first:]
    if time >= 0:
        stamps = [row.cells[time][1] for row in body if len(row.cells) == width and row.cells[time][1]]
        body = body[::-1] if newest_first(stamps) else body
    found: Lines = []
    for row in body:
        # More cells than there are columns: the message was not quoted, and holds the sign between cells.
        more = len(row.cells) - width
        cells = row.cells[column : column + 1 + more] if more >= 0 else row.cells
        number, text = cells[0][0], sign.join(cell for _, cell in cells)
        found += [(number + place, part) for place, part in enumerate(text.split("\n"))]
    return found
