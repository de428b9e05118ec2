"""The statements of a file by function, each with those of its lines that a frame of a traceback can show."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from ...corpus.code_lines import plain

TELLING = 40
"""Characters from which on a statement is hardly written twice: found in another function, it was moved there."""
_RAISES = re.compile(r"[(\[.+*/%@<>&|^-]|\b(?:assert|for|await|yield|in|not)\b|,.*=")
"""What a line holds that can fail."""
_SILENT = re.compile(r"(?:self\.)?_?log(?:ger)?\.\w|[rbf]{0,2}[\"'@]")
"""How lines begin that hardly ever fail: logging, text, decorators."""
_SHORT = 4


class Statement(NamedTuple):
    """What is compared between releases."""

    function: str
    """As tracebacks name it, without its class."""
    code: str
    """Without what formatters change."""


class Shown(NamedTuple):
    """What else is kept of a statement."""

    lines: frozenset[str]
    """Its physical lines, without what formatters change."""
    source: str
    """As it is written, without a block and without an annotation."""


Lines = dict[Statement, Shown]
"""The statements of a file."""


class Reader:
    """Reads files; a function that stands as it did in the release before is not read again."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, bytes], Lines] = {}
        self._now: dict[tuple[str, bytes], Lines] = {}

    def next_release(self) -> None:
        """Forget the functions of the release before the last."""
        self._before, self._now = {**self._now}, self._now

    def lines(self, content: bytes) -> Lines:
        """Return the statements of a file's functions; none where it does not parse."""
        content = content.replace(b"\r\n", b"\n")
        with warnings.catch_warnings():
            # Other people's invalid escapes are no news.
            warnings.simplefilter("ignore")
            try:
                module = ast.parse(content)
            except (SyntaxError, ValueError):
                return {}
        # Not splitlines: a form feed ends no line for Python.
        rows = content.split(b"\n")
        found: Lines = {}
        for node in ast.walk(module):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_kernel(node):
                # Also a function in which nothing can fail is there.
                found.setdefault(Statement(node.name, ""), Shown(frozenset(), ""))
                for statement, shown in self._function(node, rows).items():
                    _add(found, statement, shown)
        return found

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, rows: list[bytes]) -> Lines:
        text = b"\n".join(rows[node.lineno - 1 : node.end_lineno])
        known = self._before.get((node.name, text))
        if known is None:
            known = {}
            for source, lines in _statements(node.body, rows):
                _add(known, Statement(node.name, plain(source)), Shown(lines, source))
        self._now[node.name, text] = known
        return known


def _add(found: Lines, statement: Statement, shown: Shown) -> None:
    """Add a statement, or the lines in which it stands a second time."""
    other = found.get(statement)
    found[statement] = shown if other is None else Shown(other.lines | shown.lines, other.source)


def is_kernel(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is compiled for the GPU: no frame shows its lines."""
    return any("jit" in ast.unparse(each) for each in node.decorator_list)


def _statements(body: list[ast.stmt], rows: list[bytes]) -> Iterator[tuple[str, frozenset[str]]]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        found = shown_of(node, rows)
        if found is not None:
            yield found[1].source, found[1].lines
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []), rows)
        for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from _statements(handler.body, rows)


def shown_of(node: ast.stmt, rows: list[bytes]) -> tuple[str, Shown] | None:
    """Return a statement's code and what else is kept of it; None where no frame can show it, or it fails on purpose.

    Args:
        node: Of a function; what is in its block is left out.
        rows: The file's lines.
    """
    end = _end(node)
    if end is None:
        return None
    source = _segment(rows, node, end)
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        source = f"{_segment(rows, node.target, node.target)} = {_segment(rows, node.value, node.value)}"
    shown = [row.decode("utf-8", "replace").strip() for row in rows[node.lineno - 1 : end.end_lineno]]
    lines = frozenset(plain(row) for row in shown if _RAISES.search(row) and not _SILENT.match(row))
    lines = frozenset(line for line in lines if len(line) >= _SHORT)
    return (plain(source), Shown(lines, source)) if lines and not _SILENT.match(shown[0]) else None


def _end(node: ast.stmt) -> ast.expr | ast.stmt | None:
    """Return the last part of a statement without its block; None for what cannot fail, and for what fails on purpose."""
    match node:
        case ast.If() | ast.While() | ast.Assert():
            return node.test
        case ast.For() | ast.AsyncFor():
            return node.iter
        case ast.With() | ast.AsyncWith():
            return node.items[-1].optional_vars or node.items[-1].context_expr
        case ast.Match():
            return node.subject
        case ast.Return() | ast.Expr() | ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Delete():
            return node
    return None


def _segment(rows: list[bytes], first: ast.expr | ast.stmt, last: ast.expr | ast.stmt) -> str:
    stop = last.end_lineno or first.lineno
    taken = rows[first.lineno - 1 : stop]
    taken[-1] = taken[-1][: last.end_col_offset]
    taken[0] = taken[0][first.col_offset :]
    return b"\n".join(taken).decode("utf-8", "replace")
