"""Texts that an expression matches, drawn at random: a rule's pattern knows more wordings than its examples show."""

from __future__ import annotations

import random
import re
import warnings
from typing import Any

from ....corpus.expression_tree import op, parser

LONGEST = 4
"""Repetitions beyond the least that are drawn."""
FILLERS = ("harbor", "example", "layers.0", "the", "value", "qwen", "x")


def draw(pattern: str, count: int, seed: random.Random) -> list[str]:
    """Return up to ``count`` different texts that ``pattern`` matches; none where it is beyond what can be drawn."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parser.parse(pattern)
            check = re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return []
    found: list[str] = []
    for _ in range(count * 4):
        text = "".join(_text(item, seed) for item in tree)
        if text not in found and check.search(text):
            found.append(text)
        if len(found) == count:
            break
    return found


def _text(item: tuple[Any, Any], seed: random.Random) -> str:  # noqa: PLR0911 (one answer for each kind)
    kind, value = item
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.NOT_LITERAL:
        return "a"
    if kind is op.ANY:
        return "."
    if kind is op.IN:
        return _one_of(value, seed)
    if kind is op.BRANCH:
        return "".join(_text(part, seed) for part in seed.choice(value[1]))
    if kind is op.SUBPATTERN:
        return "".join(_text(part, seed) for part in value[3])
    if kind is op.ATOMIC_GROUP:
        return "".join(_text(part, seed) for part in value)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return _repeat(value, seed)
    return ""


def _repeat(value: tuple[int, int, Any], seed: random.Random) -> str:
    least, most, body = value
    if len(body) == 1 and body[0][0] in (op.ANY, op.NOT_LITERAL) and most > 3:
        return " " + seed.choice(FILLERS) + " " if most > least else "a" * least
    if len(body) == 1 and body[0][0] is op.IN and least <= 1 and most > 8 and _is_wide(body[0][1]):
        return seed.choice(FILLERS)
    times = seed.randint(least, min(most, max(1, least + (LONGEST if most > 1 else 1))))
    return "".join(_text(part, seed) for _ in range(times) for part in body)


def _is_wide(items: list[tuple[Any, Any]]) -> bool:
    """Return whether a class stands for "any word": negated, or not of figures alone."""
    return any(kind is op.NEGATE or value in (op.CATEGORY_WORD, op.CATEGORY_NOT_SPACE) for kind, value in items)


def _one_of(items: list[tuple[Any, Any]], seed: random.Random) -> str:
    if items and items[0][0] is op.NEGATE:
        barred = {chr(value) for kind, value in items[1:] if kind is op.LITERAL}
        return next(letter for letter in "ae1 _-" if letter not in barred)
    kind, value = seed.choice(items)
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.RANGE:
        return chr(seed.randint(value[0], value[1]))
    return {op.CATEGORY_DIGIT: str(seed.randint(0, 9)), op.CATEGORY_SPACE: " "}.get(value, "a")
