"""Characters that a word processor, a terminal or a programming language has put in place of others."""

from __future__ import annotations

import re

from ...patterns.lazy import LazyPattern
from .starts import BEGINS
from .types import Lines

_BYTES = LazyPattern(r"(?:%[0-9A-Fa-f]{2})+")
_QUOTES = str.maketrans(
    {**dict.fromkeys("\u201c\u201d\u201e\u201f", '"'), **dict.fromkeys("\u2018\u2019\u201a\u201b", "'")}
)
_BLANKS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2007": " ", "\u2026": "..."})
_FRAME = LazyPattern("File [\u201c\u201d\u201e]")
_OPTION = LazyPattern(r"(?:(?<=\s)|(?<=^)|(?<=['\"`(\[=]))[\u2013\u2014](?=[a-z][a-z0-9]*(?:[-_ =.]|$))")
_DASH = LazyPattern(r"(?<= )[\u2013\u2014](?= )")
_NEWLINE = LazyPattern(r"\\{1,4}(?:r\\{1,4})?n(?:['\"], ?['\"])?")
_SAID = LazyPattern(r"""\b(?:prompt|output|content|text)['"]?: (?P<mark>['"])(?:\\.|(?!(?P=mark)).)*(?P=mark)""")
"""What a request or an answer says, as a server logs it: no line of the log begins within."""
_RECORDS = ('{"', '[{"', '[ {"', '{ "')
"""How a collector's record begins, that will be read as what it is."""


def straighten(lines: Lines) -> Lines | None:
    """Undo typography: curly quotes, dashes for ``--``, dots in one, blanks that do not break.

    Only where the straight characters are missing: who typed both meant both.
    """
    text = "\n".join(line for _, line in lines)
    curly = sum(map(text.count, "\u201c\u201d\u201e"))
    single = sum(map(text.count, "\u2018\u2019"))
    dashes = len(_OPTION.findall(text))
    typeset = (curly and curly > text.count('"')) or (single and single > text.count("'")) or bool(_FRAME.search(text))
    blanks = text.count("\u00a0")
    carets = text.count("^M")
    if not (typeset or blanks or carets or dashes):
        return None
    if typeset:
        text = _DASH.sub("-", text.translate(_QUOTES))
    if typeset or dashes:
        text = _OPTION.sub("--", text)
    if typeset or blanks:
        text = text.translate(_BLANKS)
    changed = text.split("\n")
    if carets:
        changed = [line.removesuffix("^M") for line in changed]
    found = [(number, line) for (number, _), line in zip(lines, changed, strict=True)]
    return found if found != lines else None


def unescape(lines: Lines) -> Lines | None:
    r"""Undo the writing of newlines as ``\n``, where lines of a log begin behind them."""
    found: Lines = []
    for number, line in lines:
        if line.count("%20") > 2 and " " not in line.strip():  # out of an address
            found += [(number, part) for part in _unquoted(line).split("\n")]
            continue
        if (
            "\\n" not in line
            or line.lstrip().startswith(_RECORDS)
            or not any(BEGINS.match(line, at.end()) for at in _newlines(line))
        ):
            found.append((number, line))
            continue
        plain, done = "", 0
        for newline in _newlines(line):
            plain += line[done : newline.start()] + "\n"
            done = newline.end()
        plain = (plain + line[done:]).replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'")
        found += [(number, part) for part in plain.split("\n")]
    return found if found != lines else None


def _newlines(line: str) -> list[re.Match[str]]:
    """Return where a line writes a newline, but for those in what a request or an answer says."""
    said = [found.span() for found in _SAID.finditer(line)]
    return [at for at in _NEWLINE.finditer(line) if not any(start < at.start() < end for start, end in said)]


def _unquoted(line: str) -> str:
    """Return a part of an address with the characters that its bytes in hexadecimal stand for."""
    return _BYTES.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), line)
