"""Lines that were joined, by blanks or by nothing, into one: split again where a line of a log begins."""

from __future__ import annotations

import re

from ...patterns.lazy import LazyPattern
from .starts import ANY, BEGINS, DETAILS, EXCEPTION, PREFIX
from .types import Lines

LEAST, LEAST_ALONE = 4, 2
"""Points from which a line is taken to be several; the second where the line is all that there is."""
SHORTEST = 60
"""A line of fewer characters is taken for one."""
_POINTS = {"record": 2, "frame": 2, "head": 2, "link": 2, "owner": 1, "rank": 1, "access": 1, "other": 1, "below": 0}
_BARE = LazyPattern(r"(?:^|[\s\])])[\w.]{0,80}(?:Error|Exception):\s*$")
"""An exception's name without its message."""
_BLANKS = " \t\xa0"


def unglue(lines: Lines) -> Lines | None:
    """Return the lines with those split that were several; None where none was."""
    alone = len(lines) == 1
    found: Lines = []
    for number, text in lines:
        if len(text) < SHORTEST:
            found.append((number, text))
            continue
        drawn = text.split("\r")  # what a progress bar has drawn over
        parts = [piece for part in drawn for piece in split_glued(part, alone)]
        found += [(number, part) for part in parts] if len(parts) > len(drawn) else [(number, text)]
    return found if len(found) > len(lines) else None


def reglue(lines: Lines) -> Lines | None:
    """Return the lines with each message that stands below its exception's name put behind it; None where none does."""
    found: Lines = []
    for place, (number, text) in enumerate(lines):
        before = found[-1][1] if found else ""
        body = PREFIX.sub("", text, 1).strip()
        if (
            _BARE.search(before)
            and body
            and not BEGINS.match(body)
            and not _goes_on(text, lines[place + 1][1] if place + 1 < len(lines) else "")
            and (PREFIX.match(before) or not PREFIX.match(text))
        ):
            found[-1] = (found[-1][0], f"{before.rstrip()} {body}")
        else:
            found.append((number, text))
    return found if len(found) < len(lines) else None


def _goes_on(text: str, after: str) -> bool:
    """Return whether a line has more of its text below it: a message of several lines is read as it was written."""
    same = len(after) - len(after.lstrip()) == len(text) - len(text.lstrip())
    return (
        bool(same and after.strip())
        and not any(PREFIX.match(line) for line in (text, after))
        and not BEGINS.match(after)
    )


def split_glued(line: str, alone: bool = False) -> list[str]:
    """Return the lines that one line was made of; the line itself where it is one.

    Args:
        line: Without newline and carriage return.
        alone: Whether it is the whole log.
    """
    cuts = _cuts(line, LEAST_ALONE if alone else LEAST)
    pieces, start = [], 0
    for cut in cuts:
        if line[start:cut].strip():
            pieces.append(line[start:cut].rstrip())
        start = cut
    if line[start:].strip() or not pieces:
        pieces.append(line[start:])
    return pieces


def _cuts(line: str, least: int) -> list[int]:
    """Return where lines begin within ``line``, in order; nowhere where they are too few to be sure."""
    cuts: list[int] = []
    points = body = 0
    before, prefixed = "", True  # whether a prefix ends at the body: what follows it is no line of its own
    code = -1  # where what follows the last frame begins
    for mark in ANY.finditer(line):
        kind, at = str(mark.lastgroup), mark.start()
        if code >= 0 and kind != "carets":
            points += _cut_final(line, code, at, cuts)
        if kind == "carets":
            if code >= 0:
                cuts += (_before_blanks(line, body, at), mark.end())
                code = body = mark.end()
            continue
        lone = (
            not line[body:at].strip() and not kind == before == "record"
        )  # a record without words is one all the same
        if not (lone and prefixed):
            # At the blanks before a frame: they are its indentation.
            cuts.append(_before_blanks(line, body, at) if kind == "frame" else at)
            points += _POINTS[kind]
        code = mark.end() if kind == "frame" else -1
        body = mark.end()
        if kind in ("frame", "head", "link"):
            cuts.append(body)
        before, prefixed = kind, kind in ("record", "owner", "rank", "access")
    if code >= 0:
        points += _cut_final(line, code, len(line), cuts)
    return sorted(set(cuts)) if points >= least else []


def _cut_final(line: str, start: int, end: int, cuts: list[int]) -> int:
    """Cut before the exception's own line in what follows a stack; return the points for it."""
    found: re.Match[str] | None = EXCEPTION.search(line, start, end)
    if found is None:
        return 0
    cuts.append(found.start())
    if "validation error" in line[found.end() : found.end() + 40]:
        cuts += [_before_blanks(line, found.end(), part.start()) for part in DETAILS.finditer(line, found.end(), end)]
    return 2


def _before_blanks(line: str, low: int, at: int) -> int:
    """Return where the blanks before ``at`` begin: they are its indentation."""
    while at > low and line[at - 1] in _BLANKS:
        at -= 1
    return at
