"""What a name or an expression in a release's sources stands for, worked out without running them.

Only what option declarations use is understood; all else is ``UNKNOWN``, which the table shows as "not known".
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from .source import Tree


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
"""What cannot be told without running the code."""
DEEPEST = 40
"""Names that lead to names that lead to names: vLLM needs six; what needs more is a circle."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that another module gives."""

    module: str
    name: str
    """Empty: the module itself."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a name is defined, and by what."""

    path: str
    node: ast.ClassDef | ast.FunctionDef | ast.expr


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an enumeration."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands: its file, and the local names of its function."""

    path: str
    local: dict[str, Any]

    def inside(self, **names: Any) -> Place:
        """Return the same place with more local names."""
        return Place(self.path, {**self.local, **names})


Named = ast.ClassDef | ast.FunctionDef | ast.expr | Imported


class Resolver:
    """Follows names through the modules of one release."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._scopes: dict[str, dict[str, Named]] = {}
        self._depth = 0

    # Names

    def scope(self, path: str) -> dict[str, Named]:
        """Return what each name at the top of the file stands for when it runs."""
        if path not in self._scopes:
            module = self.tree.module(path)
            names: dict[str, Named] = {}
            self._scopes[path] = names
            if module is not None:
                _collect(module.body, path, names)
        return self._scopes[path]

    def find(self, path: str, name: str) -> Definition | None:
        """Return the definition of ``name`` as seen from the file ``path``, through any number of imports."""
        for _ in range(DEEPEST):
            found = self.scope(path).get(name)
            if not isinstance(found, Imported):
                return None if found is None else Definition(path, found)
            source = self.tree.path_of(found.module)
            if source is None or not found.name:
                return None
            path, name = source, found.name
        return None

    def class_at(self, place: Place, expression: ast.expr) -> Definition | None:
        """Return the class that ``expression`` names."""
        if isinstance(expression, ast.Name):
            local = place.local.get(expression.id)
            found = local if isinstance(local, Definition) else self.find(place.path, expression.id)
        elif isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name):
            module = self.scope(place.path).get(expression.value.id)
            if not isinstance(module, Imported):
                return None
            name = f"{module.module}.{module.name}".rstrip(".")
            source = self.tree.path_of(name)
            found = None if source is None else self.find(source, expression.attr)
        else:
            return None
        return found if found is not None and isinstance(found.node, ast.ClassDef) else None

    def lineage(self, definition: Definition) -> list[Definition]:
        """Return the class and its bases in this release, nearest first."""
        line = [definition]
        assert isinstance(definition.node, ast.ClassDef)
        for base in definition.node.bases:
            parent = self.class_at(Place(definition.path, {}), base)
            if parent is not None and parent not in line:
                line += [each for each in self.lineage(parent) if each not in line]
        return line

    def method(self, definition: Definition, name: str, *, above: bool = False) -> Definition | None:
        """Return the method ``name`` of a class or of its bases (only of its bases where ``above``)."""
        for each in self.lineage(definition)[1 if above else 0 :]:
            assert isinstance(each.node, ast.ClassDef)
            for node in each.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return Definition(each.path, node)
        return None

    def is_enum(self, definition: Definition) -> bool:
        """Tell whether a class is an enumeration."""
        return any(
            "Enum" in ast.unparse(base) for each in self.lineage(definition) if isinstance(each.node, ast.ClassDef) for base in each.node.bases
        )

    def members(self, definition: Definition) -> list[Member]:
        """Return the members of an enumeration in order."""
        assert isinstance(definition.node, ast.ClassDef)
        found = []
        for node in definition.node.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = self.value(node.value, Place(definition.path, {}))
                name = node.targets[0].id
                found.append(Member(name, name.lower() if _is_auto(node.value) else value))
        return found

    # Values

    def value(self, expression: ast.expr | None, place: Place) -> Any:
        """Return what ``expression`` evaluates to; ``UNKNOWN`` where that takes running the code."""
        if expression is None or self._depth > DEEPEST:
            return UNKNOWN
        self._depth += 1
        try:
            return self.evaluate(expression, place)
        finally:
            self._depth -= 1

    def evaluate(self, expression: ast.expr, place: Place) -> Any:
        """Evaluate one expression by its kind."""
        match expression:
            case ast.Constant(value=value):
                return UNKNOWN if value is ... or isinstance(value, (bytes, complex)) else value
            case ast.Name(id=name):
                return self._name(name, place)
            case ast.Attribute():
                return self.attribute(expression, place)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return self._items(items, place)
            case ast.Set(elts=items):
                return _sorted(self._items(items, place))
            case ast.Dict():
                return self.mapping(expression, place)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self.value(operand, place)
                return -value if isinstance(value, (int, float)) else UNKNOWN
            case ast.BinOp():
                return _combined(expression.op, self.value(expression.left, place), self.value(expression.right, place))
            case ast.JoinedStr(values=parts):
                return self._text(parts, place)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self._comprehension(expression, place)
            case ast.Subscript():
                return self.subscript(expression, place)
            case ast.Call():
                return self.call(expression, place)
        return UNKNOWN

    def attribute(self, expression: ast.Attribute, place: Place) -> Any:
        """Evaluate ``a.b``: a member, its value, or the default of a class's field."""
        owner = self.class_at(place, expression.value) or self.value(expression.value, place)
        if isinstance(owner, Member):
            return {"name": owner.name, "value": owner.value}.get(expression.attr, UNKNOWN)
        if not isinstance(owner, Definition) or not isinstance(owner.node, ast.ClassDef):
            # A member of an enumeration that is a string already: `.value` is the string.
            return owner if expression.attr == "value" and isinstance(owner, str) else UNKNOWN
        if self.is_enum(owner):
            return next((member for member in self.members(owner) if member.name == expression.attr), UNKNOWN)
        for each in self.lineage(owner):
            assert isinstance(each.node, ast.ClassDef)
            for node in each.node.body:
                if (value := _assigned(node, expression.attr)) is not None:
                    return self.value(value, Place(each.path, {}))
        return UNKNOWN

    def mapping(self, expression: ast.Dict, place: Place) -> Any:
        """Evaluate a dictionary."""
        result = {}
        for key, item in zip(expression.keys, expression.values, strict=True):
            name, value = self.value(key, place), self.value(item, place)
            if not isinstance(name, (str, int)) or value is UNKNOWN:
                return UNKNOWN
            result[name] = value
        return result

    def subscript(self, expression: ast.Subscript, place: Place) -> Any:
        """Evaluate ``a[b]``."""
        owner, key = self.value(expression.value, place), self.value(expression.slice, place)
        try:
            return owner[key]
        except (TypeError, KeyError, IndexError):
            return UNKNOWN

    def call(self, expression: ast.Call, place: Place) -> Any:
        """Evaluate the calls that defaults and choices are written with."""
        name = called(expression)
        if name in ("field", "Field", "PydanticField"):
            return self.default_of(expression, place)
        if name == "get_field" and len(expression.args) == 2:
            wanted = ast.Attribute(expression.args[0], str(self.value(expression.args[1], place)), ast.Load())
            return self.value(wanted, place)
        if name == "get_args" and expression.args:
            return self.literals(expression.args[0], place)
        if name == "keys" and isinstance(expression.func, ast.Attribute):
            value = self.value(expression.func.value, place)
            return list(value) if isinstance(value, dict) else UNKNOWN
        if name in ("lower", "upper") and isinstance(expression.func, ast.Attribute):
            value = self.value(expression.func.value, place)
            return getattr(value, name)() if isinstance(value, str) else UNKNOWN
        if name in _SIMPLE and not expression.keywords and len(expression.args) <= 1:
            return _simple(name, self.value(expression.args[0], place) if expression.args else None)
        return UNKNOWN

    def default_of(self, expression: ast.Call, place: Place) -> Any:
        """Return the default that ``field(…)`` or ``Field(…)`` gives."""
        words = {word.arg: word.value for word in expression.keywords}
        if "default" in words:
            return self.value(words["default"], place)
        factory = words.get("default_factory")
        if factory is None:
            return self.value(expression.args[0], place) if expression.args else UNKNOWN
        if isinstance(factory, ast.Lambda):
            return self.value(factory.body, place)
        return _simple(factory.id, None) if isinstance(factory, ast.Name) and factory.id in _SIMPLE else UNKNOWN

    def literals(self, expression: ast.expr, place: Place) -> Any:
        """Return the values of a ``Literal`` type, through aliases and unions; ``UNKNOWN`` for any other type."""
        match expression:
            case ast.Constant(value=str(text)):
                return self.literals(ast.parse(text, mode="eval").body, place)
            case ast.Subscript(value=head, slice=inner) if ast.unparse(head).endswith("Literal"):
                items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return self._spread(items, place)
            case ast.Subscript(value=head, slice=inner) if ast.unparse(head).split(".")[-1] in ("Optional", "Union", "Annotated"):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return next((found for part in parts if (found := self.literals(part, place)) is not UNKNOWN), UNKNOWN)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                found = self.literals(left, place)
                return self.literals(right, place) if found is UNKNOWN else found
            case ast.Name(id=name):
                definition = self.find(place.path, name)
                if definition is not None and isinstance(definition.node, ast.expr):
                    return self.literals(definition.node, Place(definition.path, {}))
        return UNKNOWN

    def _spread(self, items: list[ast.expr], place: Place) -> Any:
        # Literal[OtherLiteral, "more"] nests.
        result: list[Any] = []
        for item in items:
            value = self.value(item, place) if isinstance(item, ast.Constant) else self.literals(item, place)
            if value is UNKNOWN:
                return UNKNOWN
            result += value if isinstance(value, list) else [value]
        return result

    def _name(self, name: str, place: Place) -> Any:
        if name in place.local:
            return place.local[name]
        definition = self.find(place.path, name)
        if definition is None:
            return UNKNOWN
        if isinstance(definition.node, ast.expr):
            return self.value(definition.node, Place(definition.path, {}))
        return definition

    def _items(self, items: list[ast.expr], place: Place) -> Any:
        result = []
        for item in items:
            spread = isinstance(item, ast.Starred)
            value = self.value(item.value if isinstance(item, ast.Starred) else item, place)
            if value is UNKNOWN or (spread and not isinstance(value, list)):
                return UNKNOWN
            result += value if spread else [value]
        return result

    def _text(self, parts: list[ast.expr], place: Place) -> Any:
        texts = []
        for part in parts:
            value = self.value(part.value if isinstance(part, ast.FormattedValue) else part, place)
            if not isinstance(value, (str, int, float)):
                return UNKNOWN
            texts.append(str(value))
        return "".join(texts)

    def _comprehension(self, expression: ast.ListComp | ast.SetComp | ast.GeneratorExp, place: Place) -> Any:
        loop = expression.generators[0]
        if len(expression.generators) > 1 or loop.ifs or not isinstance(loop.target, ast.Name):
            return UNKNOWN
        items = self.value(loop.iter, place)
        if isinstance(items, Definition) and self.is_enum(items):
            items = self.members(items)
        if not isinstance(items, (list, dict)):
            return UNKNOWN
        result = [self.value(expression.elt, place.inside(**{loop.target.id: item})) for item in items]
        return UNKNOWN if UNKNOWN in result else result


