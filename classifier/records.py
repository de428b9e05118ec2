"""Dataclasses that cost little at the start of the command.

``@dataclass`` compiles up to five methods for each class whenever its module is imported: with a dozen classes that is a
twentieth of the time that the command takes for a small log. ``@record`` makes a dataclass too (fields, slots,
``dataclasses.replace``; type checkers and pydantic take it for one), but the methods stand in its base ``Record``, written
once for all. For objects that are made by the dozen, not by the thousand.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

__all__ = ["Draft", "Record", "fields_of", "record"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as record
    from typing import TypeVar

    Kind = TypeVar("Kind", bound=type)
else:

    def record(*, kw_only: bool = False, **_as_told: bool) -> Callable[[Kind], Kind]:
        """Make a dataclass of a subclass of ``Record``: ``@record(frozen=True, slots=True)``, with ``kw_only`` or without.

        Subclasses of ``Draft`` are not frozen: ``@record(slots=True)``.
        """
        return dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False, slots=True, kw_only=kw_only)


class Record:
    """The methods of frozen records: what ``dataclass`` would generate for each."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[object]]]

    def __init__(self, *args: object, **values: object) -> None:
        fields = fields_of(self.__class__)
        if args:
            positional = [field.name for field in fields if not field.kw_only]
            if len(args) > len(positional) or values.keys() & positional[: len(args)]:
                raise TypeError(f"{self.__class__.__name__} takes {', '.join(positional)} by place, each once")
            values.update(zip(positional, args, strict=False))
        put, missing = object.__setattr__, dataclasses.MISSING
        for field in fields:
            name = field.name
            if name in values:
                put(self, name, values.pop(name))
            elif field.default is not missing:
                put(self, name, field.default)
            elif field.default_factory is not missing:
                put(self, name, field.default_factory())
            else:
                raise TypeError(f"{self.__class__.__name__} needs {name}")
        if values:
            raise TypeError(f"{self.__class__.__name__} has no {', '.join(values)}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check the values; for subclasses."""

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}: use dataclasses.replace")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._compared())

    def __hash__(self) -> int:
        return hash((self.__class__, *(getattr(self, name) for name in self._compared())))

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._compared())
        return f"{self.__class__.__name__}({told})"

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields_of(self.__class__)}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _compared(cls) -> list[str]:
        return [field.name for field in fields_of(cls) if field.compare]


_FIELDS: dict[type[Record], tuple[dataclasses.Field[object], ...]] = {}


def fields_of(kind: type[Record]) -> tuple[dataclasses.Field[object], ...]:
    """Return the fields of a record's class, in their order: ``dataclasses.fields``, found once."""
    if kind not in _FIELDS:
        _FIELDS[kind] = dataclasses.fields(kind)
    return _FIELDS[kind]


class Draft(Record):
    """A record that may be changed, and is compared by identity."""

    __slots__ = ()
    __setattr__ = object.__setattr__  # type: ignore[assignment]
    __delattr__ = object.__delattr__
    __eq__ = object.__eq__
    __hash__ = object.__hash__
