"""The logging calls of a file: the line that vLLM's prefix prints for each, and how its message starts."""

from __future__ import annotations

import ast
from typing import NamedTuple

LEVELS = ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log")
_ONCE = "_once"


class Site(NamedTuple):
    """One logging call."""

    line: int
    """As ``%(lineno)d`` prints it, from 1."""
    words: str
    """The message up to its first placeholder; empty where it is worked out at run time."""


def sites_of(module: ast.Module) -> list[Site]:
    """Return the logging calls of a parsed file, in the order of their lines.

    A call through a name of its own (``log_function("…")``) counts as well: one that logs nothing is never looked up.
    """
    found = [_site(node) for node in ast.walk(module) if isinstance(node, ast.Call) and _logs(node)]
    return sorted(set(found))


def leading_words(expression: ast.expr) -> str:
    """Return the literal text that the value of ``expression`` starts with, up to its first placeholder."""
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        text = expression.value
        return text[: min((text.find(sign) for sign in "%{" if sign in text), default=len(text))]
    if isinstance(expression, ast.JoinedStr) and expression.values:
        first = expression.values[0]
        return str(first.value) if isinstance(first, ast.Constant) else ""
    if isinstance(expression, ast.BinOp):
        return leading_words(expression.left)
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        # "…".format(…), and " ".join(…) which begins with something else.
        return leading_words(expression.func.value) if expression.func.attr == "format" else ""
    return ""


def _logs(node: ast.Call) -> bool:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr.removesuffix(_ONCE) in LEVELS
    return isinstance(function, ast.Name) and ("log" in function.id.lower() or function.id.endswith(_ONCE))


def _site(node: ast.Call) -> Site:
    arguments = node.args
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr == "log":
        arguments = arguments[1:]
    # Since Python 3.8 the line of a call over several lines is that of its function's name.
    line = function.end_lineno if isinstance(function, ast.Attribute) else node.lineno
    return Site(line or node.lineno, leading_words(arguments[0]) if arguments else "")
