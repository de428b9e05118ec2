"""What one file of a release holds for comparisons: its functions, what it raises on purpose, which weights it names."""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from .guards import SET, Body, Guarded, Item, guarded
from .statements import is_kernel

_MODELS = "model_executor/models/"
_BLANK = re.compile(r"\s|.{81}")
_WORD = re.compile(r"[a-zA-Z_]\w{2,40}")
_OWN = ("self.", "cls.")


class File:
    """A file of one release.

    Args:
        path: From the package on.
        content: Of the file; one that does not parse has no functions.
        before: The same file of the release before: of functions that stand as they did there nothing is worked out again.

    Attributes:
        functions: By their names, with those of their classes.
        messages: That it raises on purpose.
        names: Words in which it tells of weights, where it is a model's.
    """

    def __init__(self, path: str, content: bytes, before: File | None = None) -> None:
        self.content = content
        self.functions: dict[str, Body] = {}
        self.names: frozenset[str] = frozenset()
        self._bodies: dict[bytes, Body] = {}
        rows = content.replace(b"\r\n", b"\n").split(b"\n")
        with warnings.catch_warnings():
            # Other people's invalid escapes are no news.
            warnings.simplefilter("ignore")
            try:
                module = ast.parse(b"\n".join(rows))
            except (SyntaxError, ValueError):
                module = ast.Module([], [])
        known = before._bodies if before is not None else {}  # noqa: SLF001 - another of its kind
        for name, node in _named(module, ""):
            if not is_kernel(node):
                text = b"\n".join(rows[node.lineno - 1 : node.end_lineno])
                self.functions[name] = self._bodies[text] = known.get(text) or guarded(node, rows)
        if _MODELS in path:
            self.names = _weights(module)
        found = (each for body in self.functions.values() for each in body.statements)
        self.messages = frozenset(each.code for each in found if each.raises)

    def items(self, name: str, statement: Guarded) -> tuple[Item, ...]:
        """Return what guards and feeds a statement of a function; of one that raises on purpose also outside of the function."""
        if not statement.raises:
            return statement.items
        owner = name.rpartition(".")[0]
        return (*statement.items, *(item for used in sorted(statement.unset) for item in self._fed(owner, used)))

    def _fed(self, owner: str, name: str) -> Iterator[Item]:
        yield from (Item(SET, value, name) for value in self._sets.get(f"{owner}.{name}", ()))
        own = name.partition(".")[2] if name.startswith(_OWN) else ""
        called = self.functions.get(f"{owner}.{own}" if own else name)
        for inner in called.statements if called is not None else ():
            if not inner.raises:
                yield Item(SET, inner.shown.source, name)

    @cached_property
    def _sets(self) -> dict[str, list[str]]:
        """What each name of each class is set to: ``Pool.self.size``."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name, body in self.functions.items():
            for each, values in body.sets.items():
                if each.startswith(_OWN):
                    found[f"{name.rpartition('.')[0]}.{each}"] += values
        return found


def _named(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions below a node, with their names and those around them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if not isinstance(child, ast.ClassDef):
                yield f"{prefix}{child.name}", child
            yield from _named(child, f"{prefix}{child.name}.")
        elif isinstance(child, (ast.stmt, ast.ExceptHandler)):
            yield from _named(child, prefix)


def _weights(module: ast.Module) -> frozenset[str]:
    """Return the words of texts without blanks, and what functions make whose names begin with ``init_``."""
    found = set[str]()
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not _BLANK.search(node.value):
            found.update(_WORD.findall(node.value))
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("init_"):
            found.add(node.name.removeprefix("init_"))
    return frozenset(found)
