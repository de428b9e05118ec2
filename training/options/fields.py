"""Configuration classes: their fields, and the option that vLLM's ``get_kwargs`` makes of each."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Any

from .names import Class, Value
from .resolve import UNKNOWN, Place, Resolver, plain

DEEPEST = 12
"""Types within types; what goes deeper refers to itself."""


@dataclass(slots=True)
class Option:
    """How an option is given: what ``add_argument`` is told about it."""

    kind: str = "str"
    """``str``, ``int``, ``float``, ``bool`` (takes true or false), ``json``, or ``switch`` (takes no value)."""
    many: bool = False
    """Takes several values."""
    negated: bool = False
    """Has a ``--no-…`` form."""
    choices: Any = UNKNOWN
    default: Any = UNKNOWN
    help: str = ""
    deprecated: bool = False
    keys: tuple[str, ...] = ()
    """Keys of the object that a JSON option takes, where a class of this release declares them."""

    def copy(self) -> Option:
        """Return an option that can be changed without changing this one."""
        return replace(self)


@dataclass(slots=True)
class Field:
    """One field of a configuration class."""

    place: Place
    annotation: ast.expr
    default: ast.expr | None
    help: str = ""


@dataclass(slots=True)
class Hints:
    """What a field's annotation allows."""

    names: set[str] = field(default_factory=set)
    literals: list[Any] = field(default_factory=list)
    items: str = "str"
    """Kind of the elements, of a list."""
    keys: tuple[str, ...] = ()


_BUILTIN = {
    **{name: name for name in ("bool", "int", "float", "str", "None")},
    **dict.fromkeys(("dict", "Dict", "Mapping"), "dict"),
    **dict.fromkeys(("list", "List", "Sequence", "tuple", "Tuple", "set", "Set", "frozenset"), "list"),
}


def fields_of(resolver: Resolver, cls: Class) -> dict[str, Field]:
    """Return the fields of a configuration class, those of its bases first."""
    found: dict[str, Field] = {}
    for each in reversed(resolver.lineage(cls)):
        for node, after in zip(each.node.body, [*each.node.body[1:], None], strict=True):
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            if ast.unparse(node.annotation).split("[")[0].split(".")[-1] in ("ClassVar", "InitVar"):
                continue
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            found[node.target.id] = Field(Place(each.path, {}), node.annotation, node.value, str(text))
    return found


def keys_of(resolver: Resolver, cls: Class) -> tuple[str, ...]:
    """Return the keys that the object of a configuration class may have."""
    return tuple(name for name in fields_of(resolver, cls) if not name.startswith("_"))


def hints(resolver: Resolver, annotation: ast.expr, place: Place, depth: int = 0) -> Hints:
    """Return what ``annotation`` allows, aliases and unions taken apart."""
    result = Hints({"other"})
    match annotation:
        case _ if depth > DEEPEST:
            pass
        case ast.Constant(value=None):
            result = Hints({"None"})
        case ast.Constant(value=str(text)):
            result = hints(resolver, ast.parse(text, mode="eval").body, place, depth + 1)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            result = _merged(resolver, [left, right], place, depth)
        case ast.Subscript(value=head, slice=inner):
            result = _subscripted(resolver, ast.unparse(head).split(".")[-1], inner, place, depth)
        case ast.Name(id=name) if name in _BUILTIN:
            result = Hints({_BUILTIN[name]})
        case ast.Name() | ast.Attribute():
            result = _named(resolver, annotation, place, depth)
    return result


def _merged(resolver: Resolver, parts: list[ast.expr], place: Place, depth: int) -> Hints:
    result = Hints()
    for part in parts:
        found = hints(resolver, part, place, depth + 1)
        result.names |= found.names
        result.literals += found.literals
        result.keys = result.keys or found.keys
        result.items = found.items if "list" in found.names else result.items
    return result


def _subscripted(resolver: Resolver, head: str, inner: ast.expr, place: Place, depth: int) -> Hints:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if head == "Literal":
        values = resolver.literals(ast.Subscript(ast.Name("Literal"), inner), place)
        return Hints({"literal"}, values if isinstance(values, list) else [])
    if head in ("Annotated", "SkipValidation", "Required", "Final"):
        return hints(resolver, parts[0], place, depth + 1)
    if head in ("Optional", "Union"):
        return _merged(resolver, parts if head == "Union" else [*parts, ast.Constant(None)], place, depth)
    result = Hints({_BUILTIN.get(head, "other")})
    if "dict" not in result.names:
        element = hints(resolver, parts[0], place, depth + 1)
        kinds = [kind for kind in ("str", "int", "float") if kind in element.names]
        result.items = kinds[0] if kinds else "str"
        result.literals = element.literals
    return result


def _named(resolver: Resolver, annotation: ast.expr, place: Place, depth: int) -> Hints:
    cls = resolver.class_at(place, annotation)
    if cls is not None:
        marks = " ".join(ast.unparse(mark) for mark in cls.node.decorator_list)
        if "dataclass" in marks or marks.startswith("config"):
            return Hints({"config"}, keys=keys_of(resolver, cls))
        return Hints({"dict"} if resolver.bases(cls) & {"dict", "TypedDict", "Dict"} else {"other"})
    alias = resolver.find(place.path, annotation.id) if isinstance(annotation, ast.Name) else None
    if isinstance(alias, Value):
        return hints(resolver, alias.node, Place(alias.path, {}), depth + 1)
    return Hints({"other"})


class OptionMaker:
    """Makes options of a class's fields, in the manner of the release's own ``get_kwargs``."""

    def __init__(self, resolver: Resolver, path: str) -> None:
        self._resolver = resolver
        source = _source_of(resolver, path)
        self._pairs = "BooleanOptionalAction" in source
        """Whether a field that is true or false gets a ``--no-…`` form."""
        self._bare = "{bool, str, type(None)}" in source
        """Whether ``bool | str | None`` is an option that may stand without a value."""

    def options(self, cls: Class) -> dict[str, Option]:
        """Return the options of a configuration class by field name."""
        return {name: self._option(found) for name, found in fields_of(self._resolver, cls).items()}

    def _option(self, found: Field) -> Option:
        allowed = hints(self._resolver, found.annotation, found.place)
        default = plain(self._resolver.value(found.default, found.place))
        result = Option(help=found.help, default=default, keys=allowed.keys)
        names = allowed.names
        if "config" in names:
            result.kind = "json"
        elif self._bare and names == {"bool", "str", "None"}:
            result.kind = "str"
        elif "bool" in names:
            result.kind, result.negated = "switch", self._pairs
        elif "literal" in names:
            result.kind = "int" if allowed.literals and all(type(item) is int for item in allowed.literals) else "str"
            result.choices = UNKNOWN if "str" in names else sorted(set(allowed.literals), key=str) or UNKNOWN
        elif "list" in names:
            result.kind, result.many = allowed.items, True
            result.choices = sorted(set(allowed.literals), key=str) or UNKNOWN
        else:
            fallback = "json" if "dict" in names else "str"
            result.kind = next((kind for kind in ("int", "float") if kind in names), fallback)
        return result


def _source_of(resolver: Resolver, path: str) -> str:
    # Newer releases split get_kwargs in two, one of them cached.
    texts = []
    for name in ("get_kwargs", "_compute_kwargs"):
        definition = resolver.find(path, name)
        texts.append("" if definition is None else ast.unparse(definition.node))
    return "\n".join(texts)