def called(expression: ast.Call) -> str:
    """Return the last part of the name that is called."""
    return ast.unparse(expression.func).rsplit(".", 1)[-1] if isinstance(expression.func, (ast.Name, ast.Attribute)) else ""


def plain(value: Any) -> Any:
    """Return ``value`` as JSON can hold it; ``UNKNOWN`` where it cannot."""
    if isinstance(value, Member):
        return plain(value.value) if isinstance(value.value, str) else value.name
    if isinstance(value, list):
        items = [plain(item) for item in value]
        return UNKNOWN if UNKNOWN in items else items
    if isinstance(value, dict):
        pairs = {str(key): plain(item) for key, item in value.items()}
        return UNKNOWN if UNKNOWN in pairs.values() else pairs
    return value if value is None or isinstance(value, (str, int, float, bool)) else UNKNOWN


_SIMPLE: dict[str, Callable[[Any], Any]] = {
    "list": list, "tuple": list, "set": lambda items: _sorted(list(items)), "frozenset": lambda items: _sorted(list(items)),
    "sorted": lambda items: _sorted(list(items)), "dict": dict, "int": int, "float": float, "str": str, "bool": bool,
}  # fmt: skip
_EMPTY: dict[str, Any] = {
    "list": [], "tuple": [], "set": [], "frozenset": [], "dict": {}, "int": 0, "float": 0.0, "str": "", "bool": False,
}  # fmt: skip


def _simple(name: str, argument: Any) -> Any:
    if argument is None:
        return _EMPTY.get(name, UNKNOWN)
    if argument is UNKNOWN or isinstance(argument, Definition):
        return UNKNOWN
    try:
        return _SIMPLE[name](argument)
    except (TypeError, ValueError):
        return UNKNOWN


def _sorted(items: Any) -> Any:
    return items if items is UNKNOWN else sorted(items, key=str)


def _combined(operator: ast.operator, left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    try:
        match operator:
            case ast.Add():
                return left + right
            case ast.Mult():
                return left * right
            case ast.Sub():
                return left - right
            case ast.Div():
                return left / right
            case ast.Pow() if right < 64:
                return left**right
            case ast.LShift() if right < 64:
                return left << right
    except (TypeError, ValueError, ZeroDivisionError):
        pass
    return UNKNOWN


def _is_auto(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and called(expression) == "auto"


def _assigned(node: ast.stmt, name: str) -> ast.expr | None:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
        return node.value
    if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in node.targets):
        return node.value
    return None


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
