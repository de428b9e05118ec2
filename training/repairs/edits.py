"""The functions that a commit changed, as they stood before and after it."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..fingerprint.guards import Body, guarded
from .history import Edit

_SCOPE = re.compile(r"(\s*)(?:async\s+)?(def|class)\s+(\w+)")
_LEVEL = re.compile(r"\s*")


class Function(NamedTuple):
    """A function of one file."""

    owner: str
    """Its class; "" for none."""
    name: str
    body: Body
    arguments: frozenset[str]
    source: str


class Scopes:
    """The functions and classes of a file, found by their indentation, so that what was not changed is not parsed.

    Args:
        text: Of the file.
    """

    def __init__(self, text: str) -> None:
        self.rows = text.split("\n")
        self._heads: list[tuple[int, int, str, str]] = []  # line, indentation, kind, name
        for at, row in enumerate(self.rows, 1):
            if ("def " in row or "class " in row) and (found := _SCOPE.match(row)):
                self._heads.append((at, len(found[1]), found[2], found[3]))

    def around(self, line: int) -> tuple[str, str, int]:
        """Return the class and the outermost function around a line, and where the function begins; "" and 0 for none."""
        level, owner, name, start = 1 << 20, "", "", 0
        row = self.rows[line - 1] if line <= len(self.rows) else ""
        if row.strip():
            level = len(row) - len(row.lstrip()) + (1 if _SCOPE.match(row) else 0)
        for at, indent, kind, called in reversed(self._heads):
            if at > line or indent >= level:
                continue
            level = indent
            if kind == "def":
                name, start, owner = called, at, ""
            elif not owner:
                owner = called
            if not indent:
                break
        return owner, name, start

    def function(self, start: int) -> tuple[str, list[bytes]]:
        """Return the text of the function that begins on a line, and its rows."""
        indent = len(self.rows[start - 1]) - len(self.rows[start - 1].lstrip())
        end = start
        for at in range(start, len(self.rows)):
            row = self.rows[at]
            if not row.strip():
                continue
            if len(row) - len(row.lstrip()) <= indent and not row.lstrip().startswith((")", "#")):
                break
            end = at + 1
        text = textwrap.dedent("\n".join(self.rows[start - 1 : end]))
        return text, [each.encode() for each in text.split("\n")]


def functions(edit: Edit) -> tuple[dict[str, Function], dict[str, Function], Scopes, Scopes]:
    """Return the functions that an edit touched, by class and name, before and after, and both files' scopes."""
    old, new = Scopes(edit.old), Scopes(edit.new)
    touched = {*_touched(old, edit.gone), *_touched(new, edit.added)}
    return _read(old, touched), _read(new, touched), old, new


def _touched(scopes: Scopes, lines: Iterable[int]) -> Iterator[tuple[str, str]]:
    for line in lines:
        owner, name, _ = scopes.around(line)
        if name:
            yield owner, name


def _read(scopes: Scopes, touched: set[tuple[str, str]]) -> dict[str, Function]:
    found: dict[str, Function] = {}
    names = {name for _, name in touched}
    for at, _, kind, name in scopes._heads:  # noqa: SLF001 - of this module
        if kind != "def" or name not in names:
            continue
        owner, called, start = scopes.around(at + 1) if at < len(scopes.rows) else ("", "", 0)
        if start != at or (owner, called) not in touched:
            continue
        text, rows = scopes.function(at)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other people's invalid escapes
            try:
                node = ast.parse(text).body[0]
            except (SyntaxError, ValueError, IndexError):
                continue
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                arguments = frozenset(each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg))
                inner = [each for each in ast.walk(node) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
                for each in inner:
                    body = guarded(each, rows)
                    key = f"{owner}.{name}" + ("" if each is node else f".{each.name}")
                    found[key] = Function(owner, each.name, body, arguments if each is node else frozenset(), text)
    return found
