"""Pages: tags and entities around and within a log."""

from __future__ import annotations

import re

from ...patterns.lazy import LazyPattern
from .types import Lines

_NAMES = (
    "html|head|body|pre|code|div|span|p|br|table|tbody|thead|tr|td|th|ul|ol|li|a|b|i|em|strong|font|details|summary|img|"
    "hr|h[1-6]|kbd|samp|tt|button|section|article|main|header|footer|nav|svg|path|input|label|meta|link|title|"
    "blockquote|small|sub|sup|time|figure|script|style|form|clipboard-copy|tool-tip|relative-time"
)
_TAG = LazyPattern(
    rf"</?(?P<name>{_NAMES})(?:\s[^<>]{{0,2000}})?/?>|<!--[^>]{{0,2000}}-->|<!DOCTYPE[^>]{{0,200}}>", re.IGNORECASE
)
_BREAKS = frozenset(
    ("br", "p", "div", "tr", "li", "pre", "table", "ul", "ol", "hr", "details", "summary", "blockquote", "title")
)
_CELLS = frozenset(("td", "th"))
_UNSEEN = LazyPattern(r"<(script|style|svg|head)\b[^<>]{0,2000}>.*?</\1>", re.IGNORECASE | re.DOTALL)
_ENTITY = LazyPattern(r"&(?:amp;)*(?P<code>quot|lt|gt|amp|nbsp|apos|#\d{1,6}|#x[0-9a-fA-F]{1,5});")
_PLAIN = {"quot": '"', "lt": "<", "gt": ">", "amp": "&", "nbsp": " ", "apos": "'"}
_PROOF = LazyPattern(r"File &quot;|&lt;(?:module|frozen|lambda|listcomp|class)\b|&#(?:39|x27|34|x22);")
_ALONE = LazyPattern(
    r"^\s*(?:</?(?:details|summary|pre|code|br|p|div|p align[^<>]{0,40})(?:\s[^<>]{0,200})?/?>\s*)+$", re.IGNORECASE
)


def unpage(lines: Lines) -> Lines | None:
    """Take off tags, and put characters in the place of entities.

    Every ``<`` must begin a tag: where a log has its own, as in ``in <module>``, it was not made part of a page.
    """
    text = "\n".join(line for _, line in lines)
    tags = sum(1 for _ in _TAG.finditer(text))
    entities = sum(1 for _ in _ENTITY.finditer(text))
    if not tags and not entities:
        return None
    proof = _PROOF.search(text)
    rest = text.count("<") - tags
    if not proof and (rest or (not tags and (entities < 2 or text.count("&") > entities))):
        return _without_lone_tags(lines) if tags else None
    if tags and not rest:
        return _undressed(lines, text)
    found = [(number, _ENTITY.sub(_character, line)) for number, line in lines]
    return found if found != lines else None


def _without_lone_tags(lines: Lines) -> Lines | None:
    """Empty the lines that are nothing but tags: a log in a text of which some parts are HTML."""
    found = [(number, "" if "<" in line and _ALONE.match(line) else line) for number, line in lines]
    return found if found != lines else None


def _undressed(lines: Lines, text: str) -> Lines:
    # What is not seen goes with its newlines kept, so that lines stay lines.
    if "<" in text and _UNSEEN.search(text):
        text = _UNSEEN.sub(lambda found: "\n" * found.group().count("\n"), text)
    found: Lines = []
    for (number, _), line in zip(lines, text.split("\n"), strict=True):
        plain = _TAG.sub(_space, line)
        parts = [_ENTITY.sub(_character, part) for part in plain.split("\r")]
        kept = [part.rstrip("\t") for part in parts if part.strip()]
        found += [(number, part) for part in kept or [""]]
    return found


def _space(found: re.Match[str]) -> str:
    """Return what stands in the place of a tag."""
    name = (found["name"] or "").lower()
    return "\r" if name in _BREAKS else "\t" if name in _CELLS and found.group()[1] == "/" else ""


def _character(found: re.Match[str]) -> str:
    code = found["code"]
    if code[0] != "#":
        return _PLAIN[code]
    value = int(f"0{code[1:]}", 16) if code[1] in "xX" else int(code[1:])
    # Blanks that do not break are indentation; control characters would break lines.
    return (
        " " if value == 160 or value < 32 else chr(value) if value < 0x110000 and not 0xD800 <= value < 0xE000 else ""
    )
