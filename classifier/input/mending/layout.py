"""What stands before every line: marks of quotation, line numbers of an editor, indentation."""

from __future__ import annotations

from ...patterns.lazy import LazyPattern
from .types import Lines

SHARE = 0.8
"""Of the lines that are not empty, so many must bear a mark."""
ALL = 0.95
"""Of the lines that are not empty, so many must be indented."""
_QUOTE = LazyPattern(r"(?:[ \t]{0,3}(?:>|&gt;)[ \t]?){1,6}")
_FIRST = LazyPattern(r"\d{1,6}")
_SIGNS = (" | ", " \u2502 ", ": ", ":", "| ", "|", "\u2502", ". ", ") ", "\t", " ")
"""What may stand between a number and its line; only where nearly all lines have it."""
MARKS = (
    LazyPattern(r"[-*\u2022] (?=.)"), LazyPattern(r"\+(?!\+)"), LazyPattern(r"`(?=[^`]*`\s*$)"),
    LazyPattern(r"\[\d{1,2}:\d\d(?::\d\d)?(?: [AP]M)?\] ?<?@?[\w.-]{1,30}>?: "),
)  # fmt: skip
"""What may stand before each line of a list, a diff, lines in inline code, a chat."""
_PLACE = LazyPattern(
    r"\s{0,8}(?P<path>(?:[~.]?/)?(?:[\w.\-]+/)+[\w\-]+\.py):(?P<number>\d{1,7})\s{1,16}(?:in )?(?P<function>[a-z_][\w.]*)(?:\(\))?"
)
"""A frame of a stack as people write it: ``vllm/v1/engine/core.py:666  step``."""
PLACES = 2
LEAST, MARKED = 4, 3
"""Lines that count up, and lines that bear a mark."""


def unquote(lines: Lines) -> Lines | None:
    """Take off ``>``, where nearly all lines begin with it: what quoting has wrapped is joined later."""
    full = sum(1 for _, line in lines if line.strip())
    if sum(1 for _, line in lines if line.lstrip(" \t")[:1] == ">" or line.startswith("&gt;")) < max(1, SHARE * full):
        return None
    found = []
    for number, line in lines:
        mark = _QUOTE.match(line)
        found.append((number, line[mark.end() :] if mark else line))
    return found


def unmark(lines: Lines) -> Lines | None:
    """Take off what a list, a diff, inline code or a chat puts around each line, where nearly all lines have the same."""
    full = [line for _, line in lines if line.strip()]
    if len(full) < MARKED:
        return None
    mark = next((each for each in MARKS if sum(each.match(line) is not None for line in full) >= ALL * len(full)), None)
    if mark is None:
        return None
    found = []
    for number, line in lines:
        around = mark.match(line)
        rest = line[around.end() :] if around else line
        found.append((number, rest.rstrip().removesuffix("`") if around and around.group() == "`" else rest))
    return found


def dedent(lines: Lines) -> Lines | None:
    """Take off the indentation that nearly all lines have in common: of a block within a note, or a list."""
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for _, line in lines if line.strip()]
    if len(indents) < LEAST:
        return None
    for sign in "\t ":
        sizes = sorted(len(indent) - len(indent.lstrip(sign)) for indent in indents)
        if common := sizes[int(len(sizes) * (1 - ALL))]:
            return [(number, line[len(_leading(line, sign)[:common]) :]) for number, line in lines]
    return None


def _leading(line: str, sign: str) -> str:
    return line[: len(line) - len(line.lstrip(sign))]


def unnumber(lines: Lines) -> Lines | None:
    """Take off line numbers, where nearly all lines have one and they count up."""
    texts = [line.lstrip(" \t") for _, line in lines]
    first = _FIRST.match(texts[0]) if len(lines) >= LEAST else None
    if first is None:
        return None
    for size in range(1, len(first.group()) + 1):
        start = int(first.group()[:size])
        rests = [
            text.removeprefix(str(value)) if text.startswith(str(value)) else None
            for value, text in enumerate(texts, start)
        ]
        if sum(rest is not None for rest in rests) >= SHARE * len(lines):
            return _without(lines, rests)
    return None


def _without(lines: Lines, rests: list[str | None]) -> Lines:
    """Return what follows the numbers, without what divides them from it."""
    told = [rest for rest in rests if rest]
    sign = next((sign for sign in _SIGNS if sum(rest.startswith(sign) for rest in told) >= SHARE * len(told)), "")
    return [
        (number, line if rest is None else rest.removeprefix(sign))
        for (number, line), rest in zip(lines, rests, strict=True)
    ]


def restack(lines: Lines) -> Lines | None:
    """Write frames as Python does, where a stack was copied by hand: two of them at least."""
    found = {at: place for at, (_, line) in enumerate(lines) if ".py:" in line and (place := _PLACE.fullmatch(line))}
    if len(found) < PLACES:
        return None
    return [
        (
            number,
            '  File "{path}", line {number}, in {function}'.format_map(found[at].groupdict()) if at in found else line,
        )
        for at, (number, line) in enumerate(lines)
    ]
