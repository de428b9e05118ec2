"""Shell words that remember how they were written, so that what is not changed is printed as it stood; and how values are quoted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from ..masking.mask import mask
from ..patterns.lazy import LazyPattern

SECRET = "<secret>"  # noqa: S105 - what is shown in a secret's place
"""Stands where a secret stood."""

_WORD = LazyPattern(r"(?:[^ \t\r\n'\"\\]|\\[^\r\n]|'[^']*'|\"(?:[^\"\\]|\\[\s\S])*\")+")
_BETWEEN = LazyPattern(r"(?:[ \t\r\n]|\\\r?\n)+")
_QUOTED = LazyPattern(r"'[^']*'|\\.|\"(?P<double>(?:[^\"\\]|\\[\s\S])*)\"")
_EXPANDS = LazyPattern(r"\$[A-Za-z_{(]|`")
_ASSIGNMENT = LazyPattern(r"[A-Za-z_]\w*=")
_SECRET_NAME = LazyPattern(r"(?i)(?:api[_-]?keys?|token|secret|passw(?:or)?d|(?:access|secret)[_-]key(?:[_-]id)?)$")


class Word:
    """One word of a command.

    Attributes:
        value: What the program gets.
        raw: As it stands in the command, quotes included.
        expands: Whether the shell would put a variable's value into it.
    """

    __slots__ = ("expands", "raw", "value")

    def __init__(self, value: str, raw: str | None = None) -> None:
        self.value: str = value
        self.raw: str = quote(value) if raw is None else raw
        self.expands: bool = raw is not None and ("$" in raw or "`" in raw) and _expands(raw)


def _expands(raw: str) -> bool:
    """Return whether a dollar sign or backtick stands where a shell heeds it: bare or in double quotes, no backslash."""
    bare = _QUOTED.sub(lambda found: (found["double"] or "").replace("\\$", "").replace("\\`", ""), raw)
    return bool(_EXPANDS.search(bare))


def split(text: str) -> list[Word]:
    """Return the words of a command, as ``shlex.split`` does; a line that goes on after a backslash is one line.

    Raises:
        ValueError: A quote is not closed.
    """
    words: list[Word] = []
    place = 0
    while place < len(text):
        if gap := _BETWEEN.made.match(text, place):
            place = gap.end()
            continue
        found = _WORD.made.match(text, place)
        if not found:
            raise ValueError(f"a quote is not closed: {text[place : place + 40]}")
        raw = found[0]
        # Most words hold nothing that a shell reads.
        plain = "'" not in raw and '"' not in raw and "\\" not in raw
        words.append(Word(raw if plain else "".join(shlex.split(raw)), raw))
        place = found.end()
    return words


def join(words: Iterable[Word]) -> str:
    """Return the words as one line for a shell."""
    return " ".join(word.raw for word in words)


def quote(value: str) -> str:
    """Return a value as one shell word; of an assignment only what stands after the equals sign is quoted."""
    if found := _ASSIGNMENT.match(value):
        return value[: found.end()] + (shlex.quote(value[found.end() :]) if len(value) > found.end() else "")
    return shlex.quote(value)


def masked(word: Word) -> Word:
    """Return the word without the secrets that its text gives away: ``TOKEN=…`` and what ``mask`` knows."""
    name, equals, value = word.value.partition("=")
    if word.expands and value.startswith("$"):
        return word
    if equals and value and value != SECRET and is_secret(name):
        return Word(f"{name}={SECRET}")
    clean = mask(word.value)
    return word if clean == word.value else Word(clean)


def is_secret(name: str) -> bool:
    """Return whether an option or a variable of this name holds a secret."""
    return bool(_SECRET_NAME.search(name))


def is_assignment(word: Word) -> bool:
    """Return whether a word sets a variable, ``NAME=value``."""
    return bool(_ASSIGNMENT.match(word.value))


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
