"""From damaged text to the log that it was: one form of damage after the other, until nothing changes any more."""

from __future__ import annotations

from typing import NamedTuple

from ..decode import Cleaner, drop_prompts
from ..numbers import Mended
from .characters import straighten, unescape
from .glued import reglue, unglue
from .layout import dedent, restack, unmark, unnumber, unquote
from .nested import uncell, unnest
from .page import unpage
from .records import unrecord
from .table import untable
from .types import Form, Lines
from .wrapped import unwrap

OUTER: tuple[Form, ...] = (
    straighten, unquote, unmark, dedent, unpage, untable, uncell, unrecord, unnest, unescape, unnumber, restack, unwrap,
)  # fmt: skip
"""What stands around the log, outermost first."""
INNER: tuple[Form, ...] = (unglue, unwrap, reglue)
"""What can be told only once colours and collectors' records are gone."""
FLAT = 3
"""Lines up to which a text has lost its newlines, if it is a log: what users wrote is cut off only once it is split."""
ROUNDS = 6
"""Damage within damage; a text that goes on changing after so many rounds is none that anybody pasted."""


class Text(NamedTuple):
    """Mended lines as one block."""

    data: bytes
    mended: Mended


def mend(data: bytes, cleaner: Cleaner) -> Text | None:
    """Return whole lines mended and cleaned; None where there is nothing to mend.

    Args:
        data: Decoded, not yet cleaned.
        cleaner: What cleans; where the text was wrapped in something, it looks at what was inside.
    """
    end = data.endswith(b"\n")
    text = data.decode("utf-8", "surrogateescape")
    lines = list(enumerate(text.replace("\r\n", "\n").split("\n"), 1))
    if end:
        lines.pop()
    now, damaged = _mended(lines, cleaner)
    if not damaged:
        return None
    for _ in range(ROUNDS):
        before, (now, _) = now, _mended(now, cleaner)
        if now == before:
            mended = _joined(now) + (b"\n" if end and now else b"")
            return Text(mended, Mended([number for number, _ in now], data.count(b"\n")))
    return None


def _mended(lines: Lines, cleaner: Cleaner) -> tuple[Lines, bool]:
    """Return lines with one layer of damage undone, and cleaned; and whether there was any damage."""
    outer = _settled(lines, OUTER)
    inside = _joined(outer)
    if outer is not lines:
        cleaner.look(inside)
    flat = len(outer) <= FLAT
    cleaned = _split(cleaner.clean(inside, prompts=flat), outer)
    inner = _settled(cleaned, INNER)
    damaged = outer is not lines or inner is not cleaned or len(cleaned) > len(outer)
    if flat:
        plain = drop_prompts(_joined(inner)).decode("utf-8", "surrogateescape").split("\n")
        inner = [(number, text) for (number, _), text in zip(inner, plain, strict=True)]
    return inner, damaged


def _settled(lines: Lines, forms: tuple[Form, ...]) -> Lines:
    """Return the lines after as many rounds as change them; the very same where none does, or where it never ends."""
    now = lines
    for _ in range(ROUNDS):
        before = now
        for form in forms:
            now = form(now) or now
        if now is before:
            return now
    return lines


def _joined(lines: Lines) -> bytes:
    return "\n".join(text for _, text in lines).encode("utf-8", "surrogateescape")


def _split(data: bytes, lines: Lines) -> Lines:
    """Return cleaned lines, as many as before, with their numbers; what a collector's record held of several on its own."""
    found: Lines = []
    for (number, before), text in zip(lines, data.decode("utf-8", "surrogateescape").split("\n"), strict=True):
        if "\r" in text and before.lstrip()[:1] in ("{", "["):
            found += [(number, part) for part in text.split("\r") if part]
        else:
            found.append((number, text))
    return found
