"""What an expression in a release's sources evaluates to, worked out without running it.

Only what option declarations are written with is understood; all else is ``UNKNOWN``, which the table leaves out.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from .names import Class, Function, Names, Value, assigned, called
from .source import Tree


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
"""What cannot be told without running the code."""
DEEPEST = 40
"""Expressions within expressions; what goes deeper refers to itself."""


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


class Resolver(Names):
    """Evaluates expressions of one release."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._depth = 0
        self._kinds: dict[type[ast.expr], Callable[[Any, Place], Any]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.List: self._items,
            ast.Tuple: self._items,
            ast.Set: lambda expression, place: _in_order(self._items(expression, place)),
            ast.Dict: self.mapping,
            ast.UnaryOp: self._negative,
            ast.BinOp: self._combined,
            ast.JoinedStr: self._text,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.Subscript: self.subscript,
            ast.Call: self.call,
        }

    def value(self, expression: ast.expr | None, place: Place) -> Any:
        """Return what ``expression`` evaluates to; ``UNKNOWN`` where that takes running the code."""
        evaluate = self._kinds.get(type(expression)) if expression is not None else None
        if evaluate is None or self._depth > DEEPEST:
            return UNKNOWN
        self._depth += 1
        try:
            return evaluate(expression, place)
        finally:
            self._depth -= 1

    def class_at(self, place: Place, expression: ast.expr) -> Class | None:
        """Return the class that ``expression`` names."""
        local = place.local.get(expression.id) if isinstance(expression, ast.Name) else None
        return local if isinstance(local, Class) else self.find_class(place.path, expression)

    def members(self, cls: Class) -> list[Member]:
        """Return the members of an enumeration in order."""
        found = []
        for node in cls.node.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                automatic = isinstance(node.value, ast.Call) and called(node.value) == "auto"
                found.append(Member(name, name.lower() if automatic else self.value(node.value, Place(cls.path, {}))))
        return found

    def literals(self, expression: ast.expr, place: Place) -> Any:
        """Return the values of a ``Literal`` type, through aliases and unions; ``UNKNOWN`` for any other type."""
        found = UNKNOWN
        match expression:
            case ast.Constant(value=str(text)):
                found = self.literals(ast.parse(text, mode="eval").body, place)
            case ast.Subscript(value=head, slice=inner):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                name = ast.unparse(head).split(".")[-1]
                if name == "Literal":
                    found = self._nested_literals(parts, place)
                elif name in ("Optional", "Union", "Annotated"):
                    found = self._first_literals(parts, place)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                found = self._first_literals([left, right], place)
            case ast.Name(id=name):
                alias = self.find(place.path, name)
                if isinstance(alias, Value):
                    found = self.literals(alias.node, Place(alias.path, {}))
        return found

    # What a subclass may read in another way

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
        name, arguments = called(expression), expression.args
        if name in ("field", "Field", "PydanticField"):
            return self._default(expression, place)
        if name == "get_field" and len(arguments) == 2:
            # Configuration classes' own way to ask for the default of a field.
            field = str(self.value(arguments[1], place))
            return self.value(ast.Attribute(arguments[0], field, ast.Load()), place)
        if name == "get_args" and arguments:
            return self.literals(arguments[0], place)
        if name in _METHODS and isinstance(expression.func, ast.Attribute):
            return _tried(_METHODS[name], self.value(expression.func.value, place))
        if name in _BUILTIN and not expression.keywords and len(arguments) <= 1:
            return _built(name, self.value(arguments[0], place)) if arguments else _EMPTY.get(name, UNKNOWN)
        return UNKNOWN

    # Expressions by their kind

    @staticmethod
    def _constant(expression: ast.Constant, place: Place) -> Any:  # noqa: ARG004 (called like the others)
        value = expression.value
        return value if value is None or isinstance(value, (str, int, float, bool)) else UNKNOWN

    def _name(self, expression: ast.Name, place: Place) -> Any:
        if expression.id in place.local:
            return place.local[expression.id]
        found = self.find(place.path, expression.id)
        return self.value(found.node, Place(found.path, {})) if isinstance(found, Value) else found or UNKNOWN

    def _attribute(self, expression: ast.Attribute, place: Place) -> Any:
        owner = self.class_at(place, expression.value) or self.value(expression.value, place)
        if isinstance(owner, Member):
            return {"name": owner.name, "value": owner.value}.get(expression.attr, UNKNOWN)
        if not isinstance(owner, Class):
            # A member of an enumeration that is a string already: `.value` is the string.
            return owner if expression.attr == "value" and isinstance(owner, str) else UNKNOWN
        if self.is_enum(owner):
            return next((member for member in self.members(owner) if member.name == expression.attr), UNKNOWN)
        for cls in self.lineage(owner):
            for node in cls.node.body:
                if (value := assigned(node, expression.attr)) is not None:
                    return self.value(value, Place(cls.path, {}))
        return UNKNOWN

    def _items(self, expression: ast.List | ast.Tuple | ast.Set, place: Place) -> Any:
        result: list[Any] = []
        for item in expression.elts:
            spread = isinstance(item, ast.Starred)
            value = self.value(item.value if isinstance(item, ast.Starred) else item, place)
            if value is UNKNOWN or (spread and not isinstance(value, list)):
                return UNKNOWN
            result += value if spread else [value]
        return result

    def _negative(self, expression: ast.UnaryOp, place: Place) -> Any:
        return (
            _tried(operator.neg, self.value(expression.operand, place))
            if isinstance(expression.op, ast.USub)
            else UNKNOWN
        )

    def _combined(self, expression: ast.BinOp, place: Place) -> Any:
        left, right = self.value(expression.left, place), self.value(expression.right, place)
        combine = _OPERATORS.get(type(expression.op))
        if combine is None or left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        return _tried(lambda value: combine(value, right), left)

    def _text(self, expression: ast.JoinedStr, place: Place) -> Any:
        texts = []
        for part in expression.values:
            value = self.value(part.value if isinstance(part, ast.FormattedValue) else part, place)
            if not isinstance(value, (str, int, float)):
                return UNKNOWN
            texts.append(str(value))
        return "".join(texts)

    def _comprehension(self, expression: ast.ListComp | ast.SetComp | ast.GeneratorExp, place: Place) -> Any:
        loop = expression.generators[0]
        items = self.value(loop.iter, place)
        if isinstance(items, Class) and self.is_enum(items):
            items = self.members(items)
        if len(expression.generators) > 1 or loop.ifs or not isinstance(items, (list, dict)):
            return UNKNOWN
        name = ast.unparse(loop.target)
        result = [self.value(expression.elt, Place(place.path, {**place.local, name: item})) for item in items]
        return UNKNOWN if UNKNOWN in result else result

    def _default(self, expression: ast.Call, place: Place) -> Any:
        words = {word.arg: word.value for word in expression.keywords}
        if "default" in words:
            return self.value(words["default"], place)
        factory = words.get("default_factory")
        if isinstance(factory, ast.Lambda):
            return self.value(factory.body, place)
        if factory is not None:
            return _EMPTY.get(ast.unparse(factory), UNKNOWN)
        return self.value(expression.args[0], place) if expression.args else UNKNOWN

    def _first_literals(self, types: list[ast.expr], place: Place) -> Any:
        return next((found for each in types if (found := self.literals(each, place)) is not UNKNOWN), UNKNOWN)

    def _nested_literals(self, items: list[ast.expr], place: Place) -> Any:
        # A Literal may name other Literals among its values.
        result: list[Any] = []
        for item in items:
            value = self.value(item, place) if isinstance(item, ast.Constant) else self.literals(item, place)
            if value is UNKNOWN:
                return UNKNOWN
            result += value if isinstance(value, list) else [value]
        return result


