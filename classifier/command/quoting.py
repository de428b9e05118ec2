"""Values from a log as words of a command: whoever wrote the log must not decide what a pasted command runs."""

from __future__ import annotations

import re

from ..patterns.lazy import LazyPattern

_PLAIN = LazyPattern(r"(?:~/)?[\w@%+=:,./-]+", re.ASCII)
"""Words that a shell takes as they stand."""
_SPECIAL = LazyPattern(r"['\"\\$`!]")
"""What may end a quotation, or is expanded within one."""
_ACTIVE = LazyPattern(r"[$`;&|\\]")
"""What makes a shell do something else than read a word."""


def as_word(value: str, before: str) -> str | None:
    """Return a value as one word of a command, quoted where a shell would read more into it.

    Args:
        value: A capture, or a fact.
        before: The text of the command up to it: within quotes that are open there it cannot be quoted once more.

    Returns:
        The value itself where it is an ordinary word; None where nothing makes it safe.
    """
    if _PLAIN.fullmatch(value):
        return value
    if not value.isprintable():
        return None
    if _is_quoted(before):
        return None if _SPECIAL.search(value) else value
    return quoted(value)


def in_prose(value: str) -> str | None:
    """Return a value for a sentence that may hold a command: as it stands, unless a shell would do something with it."""
    if not value.isprintable():
        return None
    return quoted(value) if _ACTIVE.search(value) else value


def quoted(value: str) -> str:
    """Return ``value`` as a shell's word, in quotes where it needs them."""
    import shlex

    return shlex.quote(value)


def _is_quoted(text: str) -> bool:
    """Return whether a quotation is open at the end of ``text``; a remark (``# …``) opens none."""
    quote = ""
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and text[at - 1 : at] == " ":
            return False
        at += 1
    return bool(quote)
