"""Lines of the log on a terminal: a gutter with the line number, the numbers that decide emphasised, cut without losing sight."""

from __future__ import annotations

import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ...classifier.lines.prefix import split_line
from ...classifier.report.model import Report

NARROW = 56
"""Columns below which lines of the log stand without their process."""
ROWS = 3
"""Rows that the first line of evidence may take without -v; others take one."""
NAME = 26
"""Columns that the name of a process may take."""
LONG_WORD = 24
"""Columns that may stay empty at the end of a row that is cut; a longer word is cut within."""
NUMBER = re.compile(r"(?<![\w.])\d[\d,_]*(?:\.\d+)?(?!\w|\.\d)(?: ?(?:[KMGT]i?B|%|tokens)\b)?")
LONG_PATH = re.compile(r"""(?<=["' (=])(?:/[^/\s"']+){2,}(?=(?:/[^/\s"']+){2})""")
"""The head of a path that may go where room is short: what a frame is known by is its end."""


def proof(report: Report, console: Console, *, verbose: bool, file: str) -> list[Text]:
    """Return what the report rests on: the evidence, what was raised from it, and the wrapper that people see first.

    Args:
        report: The answer.
        console: For its width.
        verbose: Whether all lines are shown, uncut.
        file: The log's path, where line numbers are to be links to it; "" where not.
    """
    some = None if verbose else 1
    own = [item for item in report.evidence if not item.mark][: None if verbose else 2]
    rows = [(item, "") for item in (*own, *report.chain[:some])]
    wrapper = "  ← only a symptom" if console.width >= NARROW else "  ← symptom"
    rows += [(item, wrapper) for item in (report.symptoms if verbose else report.symptoms[-1:])]
    number = max((len(str(item.line)) for item, _ in rows), default=0)
    name = min(NAME, max((len(item.process) for item, _ in rows), default=0)) if console.width >= NARROW else 0
    told = deciding_numbers(report)
    lines = []
    for index, (item, role) in enumerate(rows):
        link = f" link {Path(file).resolve().as_uri()}#{item.line}" if file else ""
        process = f"{item.process[:name]:<{name}}  " if name else ""
        head = Text.assemble("  ", (f"{item.line:>{number}}", f"bold{link}"), (" │ ", "dim"), (process, "dim"))
        below = Text.assemble(" " * (number + 2), (" │ ", "dim"), " " * len(process))
        note = Text((f"  × {item.count}" if item.count > 1 else "") + role, "dim")
        width, limit = max(20, console.width - head.cell_len - note.cell_len), 0 if verbose else 1 if index else ROWS
        style = "dim" if role else "" if index else "bold"
        plain = without_prefix(item.text)
        wrapped = _rows(_line(plain, style, told), console, width)
        if limit and len(wrapped) > limit:
            wrapped = _cut(_rows(_line(LONG_PATH.sub("…", plain), style, told), console, width), width, limit)
        wrapped[-1].append_text(note)
        lines += [(below if at else head) + row for at, row in enumerate(wrapped)]
    return [Text(), *lines] if lines else []


def deciding_numbers(report: Report) -> frozenset[str]:
    """Return the numbers that the answer rests on: those of its summary, and of the changes that it proposes."""
    texts = [report.title, report.summary, *(fix.change for fix in report.fixes[:3])]
    # A figure of one digit stands in any text.
    return frozenset(value for text in texts for found in NUMBER.findall(text) if len(value := _value(found)) > 1)


def without_prefix(text: str) -> str:
    """Return a line without the prefix that is shown beside it."""
    return split_line(0, text).text.strip() or text


def _value(number: str) -> str:
    return re.sub(r"[^\d.]", "", number)


def _line(plain: str, style: str, told: frozenset[str]) -> Text:
    text = Text(plain, style)
    for found in NUMBER.finditer(plain if style != "dim" else ""):
        if _value(found[0]) in told:
            text.stylize("bold red", *found.span())
    return text


def _rows(text: Text, console: Console, width: int) -> list[Text]:
    rows = list(text.wrap(console, width)) or [Text()]
    for row in rows:
        row.rstrip()
    return rows


def _cut(rows: list[Text], width: int, limit: int) -> list[Text]:
    """Return at most ``limit`` rows: the last by letters, for a long word (a path, a list) is no reason to show nothing."""
    if len(rows) <= limit:
        return rows
    last = Text(" ").join(rows[limit - 1 :])
    last.truncate(width - 2)
    if (space := last.plain.rstrip().rfind(" ")) > width - LONG_WORD:
        last.truncate(space)
    return [*rows[: limit - 1], last.append(" …" if space > width - LONG_WORD else "…")]
