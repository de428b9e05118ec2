"""Refuses patterns whose cost can explode on hostile input, before they get into the corpus."""

from __future__ import annotations

import re

from .expression_tree import Anything, Branch, Group, Letter, Letters, Node, Place, Repeat, parse

OPEN = 64
"""A repeat that may run longer than this counts as open-ended."""
WIDE, WIDEST = 500, 3
"""A ``.*`` that may run longer than this is counted, and how many of them one pattern may have."""


def lint_pattern(pattern: str) -> list[str]:
    """Return complaints about ``pattern`` (none: it is fine)."""
    try:
        body = parse(pattern).body
    except re.error as error:
        return [f"does not parse: {error}"]
    complaints: list[str] = []
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


def _is_dot(body: list[Node]) -> bool:
    return len(body) == 1 and isinstance(body[0], Anything)


def _is_single(body: list[Node]) -> bool:
    return len(body) == 1 and isinstance(body[0], (Anything, Letter, Letters))


def _count_wide(items: list[Node]) -> int:
    total = 0
    for node in items:
        if isinstance(node, Repeat) and not node.possessive and node.high > WIDE:
            total += 1 if _is_dot(node.body) else _count_wide(node.body)
        elif isinstance(node, Group):
            total += _count_wide(node.body)
        elif isinstance(node, Branch):
            total += max(_count_wide(branch) for branch in node.branches)
    return total
