"""How a text of a log is shown: without secrets, without control characters, not endless."""

from __future__ import annotations

from ..masking.mask import mask

TEXT = 2000
"""Characters of a log line that an answer shows."""


def shown(text: str) -> str:
    """Return a log line as answers show it: on one line, masked, cut to ``TEXT`` characters."""
    # Masked before it is cut: half a token is no longer recognised as one.
    return cut(mask(one_line(text)))


def one_line(text: str) -> str:
    """Return the start of a text on one line, without control characters; enough of it to mask and then to cut."""
    return printable(text[: 2 * TEXT].replace("\n", " "))


def cut(text: str, most: int = TEXT) -> str:
    """Return at most ``most`` characters of a text, and a sign where there were more."""
    return (text if len(text) <= most else text[:most] + " …").rstrip()


def printable(text: str) -> str:
    """Return a text with blanks in place of control characters, its line ends kept."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)
