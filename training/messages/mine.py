"""Every message that Python sources can raise, assert, log as trouble, or answer a request with; read by ``ast`` alone."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .text import Known, logged, templates

Kind = Literal["raise", "assert", "log", "argparse", "answer", "native"]
LEVELS = {
    "error": "ERROR", "error_once": "ERROR", "exception": "ERROR", "critical": "CRITICAL", "fatal": "CRITICAL",
    "warning": "WARNING", "warning_once": "WARNING", "warn": "WARNING", "warn_once": "WARNING", "warning_advice": "WARNING",
}  # fmt: skip
LOGGERS = frozenset({
    "logger", "_logger", "log", "LOG", "logging", "rank_zero", "verbose_logger", "_verbose_logger",
    "verbose_proxy_logger", "warnings", "lg", "torch_log", "llm_logger",
})  # fmt: skip
"""Names of what logging calls are made on; ``self.logger`` counts by its last part."""
ANSWERS = frozenset({"create_error_response", "create_streaming_error_response", "_create_error_response"})
CHECKS = frozenset({"_check", "_check_value", "_check_index", "_check_type", "_check_is_size", "check", "torch_check"})
UNSUPPORTED = frozenset({"unimplemented", "unimplemented_v2", "unimplemented_with_warning"})
NAMED = ("message", "msg", "detail", "error", "reason", "gb_type", "explanation", "err_msg")
SKIPPED = (
    "benchmarks/", "third_party/", "vendor/", "_vendor/", "examples/", "tests/", "test_utils/", "testing/", "/test/", "test_", "assets/",
    "profiler/", "collect_env", "conftest", "/tools/", "docs/", "_pytest",
)  # fmt: skip


@dataclass(slots=True, frozen=True)
class Message:
    """One message with the place that prints it."""

    path: str
    """From the package's parent: ``vllm/config/model.py``."""
    function: str
    """The innermost function, ``<module>`` outside of one: as a traceback's frame names it."""
    kind: Kind
    exception: str
    """The class that is raised; empty for what is logged."""
    level: str
    """Of what is logged; empty for the rest."""
    template: str


def skipped(path: str) -> bool:
    """Return whether a file belongs to tests, tools or vendored code."""
    return any(part in path for part in SKIPPED)


def mine(path: str, source: str) -> Iterator[Message]:
    """Yield the messages of one Python file; none where it is no Python.

    Args:
        path: Where it lies, from the package's parent.
        source: Its text.
    """
    with warnings.catch_warnings():
        # Other people's invalid escapes are no news.
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return
    yield from _Miner(path).walk(tree, "<module>", "", set_names(tree.body))


class _Miner:
    def __init__(self, path: str) -> None:
        self.path = path

    def walk(self, node: ast.AST, function: str, owner: str, known: Known) -> Iterator[Message]:
        for child in ast.iter_child_nodes(node):
            inside, klass, names = function, owner, known
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inside, names = child.name, {**known, **set_names(child.body)}
            elif isinstance(child, ast.ClassDef):
                klass = child.name if _is_error(child) else ""
            elif isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call):
                yield from self.raised(child.exc, inside, names)
            elif isinstance(child, ast.Assert) and child.msg is not None:
                yield from self.made(child.msg, inside, "assert", "AssertionError", "", names)
            elif isinstance(child, ast.Call):
                yield from self.called(child, inside, klass, names)
            yield from self.walk(child, inside, klass, names)

    def raised(self, call: ast.Call, function: str, known: Known) -> Iterator[Message]:
        name = _name(call.func)
        if not name or name in ("StopIteration", "Exit"):
            return
        if name == "SystemExit" or name.islower():
            name = "SystemExit" if name == "SystemExit" else ""
        for argument in _texts_of(call):
            found = list(self.made(argument, function, "raise", name or "Exception", "", known))
            if found:
                yield from found
                return

    def called(self, call: ast.Call, function: str, owner: str, known: Known) -> Iterator[Message]:
        name = _name(call.func)
        base = _name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if name in LEVELS and (base in LOGGERS or base.endswith(("logger", "log"))):
            if call.args:
                for found in self.made(call.args[0], function, "log", "", LEVELS[name], known):
                    yield Message(self.path, function, "log", "", found.level, logged(found.template))
        elif call.args and _ends_the_program(name, base):
            yield from self.made(call.args[0], function, "argparse", "SystemExit", "", known)
        elif name in ANSWERS:
            yield from self.first(call, function, "answer", "", known)
        elif name in CHECKS and len(call.args) > 1 and base in ("torch", "", "tvm"):
            yield from self.made(call.args[1], function, "raise", "RuntimeError", "", known)
        elif name in UNSUPPORTED:
            yield from self.first(call, function, "raise", "Unsupported", known)
        elif name == "__init__" and owner and isinstance(call.func, ast.Attribute) and _is_super(call.func.value):
            yield from self.first(call, function, "raise", owner, known)

    def first(self, call: ast.Call, function: str, kind: Kind, exception: str, known: Known) -> Iterator[Message]:
        for argument in _texts_of(call)[:1]:
            yield from self.made(argument, function, kind, exception, "", known)

    def made(
        self, node: ast.expr, function: str, kind: Kind, exception: str, level: str, known: Known
    ) -> Iterator[Message]:
        for template in templates(node, known):
            yield Message(self.path, function, kind, exception, level, template)


def _texts_of(call: ast.Call) -> list[ast.expr]:
    named = [word.value for key in NAMED for word in call.keywords if word.arg == key]
    return [*call.args, *named]


def _ends_the_program(name: str, base: str) -> bool:
    return (name == "error" and "parser" in base) or (name == "exit" and base == "sys")


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) == "super"


def _is_error(node: ast.ClassDef) -> bool:
    return any(_name(base).endswith(("Error", "Exception", "Warning")) for base in node.bases)


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def set_names(body: list[ast.stmt]) -> dict[str, list[ast.expr]]:
    """Return what names are set to in a body, its branches included and its inner functions not."""
    found: dict[str, list[ast.expr]] = {}
    for node in _statements(body):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
            name, value = node.target.id, node.value
            # `message += "…"`: the text goes on.
            if name in found and (_is_text(value) or isinstance(value, ast.Constant)):
                found[name] = [ast.BinOp(before, ast.Add(), value) for before in found[name]]
            continue
        else:
            continue
        if _is_text(value):
            found.setdefault(name, []).append(value)
    return found


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str() as text):
            return len(text) > 12
        case ast.JoinedStr():
            return True
        case ast.BinOp(left=left):
            return _is_text(left)
        case ast.IfExp(body=body):
            return _is_text(body)
        case ast.Call(func=ast.Attribute(value=base, attr="format")):
            return _is_text(base)
        case _:
            return False


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from _statements(handler.body)
        for case in getattr(node, "cases", []):
            yield from _statements(case.body)
