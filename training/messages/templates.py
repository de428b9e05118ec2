"""Messages that a vLLM release can raise or log, read from its sources by ``ast``; nothing is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

LOG_CALLS = frozenset({"error", "critical", "fatal", "exception", "error_once"})
SKIPPED = (
    "benchmarks/", "third_party/", "vendor/", "examples/", "tests/", "test_utils/", "assets/", "profiler/",
    "collect_env.py",
)  # fmt: skip

# What stands where a value is interpolated: figures where the name speaks of one, else a word.
_FIGURES = (
    "num", "len", "size", "count", "rank", "max", "min", "world", "idx", "index", "bits", "_gb", "bytes", "memory",
    "port", "pid", "timeout", "dim", "block",
)  # fmt: skip


@dataclass(slots=True, frozen=True)
class Template:
    """One message with the place that raises or logs it."""

    path: str
    """From the package's folder: ``vllm/config/model.py``."""
    line: int
    function: str
    kind: str
    """Exception class, or ``log``."""
    text: str
    """The message with examples in the place of values."""
    fixed: str
    """Its longest part without values: what identifies it across releases."""


def _walk(node: ast.AST, path: str, function: str) -> Iterator[Template]:
    for child in ast.iter_child_nodes(node):
        name = child.name if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        if isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call):
            yield from _template(child.exc, _name(child.exc.func), path, function, child.exc.args[:1])
        elif isinstance(child, ast.Assert) and child.msg is not None:
            yield from _template(child, "AssertionError", path, function, [child.msg])
        elif (
            isinstance(child, ast.Call)
            and isinstance(child.func, ast.Attribute)
            and child.func.attr in LOG_CALLS
            and _name(child.func.value) == "logger"
        ):
            yield from _template(child, "log", path, function, child.args[:1])
        yield from _walk(child, path, name)


def _template(node: ast.AST, kind: str, path: str, function: str, arguments: list[ast.expr]) -> Iterator[Template]:
    parts = _parts(arguments[0]) if arguments else []
    fixed = max((text for text, literal in parts if literal), key=len, default="")
    text = "".join(text for text, _ in parts)
    if len(fixed.strip()) >= 8:
        yield Template(
            path, getattr(node, "lineno", 0), function, kind, " ".join(text.split()), " ".join(fixed.split())
        )


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "Exception"


def _parts(node: ast.expr) -> list[tuple[str, bool]]:  # noqa: PLR0911 - one for each kind of node
    """Return the pieces of a message: (text, whether it stands there literally)."""
    if isinstance(node, ast.Constant):
        return [(_without_marks(str(node.value)), True)]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in _parts(value)]
    if isinstance(node, ast.FormattedValue):
        return [(_example(ast.unparse(node.value)), False)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _parts(node.left) + _parts(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _parts(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _parts(node.func.value)
    return [(_example(ast.unparse(node)), False)]


def _without_marks(text: str) -> str:
    for mark, example in (
        ("%s", "example"),
        ("%r", "'example'"),
        ("%d", "4"),
        ("%.2f", "1.50"),
        ("%f", "1.5"),
        ("{}", "example"),
    ):
        text = text.replace(mark, example)
    return text


def _example(expression: str) -> str:
    lowered = expression.lower()
    return "4" if any(word in lowered for word in _FIGURES) else "example"
