"""What a name in a release's sources stands for: definitions, followed through any number of imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .source import Tree

FARTHEST = 40
"""Imports that lead to imports: vLLM needs four in a row; what needs more is a circle."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that another module gives."""

    module: str
    name: str
    """Empty: the module itself."""


@dataclass(frozen=True, slots=True)
class Class:
    """A class, and the file that it stands in."""

    path: str
    node: ast.ClassDef


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method, and the file that it stands in."""

    path: str
    node: ast.FunctionDef


@dataclass(frozen=True, slots=True)
class Value:
    """The expression that a name is set to, and the file that it stands in."""

    path: str
    node: ast.expr


Definition = Class | Function | Value
Named = ast.ClassDef | ast.FunctionDef | ast.expr | Imported


class Names:
    """The names of one release."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._scopes: dict[str, dict[str, Named]] = {}

    def scope(self, path: str) -> dict[str, Named]:
        """Return what each name at the top of the file stands for when it runs."""
        if path not in self._scopes:
            module = self.tree.module(path)
            names: dict[str, Named] = {}
            if module is not None:
                _collect(module.body, path, names)
            self._scopes[path] = names
        return self._scopes[path]

    def find(self, path: str, name: str) -> Definition | None:
        """Return the definition of ``name`` as seen from the file ``path``."""
        for _ in range(FARTHEST):
            found = self.scope(path).get(name)
            if not isinstance(found, Imported):
                return None if found is None else _definition(path, found)
            source = self.tree.path_of(found.module)
            if source is None or not found.name:
                return None
            path, name = source, found.name
        return None

    def find_class(self, path: str, expression: ast.expr) -> Class | None:
        """Return the class that ``expression`` (``Name`` or ``module.Name``) is seen from the file ``path``."""
        found = None
        if isinstance(expression, ast.Name):
            found = self.find(path, expression.id)
        elif isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name):
            module = self.scope(path).get(expression.value.id)
            if isinstance(module, Imported):
                source = self.tree.path_of(f"{module.module}.{module.name}".rstrip("."))
                found = None if source is None else self.find(source, expression.attr)
        return found if isinstance(found, Class) else None

    def lineage(self, cls: Class) -> list[Class]:
        """Return the class and its bases in this release, nearest first."""
        line = [cls]
        for base in cls.node.bases:
            parent = self.find_class(cls.path, base)
            if parent is not None and parent not in line:
                line += [each for each in self.lineage(parent) if each not in line]
        return line

    def methods(self, cls: Class, name: str) -> list[Function]:
        """Return the methods ``name`` of a class and its bases, in the order in which ``super()`` goes."""
        return [
            Function(each.path, node)
            for each in self.lineage(cls)
            for node in each.node.body
            if isinstance(node, ast.FunctionDef) and node.name == name
        ]

    def bases(self, cls: Class) -> set[str]:
        """Return the names of all bases, those that stand outside of the release included."""
        return {ast.unparse(base).split("[")[0] for each in self.lineage(cls) for base in each.node.bases}

    def is_enum(self, cls: Class) -> bool:
        """Return whether a class is an enumeration."""
        return any("Enum" in base for base in self.bases(cls))


def called(expression: ast.Call) -> str:
    """Return the last part of the name that is called."""
    function = expression.func
    return ast.unparse(function).rsplit(".", 1)[-1] if isinstance(function, (ast.Name, ast.Attribute)) else ""


def assigned(node: ast.stmt, name: str) -> ast.expr | None:
    """Return what the statement sets ``name`` to; None where it does not."""
    if isinstance(node, ast.AnnAssign):
        targets: list[ast.expr] = [node.target]
    elif isinstance(node, ast.Assign):
        targets = node.targets
    else:
        return None
    return node.value if any(isinstance(target, ast.Name) and target.id == name for target in targets) else None


def _definition(path: str, node: ast.ClassDef | ast.FunctionDef | ast.expr) -> Definition:
    if isinstance(node, ast.ClassDef):
        return Class(path, node)
    return Function(path, node) if isinstance(node, ast.FunctionDef) else Value(path, node)


def _collect(body: list[ast.stmt], path: str, names: dict[str, Named]) -> None:
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update({target.id: node.value for target in targets if isinstance(target, ast.Name)})
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(_imports(node, path))
        elif isinstance(node, ast.If):
            # At run time `TYPE_CHECKING` is false: its branch only fills what nothing else defines.
            branches = [node.body, node.orelse]
            for branch in branches if "TYPE_CHECKING" in ast.unparse(node.test) else reversed(branches):
                _collect(branch, path, names)
        elif isinstance(node, ast.Try):
            for handler in node.handlers:
                _collect(handler.body, path, names)
            _collect(node.body + node.orelse, path, names)


def _imports(node: ast.Import | ast.ImportFrom, path: str) -> Iterator[tuple[str, Imported]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            module = alias.name if alias.asname else alias.name.split(".")[0]
            yield alias.asname or module, Imported(module, "")
        return
    folder = path.removesuffix(".py").split("/")
    parent = ".".join(folder[: len(folder) - node.level]) if node.level else ""
    module = ".".join(part for part in (parent, node.module or "") if part)
    for alias in node.names:
        yield alias.asname or alias.name, Imported(module, alias.name)
