"""Dataclasses that cost little at the start of the command.

``dataclasses`` imports ``inspect`` and with it a dozen modules, and compiles up to five methods for each class whenever its
module is imported: together a quarter of the time that the command takes for a small log. ``@record`` makes a dataclass too
(type checkers, pydantic, ``dataclasses.fields`` and ``replace`` take it for one), but its methods stand in its base, written
once for all, and the standard library's module is only imported where somebody asks for it:

* ``Record``: frozen, compared by its fields.
* ``Mutable``: may be changed, compared by identity.

What is made by the hundred for each log (``Line``) has an ``__init__`` of its own.
"""

from __future__ import annotations

import sys

__all__ = ["Mutable", "Record", "cast", "field", "fields_of", "record", "replace"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import dataclasses
    import inspect
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass as record
    from dataclasses import field, replace
    from typing import ClassVar, TypeVar, cast

    Kind = TypeVar("Kind", bound=type["Record"])


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
"""Where a field has no default."""


class Field:
    """One field of a record; the arguments are those of ``dataclasses.field``."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "metadata", "name", "type")

    def __init__(
        self,
        default: object = MISSING,
        default_factory: Callable[[], object] | _Missing = MISSING,
        init: bool = True,
        compare: bool = True,
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.compare = compare
        self.metadata: Mapping[str, object] = metadata or {}
        self.name = ""
        self.type = ""
        self.kw_only = False

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.init and self.default is MISSING and isinstance(self.default_factory, _Missing)


_OF_TYPING = ("Any", "ClassVar", "Literal", "Self")


class _ForTools:
    """What the tools for dataclasses look for in a class (``__dataclass_fields__``), made when one of them looks."""

    def __get__(self, _: object, owner: type[Record]) -> dict[str, dataclasses.Field[object]]:
        import dataclasses
        import typing

        for module in {base.__module__ for base in owner.__mro__ if issubclass(base, Record)}:
            for name in _OF_TYPING:
                # The modules import them for type checkers alone; who asks here evaluates the annotations next.
                vars(sys.modules[module]).setdefault(name, getattr(typing, name))
        same = []
        make: Callable[..., object] = dataclasses.field
        for own in fields_of(owner):
            given: dict[str, object] = {} if own.default is MISSING else {"default": own.default}
            if own.default_factory is not MISSING:
                given["default_factory"] = own.default_factory
            made = make(init=own.init, compare=own.compare, metadata=own.metadata, kw_only=own.kw_only, **given)
            same.append((own.name, own.type, made))
        twin = dataclasses.make_dataclass(owner.__name__, same)
        found = {own.name: own for own in dataclasses.fields(twin)}
        type.__setattr__(owner, "__dataclass_fields__", found)
        return found


class _Signature:
    """What ``inspect.signature`` and ``help`` look for in a class, made when one of them looks."""

    def __get__(self, _: object, owner: type[Record]) -> inspect.Signature:
        import inspect

        empty = inspect.Parameter.empty
        made = []
        for own in fields_of(owner):
            default = own.default if own.default is not MISSING else empty
            default = default if isinstance(own.default_factory, _Missing) else ...
            kind = inspect.Parameter.KEYWORD_ONLY if own.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
            made += [inspect.Parameter(own.name, kind, default=default, annotation=own.type)] if own.init else []
        return inspect.Signature(sorted(made, key=lambda own: (own.kind, own.default is not empty)))


class _Fields:
    """The fields of a class, made when its first object is.

    Args:
        told: By their names: the annotation, and the default; ``MISSING``, a value, or what ``field`` gave.
    """

    __slots__ = ("_owner", "_told", "kw_only")

    def __init__(self, told: dict[str, tuple[str, object]]) -> None:
        self._told = told
        self.kw_only = False

    def __set_name__(self, owner: type[Record], _: str) -> None:
        self._owner = owner

    def __get__(self, _: object, __: type[Record]) -> tuple[Field, ...]:
        base: type[Record] = self._owner.__base__  # type: ignore[assignment] # a record has a base
        found = {own.name: own for own in base._fields}
        for name, (kind, default) in self._told.items():
            made = found[name] = default if isinstance(default, Field) else Field(default)
            made.name, made.type, made.kw_only = name, kind, self.kw_only
        fields = (*found.values(),)
        type.__setattr__(self._owner, "_fields", fields)
        return fields


class _Kind(type):
    """Takes the defaults out of the class: an object has values of its own, or none."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, object]) -> _Kind:
        if "__slots__" in space:
            return super().__new__(cls, name, bases, space)
        told = {}
        for own, kind in cast("dict[str, str]", space.get("__annotations__", {})).items():
            if kind.startswith("ClassVar"):
                continue
            default = space.pop(own, MISSING)
            if default is not MISSING and hasattr(default, "default_factory") and not isinstance(default, Field):
                raise TypeError(f"{name}.{own}: take field from this module")
            told[own] = kind, default
        if "__init__" in space:
            space["__slots__"] = tuple(told)
        space["_fields"] = _Fields(told)
        space["__dataclass_fields__"] = _FOR_TOOLS
        space["__signature__"] = _SIGNATURE
        return super().__new__(cls, name, bases, space)


class _Plan:
    """What ``__init__`` has to know of a class, worked out when its first object is made."""

    def __init__(self, kind: type[Record]) -> None:
        own = kind._fields
        self.name = kind.__name__
        self.positional = tuple(each.name for each in own if each.init and not each.kw_only)
        self.settable = frozenset(each.name for each in own if each.init)
        self.defaults = {each.name: each.default for each in own if each.default is not MISSING}
        self.factories = [
            (each.name, each.default_factory) for each in own if not isinstance(each.default_factory, _Missing)
        ]
        self.needed = frozenset(each.name for each in own if each.required)
        self.checked = kind.__post_init__ is not Record.__post_init__
        _PLANS[kind] = self


_PLANS: dict[type, _Plan] = {}
_FOR_TOOLS, _SIGNATURE = _ForTools(), _Signature()


class Record(metaclass=_Kind):
    """The methods of frozen records: what ``dataclass`` would generate for each."""

    __slots__ = ()
    _fields: ClassVar[tuple[Field, ...]] = ()

    def __init__(self, *args: object, **values: object) -> None:
        plan = _PLANS.get(self.__class__) or _Plan(self.__class__)
        if args:
            given = plan.positional[: len(args)]
            if len(given) < len(args) or not values.keys().isdisjoint(given):
                raise TypeError(f"{plan.name} takes {', '.join(plan.positional)} by place, each once")
            values.update(zip(given, args, strict=True))
        if not values.keys() <= plan.settable:
            raise TypeError(f"{plan.name} has no {', '.join(values.keys() - plan.settable)}")
        if not plan.needed <= values.keys():
            raise TypeError(f"{plan.name} needs {', '.join(plan.needed - values.keys())}")
        for name, make in plan.factories:
            if name not in values:
                values[name] = make()
        self.__dict__.update({**plan.defaults, **values})
        if plan.checked:
            self.__post_init__()

    def __post_init__(self) -> None:
        """Check the values; for subclasses."""

    def __setattr__(self, name: str, value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}: use replace")

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._compared())

    def __hash__(self) -> int:
        return hash((self.__class__, *(getattr(self, name) for name in self._compared())))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name, '?')!r}" for name in self._compared())
        return f"{self.__class__.__name__}({shown})"

    def __getstate__(self) -> dict[str, object]:
        return {own.name: getattr(self, own.name) for own in self._fields if hasattr(self, own.name)}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _compared(cls) -> list[str]:
        return [own.name for own in cls._fields if own.compare]