def plain(value: Any) -> Any:
    """Return ``value`` as JSON can hold it; ``UNKNOWN`` where it cannot."""
    if isinstance(value, Member):
        return value.value if isinstance(value.value, str) else value.name
    if isinstance(value, list):
        items = [plain(item) for item in value]
        return UNKNOWN if UNKNOWN in items else items
    if isinstance(value, dict):
        pairs = {str(key): plain(item) for key, item in value.items()}
        return UNKNOWN if UNKNOWN in pairs.values() else pairs
    return value if value is None or isinstance(value, (str, int, float, bool)) else UNKNOWN


def _in_order(items: Any) -> Any:
    return items if items is UNKNOWN else sorted(items, key=str)


def _listed(items: Any) -> list[Any]:
    return sorted(items, key=str)


_BUILTIN: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": list,
    "set": _listed,
    "frozenset": _listed,
    "sorted": _listed,
    "dict": dict,
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
}
_EMPTY: dict[str, Any] = {
    "list": [],
    "tuple": [],
    "set": [],
    "frozenset": [],
    "dict": {},
    "int": 0,
    "float": 0.0,
    "str": "",
    "bool": False,
}
_METHODS: dict[str, Callable[[Any], Any]] = {"keys": list, "lower": str.lower, "upper": str.upper}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: lambda left, right: (
        left * right if isinstance(left, (int, float)) and isinstance(right, (int, float)) else UNKNOWN
    ),
    ast.Div: operator.truediv,
    # Sources are other people's: no power and no shift that fills the memory.
    ast.Pow: lambda left, right: left**right if abs(right) < 64 else UNKNOWN,
    ast.LShift: lambda left, right: left << right if right < 64 else UNKNOWN,
}


def _built(name: str, argument: Any) -> Any:
    return UNKNOWN if isinstance(argument, (Class, Function)) else _tried(_BUILTIN[name], argument)


def _tried(function: Callable[[Any], Any], argument: Any) -> Any:
    if argument is UNKNOWN:
        return UNKNOWN
    try:
        return function(argument)
    except (TypeError, ValueError, ArithmeticError):
        return UNKNOWN
