"""The text of a message as a template: what stands there literally, and ``{}`` where a value is put in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

SLOT = "{}"
LONGEST = 240
"""Characters kept of a template; what follows is one slot."""
LEAST = 8
"""Letters that must stand literally in a template: less says nothing."""
ALTERNATIVES = 6
"""Texts that one expression may stand for (``a if x else b``, a variable set in several branches)."""

_PERCENT = re.compile(r"%(?:\(\w+\))?[-#0 +]*\d*(?:\.(?:\d+|\*))?[sdrfigexXc]")
_BRACES = re.compile(r"\{[^{}]*\}")
_GAPS = re.compile(r"\{\}(?:\s*\{\})+")
_SPACE = re.compile(r"\s+")
Known = Mapping[str, list[ast.expr]]
"""Expressions that local names were set to."""


def templates(node: ast.expr, known: Known | None = None) -> Iterator[str]:
    """Yield the templates that an expression can come to, without those that hold too few words."""
    seen: set[str] = set()
    for text in _texts(node, known or {}, 0):
        found = tidy(text)
        if found not in seen and speaks(found):
            seen.add(found)
            yield found


def tidy(text: str) -> str:
    """Return a template with single spaces, ends without blanks, neighbouring slots made one, cut at ``LONGEST``."""
    text = _GAPS.sub(SLOT, _SPACE.sub(" ", text).strip())
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit(" ", 1)[0].rstrip() + " " + SLOT
        text = _GAPS.sub(SLOT, text)
    return text


def speaks(template: str) -> bool:
    """Return whether enough letters stand literally in a template."""
    return sum(character.isalpha() for character in template.replace(SLOT, "")) >= LEAST


def _texts(node: ast.expr, known: Known, depth: int) -> list[str]:  # noqa: C901, PLR0911, PLR0912 - one for each kind of node
    if depth > 6:
        return [SLOT]
    deeper = depth + 1
    match node:
        case ast.Constant(value=str() as text):
            # Braces of the text itself would read as slots.
            return [text.replace("{}", SLOT)]
        case ast.JoinedStr(values=values):
            return _joined([_texts(value, known, deeper) for value in values])
        case ast.FormattedValue(value=value):
            return _texts(value, known, deeper) if isinstance(value, ast.Name | ast.Constant) else [SLOT]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined([_texts(left, known, deeper), _texts(right, known, deeper)])
        case ast.BinOp(left=left, op=ast.Mod()):
            return [_PERCENT.sub(SLOT, text) for text in _texts(left, known, deeper)]
        case ast.Call(func=ast.Attribute(value=base, attr="format")):
            return [_BRACES.sub(SLOT, text) for text in _texts(base, known, deeper)]
        case ast.Call(func=ast.Attribute(value=base, attr="strip" | "rstrip" | "replace")):
            return _texts(base, known, deeper)
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str() as text), attr="join"), args=[ast.List() as parts]
        ):
            pieces = [_texts(part, known, deeper) for part in parts.elts]
            return [text.join(chosen) for chosen in zip(*pieces, strict=False)] if pieces else [SLOT]
        case ast.Call(func=ast.Name(id="dedent" | "_" | "str" | "_format"), args=[value, *_]):
            return _texts(value, known, deeper)
        case ast.IfExp(body=body, orelse=other):
            return (_texts(body, known, deeper) + _texts(other, known, deeper))[:ALTERNATIVES]
        case ast.Lambda(body=body):
            return _texts(body, known, deeper)
        case ast.Tuple(elts=[first, *_]):
            return _texts(first, known, deeper)
        case ast.Name(id=name) if name in known:
            found = [text for value in known[name] if value is not node for text in _texts(value, known, depth + 2)]
            return found[:ALTERNATIVES] or [SLOT]
        case _:
            return [SLOT]


def _joined(pieces: list[list[str]]) -> list[str]:
    found = [""]
    for choices in pieces:
        found = [f"{head}{choice}" for head in found for choice in choices][:ALTERNATIVES]
    return found


def logged(template: str) -> str:
    """Return the template of a logging call, whose first argument uses ``%`` or, in loguru, ``{…}``."""
    return tidy(_PERCENT.sub(SLOT, template))