class Mutable(Record):
    """A record that may be changed, and is compared by identity."""

    __slots__ = ()
    __setattr__ = object.__setattr__  # type: ignore[assignment]
    __delattr__ = object.__delattr__
    __eq__ = object.__eq__
    __hash__ = object.__hash__


def fields_of(kind: type[Record]) -> tuple[Field, ...]:
    """Return the fields of a record's class, in their order, those of its base first."""
    return kind._fields


if not TYPE_CHECKING:
    field = Field

    def cast(_kind: str, value: object) -> object:
        """Return ``value``: ``typing.cast``, without the module, which takes as long to import as a log to be read."""
        return value

    def record(*, kw_only: bool = False, frozen: bool = False, slots: bool = True) -> Callable[[Kind], Kind]:
        """Make a dataclass of a subclass of ``Record`` (``frozen=True``) or ``Mutable``, always with slots."""

        def make(kind: Kind) -> Kind:
            if frozen is issubclass(kind, Mutable) or not slots:
                raise TypeError(f"{kind.__name__}: a Record is frozen, a Mutable is not, and both have slots")
            vars(kind)["_fields"].kw_only = kw_only
            return kind

        return make

    def replace(item: Record, /, **changes: object) -> Record:
        """Return a copy with other values: ``dataclasses.replace``."""
        return item.__class__(**{**{own.name: getattr(item, own.name) for own in item._fields if own.init}, **changes})
