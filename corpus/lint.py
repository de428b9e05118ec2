"""Refuses patterns whose cost can explode on hostile input, before they get into the corpus."""

from __future__ import annotations

import re
from typing import Any

from .literals import op, parse

_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)
_OPEN = 64
"""A repeat that may run longer than this counts as open-ended."""


def lint_pattern(pattern: str) -> list[str]:
    """Return complaints about ``pattern`` (none: it is fine)."""
    try:
        tree = parse(pattern)
    except re.error as error:
        return [f"does not parse: {error}"]
    complaints: list[str] = []
    _walk(list(tree), False, complaints)
    wide = _count_wide(list(tree))
    if wide > 3:
        complaints.append(f"{wide} open-ended '.*' in one pattern: at most 3 (bound them: '.{{0,200}}' or '[^x]*')")
    return complaints


def _walk(items: list[Any], repeated: bool, complaints: list[str]) -> None:
    previous_wide = False
    for code, value in items:
        if code in _REPEATS:
            _, high, body = value
            unbounded = high is op.MAXREPEAT or high > _OPEN
            if unbounded and repeated:
                complaints.append("an open-ended repeat inside an open-ended repeat")
            wide = unbounded and len(body) == 1 and body[0][0] is op.ANY
            if wide and previous_wide:
                complaints.append("two '.*' side by side")
            previous_wide = wide
            _walk(list(body), repeated or (unbounded and not _single(body)), complaints)
            continue
        if code is op.SUBPATTERN:
            _walk(list(value[3]), repeated, complaints)
        elif code is op.BRANCH:
            for branch in value[1]:
                _walk(list(branch), repeated, complaints)
        if code is not op.AT:
            previous_wide = False


def _single(body: Any) -> bool:
    return len(body) == 1 and body[0][0] in (op.ANY, op.IN, op.LITERAL, op.NOT_LITERAL)


def _count_wide(items: list[Any]) -> int:
    total = 0
    for code, value in items:
        if code in _REPEATS and (value[1] is op.MAXREPEAT or value[1] > 500):
            body = value[2]
            total += 1 if len(body) == 1 and body[0][0] is op.ANY else _count_wide(list(body))
        elif code is op.SUBPATTERN:
            total += _count_wide(list(value[3]))
        elif code is op.BRANCH:
            total += max(_count_wide(list(branch)) for branch in value[1])
    return total
