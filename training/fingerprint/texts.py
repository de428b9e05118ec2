"""What a file can say when something fails: the texts of its exceptions and assertions, with where they stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

SLOT = "\0"
"""Stands in a text for what is put in at run time."""
_SHORTEST = 12
_PERCENT = re.compile(r"%[-\d.]*[a-z]")
_BRACES = re.compile(r"\{[^{}]*\}")


class Text(NamedTuple):
    """One text that a release can print."""

    text: str
    """With ``SLOT`` for each placeholder; of an assertion without words its code."""
    exception: str
    """What is raised; empty for a text that is made elsewhere in the function."""
    function: str
    """With its class: ``Scheduler.schedule``; empty on the level of the module."""


def texts_of(module: ast.Module) -> list[Text]:
    """Return the texts of a parsed file, in the order of its lines."""
    return list(dict.fromkeys(_below(module, "")))


def _below(top: ast.AST, function: str) -> Iterator[Text]:
    for node in ast.iter_child_nodes(top):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _below(node, f"{function}.{node.name}".lstrip("."))
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func).rpartition(".")[2]
            for argument in node.exc.args[:1]:
                yield from _text(argument, name, function)
                yield from _below(argument, function)
            continue
        elif isinstance(node, ast.Assert):
            if node.msg is not None:
                yield from _text(node.msg, "AssertionError", function)
            yield Text(f"assert {ast.unparse(node.test)}", "AssertionError", function)
        elif isinstance(node, ast.Call):
            for argument in node.args[:2]:
                for text in _text(argument, "", function):
                    # Loggers fill in what follows.
                    yield text._replace(text=_PERCENT.sub(SLOT, text.text))
        elif isinstance(node, (ast.Assign, ast.Return)) and node.value is not None:
            yield from _text(node.value, "", function)
        yield from _below(node, function)


def _text(expression: ast.expr, exception: str, function: str) -> Iterator[Text]:
    text = template(expression)
    if len(text.replace(SLOT, "").strip()) >= _SHORTEST:
        yield Text(text, exception, function)


def template(expression: ast.expr) -> str:
    """Return the text that ``expression`` makes, with ``SLOT`` for what its sources do not tell."""
    if isinstance(expression, ast.Constant):
        return expression.value if isinstance(expression.value, str) else SLOT
    if isinstance(expression, ast.JoinedStr):
        return "".join(template(part) for part in expression.values)
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
        return template(expression.left) + template(expression.right)
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mod):
        return _PERCENT.sub(SLOT, template(expression.left))
    if (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute)
        and expression.func.attr == "format"
    ):
        return _BRACES.sub(SLOT, template(expression.func.value))
    return SLOT
