"""Lines outside tracebacks that add nothing to what is known: they neither begin one nor can be an exception's own."""

from __future__ import annotations

from ..input.rare_words import RareWords
from ..patterns.lazy import LazyPattern
from .builder import ERRORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .repeated import Reading
    from .sources import Source

LONGEST = 1024
"""Bytes of a line that is remembered."""
PREFIX = 120
"""Bytes in which vLLM's prefix ends, with whatever a container put in front of it."""
MARK = b"] "
"""Where vLLM's prefix ends."""
LEAP_BYTES = 1 << 15
"""Bytes of lines outside of stacks that are looked at together."""
LOGGED = ("ERROR", "CRITICAL")
_RAISED = ("", *LOGGED)
_MARKS = (b"---", b"Fatal", b"terminate")
_NAMED = LazyPattern(rb"(?:\[?(?:rank\d+|pid \d+)\]?:? )?[A-Za-z_][\w.]*(?:\([\w.]*\))?(?::|$)")
"""What begins like an exception's own line."""
_SIGNS = RareWords((
    b".py", b"(most recent call ", b"above exception", b'File "', b"Error: ", b"Exception: ", b"): ",
    b"\n(", *(b"\n" + mark for mark in _MARKS),
))  # fmt: skip
"""What may belong to a traceback, or name an exception within a sentence; and how a line begins that may."""


def says_nothing(body: bytes, level: str) -> bool:
    """Return whether a line is such a one.

    Args:
        body: The line without its prefix.
        level: At which it was logged; "" where it was not.
    """
    if (  # a loop over it would take twice as long
        b".py" in body or b"(most recent call " in body or b"above exception" in body or b'File "' in body
        or b"Error: " in body or b"Exception: " in body or b"): " in body
        or not body.isascii() or body.startswith(_MARKS)
    ):  # fmt: skip
        return False
    return level not in _RAISED or _NAMED.match(body) is None


def say_nothing(bodies: list[bytes], level: str) -> bool:
    """Return whether each of some lines is such a one, and none begins with a parenthesis, which may name a process.

    Args:
        bodies: The lines without their prefix.
        level: At which all of them were logged.
    """
    text = b"\n" + b"\n".join(bodies)
    if not text.isascii() or _SIGNS.any_in(text):
        return False
    return level not in _RAISED or _begin_plainly(bodies) or not any(map(_NAMED.match, bodies))


def _begin_plainly(bodies: list[bytes]) -> bool:
    """Return whether lines begin with the same word and a blank, so that none of them begins like an exception's own."""
    first = min(bodies)
    word = first[: first.find(b" ") + 1]
    if not word or b":" in word or word.lstrip(b"[").startswith((b"rank", b"pid")):
        return False
    # What lies between two lines in their order begins with all that both begin with.
    return max(bodies).startswith(word)


def run_of(data: bytes, start: int, prefix: bytes, most: int) -> list[bytes]:
    """Return the lines from ``start`` on that begin with a prefix, without it, as long as they stand next to one another.

    Args:
        data: A block of lines.
        start: Where a line begins.
        prefix: Not empty.
        most: Bytes of the block that are looked at; a line that goes on beyond them is left out.
    """
    text = data[start : data.rfind(b"\n", start, start + most) + 1]
    if not text.startswith(prefix):
        return []
    lines = text[len(prefix) : -1].split(b"\n" + prefix)
    if text.count(b"\n") > len(lines):
        other = next(place for place, line in enumerate(lines) if b"\n" in line)
        lines[other:] = [lines[other].partition(b"\n")[0]]
    return lines


def adding_nothing(data: bytes, start: int, most: int, prefix: bytes, source: Source, reading: Reading) -> list[bytes]:
    """Return the lines from ``start`` on that begin with a prefix, without it; none where one of them may add something.

    Whether rules wait for something in them is not asked.

    Args:
        data: A block.
        start: Where a line begins there.
        most: Bytes that are looked at.
        prefix: Not empty.
        source: Who writes with this prefix.
        reading: Stands before the line.
    """
    if source.level in LOGGED and len(reading.incident.errors) < ERRORS:
        return []
    lines = run_of(data, start, prefix, most)
    short = lines and max(map(len, lines)) < LONGEST - PREFIX
    return lines if short and say_nothing(lines, source.level) else []
