"""Tells a statement that was only put otherwise from one that was rewritten: names changed, arguments added or left out."""

from __future__ import annotations

import keyword
import re

_TEXT = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_WORD = re.compile(r"[^\W\d]\w*")
_NAME = re.compile(r"(?<![\w.\"'])[^\W\d][\w.]*")
_PART = re.compile(r"[a-zA-Z]+")
_ARGUMENT = re.compile(r"N=(?:N|True|False|None|\d+)(?=[,)])")
_ROW = re.compile(r"N(?:,N)+")
_COMMAS = re.compile(r",(?=[,)\]])|(?<=[(\[]),+")
_ALIKE = 0.5
"""Share of the parts of their names that two statements have in common, where one is the other put otherwise."""


_LEAD = re.compile(r"^(?:(?:assert|return|if|elif|while|await|yield)|[\w.]+=(?!=))+")
_GUARDS = frozenset((
    "if", "else", "and", "or", "not", "is", "in", "isinstance", "hasattr", "getattr", "None", "min", "max", "any",
    "all",
))  # fmt: skip
"""Words by which a statement comes to take what it failed on."""
_TELLING = 16
"""Characters from which on a piece of code stands for itself."""


def holds(code: str, source: str, other: str, line: str) -> bool:
    """Return whether a statement does what a line of another did, unguarded as that was: as a part of a larger expression.

    Args:
        code: Of the new statement, without what formatters change.
        source: Of the new statement.
        other: Source of the old one.
        line: Of the old one, without what formatters change.
    """
    core = _LEAD.sub("", line).rstrip(":,")
    if len(core) < _TELLING or core not in code:
        return False
    return not (words_of(_TEXT.sub("", source)) - words_of(other)) & _GUARDS


def words_of(source: str) -> frozenset[str]:
    """Return the names in a statement."""
    return frozenset(_WORD.findall(source))


def shape_of(source: str) -> str:
    """Return a statement without its names, and without how many simple arguments it gives."""
    shape = _NAME.sub(lambda found: found[0] if keyword.iskeyword(found[0]) else "N", source)
    shape = re.sub(r"#[^\n]*|[\s\\]+", "", shape)
    return _COMMAS.sub("", _ROW.sub("N", _ARGUMENT.sub("", shape).replace("(,", "(")))


def alike(one: str, other: str) -> float:
    """Return which share of the parts of names two statements of one shape have in common; 0 where it is too little."""
    left, right = set(_PART.findall(one)), set(_PART.findall(other))
    share = len(left & right) / len(left | right) if left | right else 0.0
    return share if share >= _ALIKE else 0.0
