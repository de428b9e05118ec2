"""What guards and feeds each statement of a function: the tests around it, what leaves before it, what its names are set to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...corpus.message_heads import SHORTEST
from ..messages.mine import set_names
from ..messages.text import SLOT, templates
from .alike import shape_of
from .statements import Shown, shown_of

GUARD, LEAVE, CATCH, SET = "guard", "leave", "catch", "set"
"""Kinds of items: a test around a statement, one before it behind which the function goes on without it, an exception that is
caught around it, what a name of it is set to."""
ALONE = "alone"
"""Name of the items of a test that guards hardly more than one statement."""
_FEW = 2
"""Statements that a test of "hardly more than one" may guard."""
_LEAVES = (ast.Return, ast.Continue, ast.Break)
_OWN = ("self", "cls")


class Item(NamedTuple):
    """One of the things on which it hangs whether a statement is reached, and with what."""

    kind: str
    code: str
    """As ``ast.unparse`` writes it."""
    name: str = ""
    """That is set; ``ALONE``."""

    @property
    def shape(self) -> str:
        """The code without its names."""
        return shape_of(self.code)


class Guarded(NamedTuple):
    """A statement with what guards and feeds it inside of its function."""

    code: str
    """As ``Statement.code``; of what raises on purpose its message, with ``{}`` where values are put in."""
    shown: Shown
    items: tuple[Item, ...]
    used: frozenset[str]
    """Names that it uses; of what raises on purpose those of the tests around it."""
    raises: bool = False


class Body(NamedTuple):
    """A function."""

    statements: tuple[Guarded, ...]
    sets: Mapping[str, tuple[str, ...]]
    """Names → what they are set to."""


def guarded(function: ast.FunctionDef | ast.AsyncFunctionDef, rows: list[bytes]) -> Body:
    """Return the statements of a function that can fail, or raise on purpose, with what guards and feeds them."""
    return _Walk(function, rows).body()


def piece_of(message: str) -> str:
    """Return the longest piece of a message that stands in it literally."""
    return max(message.split(SLOT), key=len).strip()


def names_in(code: str) -> frozenset[str]:
    """Return the names that an expression reads; none where it is no expression."""
    try:
        return frozenset(_names(ast.parse(code, mode="eval").body))
    except SyntaxError:
        return frozenset()


def _said(call: ast.expr, known: Mapping[str, list[ast.expr]]) -> Iterator[str]:
    """Yield the messages that an exception can have and that can be told from others."""
    for argument in call.args[:1] if isinstance(call, ast.Call) else ():
        yield from (text for text in templates(argument, dict(known)) if len(piece_of(text)) >= SHORTEST)


class _Walk:
    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef, rows: list[bytes]) -> None:
        self._function = function
        self._rows = rows
        self._known = set_names(function.body)
        self._sets: dict[str, list[tuple[int, str]]] = {}
        for node in ast.walk(function):
            for name, value in _set_by(node):
                self._sets.setdefault(name, []).append((getattr(node, "lineno", 0), value))

    def body(self) -> Body:
        sets = {name: tuple(value for _, value in values) for name, values in self._sets.items()}
        return Body(tuple(self._block(self._function.body, ())), sets)

    def _block(self, body: Sequence[ast.stmt], around: tuple[Item, ...]) -> Iterator[Guarded]:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            yield from self._one(node, around)
            yield from self._inner(node, around)
            around = (*around, *_left(node))

    def _inner(self, node: ast.stmt, around: tuple[Item, ...]) -> Iterator[Guarded]:
        match node:
            case ast.If():
                tests = _tests(node.test)
                if len(node.body) <= _FEW:
                    tests = (item._replace(name=ALONE) for item in tests)
                yield from self._block(node.body, (*around, *tests))
                yield from self._block(node.orelse, (*around, *_tests(node.test, False)))
            case ast.While():
                yield from self._block(node.body, (*around, *_tests(node.test)))
                yield from self._block(node.orelse, around)
            case ast.Try():
                caught = tuple(
                    Item(CATCH, ast.unparse(each.type) if each.type else "all")
                    for each in node.handlers
                    if not _raises(each.body)
                )
                yield from self._block(node.body, (*around, *caught))
                for each in node.handlers:
                    yield from self._block(each.body, around)
                yield from self._block(node.orelse, around)
                yield from self._block(node.finalbody, around)
            case ast.Match():
                for case in node.cases:
                    yield from self._block(
                        case.body, (*around, Item(GUARD, f"{ast.unparse(node.subject)} is {ast.unparse(case.pattern)}"))
                    )
            case ast.With() | ast.AsyncWith():
                yield from self._block(node.body, around)
            case ast.For() | ast.AsyncFor():
                over = ast.unparse(node.iter)
                within = tuple(Item(SET, over, name) for name in _targets(node.target))
                yield from self._block(node.body, (*around, *within))
                yield from self._block(node.orelse, around)

    def _one(self, node: ast.stmt, around: tuple[Item, ...]) -> Iterator[Guarded]:
        if isinstance(node, ast.Raise):
            if node.exc is not None:
                tested = [
                    name for item in around if item.kind in (GUARD, LEAVE) for name in sorted(names_in(item.code))
                ]
                fed = self._with_sets(around, tested, node.lineno)
                for message in dict.fromkeys(_said(node.exc, self._known)):
                    yield Guarded(message, Shown(frozenset(), ""), *fed, raises=True)
            return
        found = shown_of(node, self._rows)
        if found is not None:
            code, shown = found
            used = [name for each in _own_parts(node) for name in _names(each)]
            yield Guarded(code, shown, *self._with_sets(around, used, node.lineno))

    def _with_sets(
        self, around: tuple[Item, ...], used: Sequence[str], line: int
    ) -> tuple[tuple[Item, ...], frozenset[str]]:
        items = [item for item in around if item.kind != SET or item.name in used]
        for name in dict.fromkeys(used):
            before = [value for at, value in self._sets.get(name, ()) if at < line]
            items += [Item(SET, value, name) for value in dict.fromkeys(before)]
        return tuple(items), frozenset(used)


def _left(node: ast.stmt) -> Iterator[Item]:
    """Yield the tests behind which a block is left before what follows."""
    if isinstance(node, ast.If) and node.body and isinstance(node.body[-1], _LEAVES):
        yield from (item._replace(kind=LEAVE) for item in _tests(node.test, False))
    elif isinstance(node, ast.If) and len(node.orelse) == 1:
        yield from _left(node.orelse[0])


def _tests(test: ast.expr, holds: bool = True) -> Iterator[Item]:
    """Yield the parts of a test that hold, or that do not, inside of its branch."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _tests(test.operand, not holds)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if holds else ast.Or):
        for each in test.values:
            yield from _tests(each, holds)
    else:
        yield Item(GUARD, ast.unparse(test) if holds else f"not ({ast.unparse(test)})")


def _raises(body: Sequence[ast.stmt]) -> bool:
    """Return whether a handler hands an exception on."""
    return bool(body) and isinstance(body[-1], ast.Raise)


def _own_parts(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions of a statement without its block."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr


def _names(expression: ast.expr) -> Iterator[str]:
    """Yield the names that an expression reads: of attributes of the object itself, both."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _OWN:
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Name) and node.id not in _OWN and isinstance(node.ctx, ast.Load):
            yield node.id


def _set_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that a statement sets, with the value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from ((name, ast.unparse(value)) for name in _targets(target))
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
            yield from ((name, ast.unparse(value)) for name in _targets(target))
        case ast.NamedExpr(target=target, value=value):
            yield from ((name, ast.unparse(value)) for name in _targets(target))
        case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
            yield from ((name, ast.unparse(value)) for name in _targets(target))


def _targets(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in _OWN:
            yield f"{owner}.{name}"
        case ast.Subscript(value=value) | ast.Starred(value=value):
            yield from _targets(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _targets(part)
