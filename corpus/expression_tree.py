"""A regular expression taken apart, as far as lint and literals ask: what stands in it, one after the other.

The standard library's own parser does the work, and nothing else takes an expression apart; what it gives is turned
into classes here, so that all else is checked by type.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

# Imported by name: what type checkers know of private modules changes from one run to the next.
op = import_module("re._constants")
parser = import_module("re._parser")


@dataclass(slots=True)
class Letter:
    """One character."""

    text: str


@dataclass(slots=True)
class Letters:
    """One character of a class; ``choice`` holds all that it can be where these are listed one by one."""

    choice: frozenset[str] | None


@dataclass(slots=True)
class Anything:
    """``.``."""


@dataclass(slots=True)
class Place:
    r"""A place, no character: ``^``, ``$``, ``\b``."""


@dataclass(slots=True)
class Repeat:
    """``body`` from ``low`` to ``high`` times (open-ended: some thousand millions)."""

    low: int
    high: int
    body: list[Node]
    possessive: bool


@dataclass(slots=True)
class Group:
    """``body`` in brackets, in which case may be ignored."""

    body: list[Node]
    ignores_case: bool


@dataclass(slots=True)
class Atomic:
    """``(?>body)``."""

    body: list[Node]


@dataclass(slots=True)
class Branch:
    """``a|b|c``."""

    branches: list[list[Node]]


@dataclass(slots=True)
class Other:
    """A look-around, a back reference: nothing of it is asked."""


Tree = Iterable[tuple[object, object]]
"""What the parser gives: pairs of an operation's code and what belongs to it."""
Node = Letter | Letters | Anything | Place | Repeat | Group | Atomic | Branch | Other


@dataclass(slots=True)
class Expression:
    """A whole expression."""

    body: list[Node]
    ignores_case: bool


def parse(pattern: str) -> Expression:
    """Take an expression apart.

    Raises:
        re.error: It breaks the syntax of ``re`` (that of the ``regex`` module allows more).
    """
    with warnings.catch_warnings():
        # Sets that a future Python may read otherwise: no concern of whoever only asks what stands in a pattern.
        warnings.simplefilter("ignore", FutureWarning)
        tree = parser.parse(pattern)
    return Expression(_nodes(tree), bool(tree.state.flags & re.IGNORECASE))


def _nodes(items: Tree) -> list[Node]:
    return [_node(code, value) for code, value in items]


def _node(code: object, value: object) -> Node:  # noqa: PLR0911 - one answer for each kind
    """Return the class for one item of the parser's; ``code`` says what ``value`` holds."""
    if code is op.LITERAL:
        return Letter(chr(cast("int", value)))
    if code is op.ANY:
        return Anything()
    if code is op.AT:
        return Place()
    if code is op.NOT_LITERAL:
        return Letters(None)
    if code is op.IN:
        listed = cast("list[tuple[object, int]]", value)
        plain = all(kind is op.LITERAL for kind, _ in listed)
        return Letters(frozenset(chr(letter) for _, letter in listed) if plain else None)
    if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        low, high, body = cast("tuple[int, int, Tree]", value)
        return Repeat(low, high, _nodes(body), code is op.POSSESSIVE_REPEAT)
    if code is op.SUBPATTERN:
        _, added, _, inner = cast("tuple[object, int, object, Tree]", value)
        return Group(_nodes(inner), bool(added & re.IGNORECASE))
    if code is op.BRANCH:
        _, branches = cast("tuple[object, list[Tree]]", value)
        return Branch([_nodes(branch) for branch in branches])
    if code is op.ATOMIC_GROUP:
        return Atomic(_nodes(cast("Tree", value)))
    return Other()
