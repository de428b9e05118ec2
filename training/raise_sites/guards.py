"""The errors of a file, each with the tests in front of it and what flows into them."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from ...corpus.code_lines import plain
from ..messages.mine import set_names
from ..messages.text import templates
from .flow import Flow, Sets
from .words import in_words, name_of

_LEVELS = ("error", "exception", "critical")
_REFUSALS = ("create_error_response", "error", "HTTPException")
_LEAVES = (ast.Return, ast.Continue, ast.Break, ast.Raise)
_NEAR = 2
"""Tests in front of an error that are told, the nearest."""


class Card(NamedTuple):
    """Why an error is raised."""

    function: str
    message: str
    """Its template; "" where it has none."""
    line: str
    """Its first line, as ``plain`` returns it."""
    guard: str
    """What holds where it is raised, in words."""
    sources: tuple[str, ...]
    """What flows into that."""


def cards(path: str, text: str, is_option: Callable[[str], bool]) -> Iterator[Card]:
    """Yield the cards of a file; none where it does not parse.

    Args:
        path: Of the file, from the package on.
        text: Of the file.
        is_option: Tells whether a name is an option of the release.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other people's invalid escapes
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError):
            return
    rows = text.split("\n")
    for owner, function in _functions(module):
        own = partial(_set_in_class, owner)
        arguments = frozenset(each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg))
        flow = Flow(path, partial(_set_in, function), own, arguments, is_option)
        walk = _Walk(function, flow, rows)
        yield from walk.block(function.body, ())


def _functions(
    node: ast.AST, owner: ast.ClassDef | None = None
) -> Iterator[tuple[ast.ClassDef | None, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield owner, child
            yield from _functions(child, owner)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, child)
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _functions(child, owner)


def _set_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Sets:
    """Return what a function sets its own names to."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                found.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found.setdefault(name, []).append(value)
            case (
                ast.For(target=ast.Name(id=name), iter=value) | ast.comprehension(target=ast.Name(id=name), iter=value)
            ):
                found.setdefault(name, []).append(value)
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
                for part in parts:
                    if isinstance(part, ast.Name):
                        found.setdefault(part.id, []).append(value)
    return found


@lru_cache(maxsize=8)
def _set_in_class(owner: ast.ClassDef | None) -> Sets:
    """Return what the methods of a class set, and what its properties return."""
    found: dict[str, list[ast.expr]] = {}
    for method in owner.body if owner is not None else ():
        if not isinstance(method, ast.FunctionDef):
            continue
        for node in ast.walk(method):
            match node:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                    found.setdefault(f"self.{name}", []).append(value)
                case ast.AnnAssign(
                    target=ast.Attribute(value=ast.Name(id="self"), attr=name), value=ast.expr() as value
                ):
                    found.setdefault(f"self.{name}", []).append(value)
                case ast.Return(value=ast.expr() as value) if method.decorator_list:
                    found.setdefault(f"self.{method.name}", []).append(value)
    return found


class _Test(NamedTuple):
    test: ast.expr
    holds: bool
    words: str = ""
    """In place of the test."""


class _Walk:
    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef, flow: Flow, rows: Sequence[str]) -> None:
        self._name = function.name
        self._flow = flow
        self._rows = rows
        self._known: Mapping[str, list[ast.expr]] = set_names(function.body)

    def block(self, body: Sequence[ast.stmt], around: tuple[_Test, ...]) -> Iterator[Card]:
        before = around
        for node in body:
            yield from self._errors(node, before)
            yield from self._inner(node, around)
            if isinstance(node, ast.If) and isinstance(node.body[-1], _LEAVES):
                # What comes behind is reached only if this does not hold.
                before = (*before, _Test(node.test, False))

    def _inner(self, node: ast.stmt, around: tuple[_Test, ...]) -> Iterator[Card]:
        match node:
            case ast.If(test=test, body=body, orelse=other):
                yield from self.block(body, (*around, _Test(test, True)))
                yield from self.block(other, (*around, _Test(test, False)))
            case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
                yield from self.block(body, around)
                called = next(
                    (name_of(each.func) for part in body for each in ast.walk(part) if isinstance(each, ast.Call)), ""
                )
                for handler in handlers:
                    kind = name_of(handler.type) if handler.type else "an exception"
                    words = f"{called} failed with {kind}" if called else f"{kind} was raised before"
                    yield from self.block(handler.body, (*around, _Test(ast.Constant(None), True, words)))
                yield from self.block(other, around)
                yield from self.block(last, around)
            case ast.Match(subject=subject, cases=cases):
                for case in cases:
                    words = (
                        f"{name_of(subject)} is {ast.unparse(case.pattern)}"
                        if ast.unparse(case.pattern) != "_"
                        else f"{name_of(subject)} is none of what is known"
                    )
                    yield from self.block(case.body, (*around, _Test(subject, True, words)))
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from self.block(node.body, around)
                yield from self.block(node.orelse, around)
            case ast.With() | ast.AsyncWith():
                yield from self.block(node.body, around)

    def _errors(self, node: ast.stmt, around: tuple[_Test, ...]) -> Iterator[Card]:
        match node:
            case ast.Assert(test=test, msg=message):
                texts = list(templates(message, self._known)) if message is not None else []
                yield from self._cards(node, texts, (_Test(test, False),))
            case ast.Raise(exc=ast.Call(args=[first, *_])):
                yield from self._cards(node, list(templates(first, self._known)), around)
            case ast.Raise(exc=ast.expr()):
                yield from self._cards(node, [], around)
            case ast.Expr(value=ast.Call() as call) | ast.Return(value=ast.Call() as call):
                name = call.func.attr if isinstance(call.func, ast.Attribute) else name_of(call.func)
                said = [each.value for each in call.keywords if each.arg in ("message", "detail")]
                if (name in _LEVELS or name in _REFUSALS) and (args := [*call.args, *said]):
                    for each in args[:2]:
                        if texts := list(templates(each, self._known)):
                            yield from self._cards(node, texts, around)
                            break

    def _cards(self, node: ast.stmt, texts: Sequence[str], around: Sequence[_Test]) -> Iterator[Card]:
        near = around[-_NEAR:]
        said = [each.words or in_words(each.test, each.holds) for each in near]
        words = [each for each in said if each]
        if not words:
            return
        sources = [source for each in reversed(near) for source in self._flow.into(each.test)]
        line = plain(self._rows[node.lineno - 1].strip())
        for text in texts or [""]:
            yield Card(self._name, text, line, " and ".join(dict.fromkeys(words)), tuple(dict.fromkeys(sources))[:4])
