"""What one file of a release holds for comparisons: its functions, and what it raises on purpose."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from .guards import SET, Body, Guarded, Item, guarded
from .statements import is_kernel

_OWN = ("self.", "cls.")


class File:
    """A file of one release.

    Args:
        content: Of the file; one that does not parse has no functions.
        before: The same file of the release before: of functions that stand as they did there nothing is worked out again.

    Attributes:
        functions: By their names, with those of their classes.
        messages: That it raises on purpose.
    """

    def __init__(self, content: bytes, before: File | None = None) -> None:
        self.content = content
        self.functions: dict[str, Body] = {}
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
