"""Refuses patterns whose cost can explode on hostile input, before they get into the corpus."""

from __future__ import annotations

import re
from string import printable

from .expression_tree import Anything, Atomic, Branch, Group, Letter, Letters, Node, Place, Repeat, parse

OPEN = 64
"""A repeat that may run longer than this counts as open-ended."""
_CHOICES = re.compile(r"\((?:\?:|\?P<\w+>)?((?:\\.|[^()\\])*\|(?:\\.|[^()\\])*)\)(?:[+*]|\{\d*,\})(?!\+)")
"""Choices, without groups in them, that are repeated without end."""
WIDE, WIDEST = 500, 3
"""A ``.*`` that may run longer than this is counted, and how many of them one pattern may have."""


def lint_pattern(pattern: str) -> list[str]:
    """Return complaints about ``pattern`` (none: it is fine)."""
    try:
        body = parse(pattern).body
    except re.error as error:
        return [f"does not parse: {error}"]
    complaints = ["branches that begin alike inside an open-ended repeat"] if _choose_alike(pattern) else []
    _walk(body, False, complaints)
    wide = _count_wide(body)
    if wide > WIDEST:
        complaints.append(
            f"{wide} open-ended '.*' in one pattern: at most {WIDEST} (bound them: '.{{0,200}}' or '[^x]*')"
        )
    return complaints


def _walk(items: list[Node], repeated: bool, complaints: list[str]) -> None:
    previous_wide = False
    for node in items:
        if isinstance(node, Repeat) and not node.possessive:
            unbounded = node.high > OPEN
            if unbounded and repeated:
                complaints.append("an open-ended repeat inside an open-ended repeat")
            if unbounded and _is_ambiguous(node.body, node.body):
                complaints.append("branches that begin alike inside an open-ended repeat")
            wide = unbounded and _is_dot(node.body)
            if wide and previous_wide:
                complaints.append("two '.*' side by side")
            previous_wide = wide
            _walk(node.body, repeated or (unbounded and not _is_single(node.body)), complaints)
            continue
        if isinstance(node, Group):
            _walk(node.body, repeated, complaints)
        elif isinstance(node, Branch):
            for branch in node.branches:
                _walk(branch, repeated, complaints)
        if not isinstance(node, Place):
            previous_wide = False


def _is_ambiguous(items: list[Node], whole: list[Node]) -> bool:
    """Return whether one text can be read by several branches of what is repeated, or by a branch and the next turn."""
    for node in items:
        if isinstance(node, Group) and _is_ambiguous(node.body, whole):
            return True
        if isinstance(node, Branch):
            begins = [_begins(branch or whole) for branch in node.branches]
            if any(_meet(one, other) for place, one in enumerate(begins) for other in begins[:place]):
                return True
    return False


def _meet(one: frozenset[str] | None, other: frozenset[str] | None) -> bool:
    return bool((other if one is None else one if other is None else one & other) or one is other is None)


def _begins(items: list[Node]) -> frozenset[str] | None:
    """Return the letters that a text may begin with; None: any."""
    node = next((node for node in items if not isinstance(node, Place)), None)
    if isinstance(node, Letter):
        return frozenset(node.text)
    if isinstance(node, Letters):
        return node.choice
    if isinstance(node, (Group, Atomic)) or (isinstance(node, Repeat) and node.low):
        return _begins(node.body)
    if isinstance(node, Branch):
        each = [_begins(branch) for branch in node.branches]
        return None if None in each else frozenset(sign for some in each if some for sign in some)
    return frozenset() if node is None else None


def _choose_alike(pattern: str) -> bool:
    r"""Return whether single signs are repeated of which two branches take the same, ``(?:\w|[a-z])+``: the parser makes a class of them."""
    for found in _CHOICES.finditer(pattern):
        try:
            takes = [{sign for sign in printable if re.fullmatch(part, sign)} for part in found[1].split("|")]
        except re.error:
            continue
        if any(one & other for place, one in enumerate(takes) for other in takes[:place]):
            return True
    return False


def _is_dot(body: list[Node]) -> bool:
    return len(body) == 1 and isinstance(body[0], Anything)


def _is_single(body: list[Node]) -> bool:
    return len(body) == 1 and isinstance(body[0], (Anything, Letter, Letters))


def _count_wide(items: list[Node]) -> int:
    total = 0
    for node in items:
        if isinstance(node, Repeat) and not node.possessive and node.high > WIDE:
            total += 1 if _is_dot(node.body) else _count_wide(node.body)
        elif isinstance(node, Repeat) and not node.possessive:
            total += node.high * _count_wide(node.body)
        elif isinstance(node, Group):
            total += _count_wide(node.body)
        elif isinstance(node, Branch):
            total += max(_count_wide(branch) for branch in node.branches)
    return total
