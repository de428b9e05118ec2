"""Expressions of ``re`` in compiled form: written while a wheel is built, loaded at run time.

Compiling takes ``re`` half a millisecond each, a third of the time of a whole answer; loading the program that it makes takes a
fiftieth of that. The form belongs to one build of CPython's engine. Where another runs, everything compiles as usual.
"""

# pathlib and pickle would cost more than this saves:
# ruff: noqa: PTH100, PTH118, PTH120, PTH123

from __future__ import annotations

import marshal
import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import AnyStr

engine: ModuleType | None
try:
    engine = __import__("_sre")
except ImportError:  # another Python than CPython
    engine = None

FILE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    "corpus",
    "compiled",
    "patterns.marshal",
)


def compiled(source: AnyStr, flags: int) -> re.Pattern[AnyStr]:
    """Return ``re.compile(source, flags)``, from the stored form where there is one."""
    stored = _stored().get((source, int(flags)))
    if stored is not None and engine is not None:
        try:
            made: re.Pattern[AnyStr] = engine.compile(*marshal.loads(stored))  # noqa: S302 - our own file
            return made  # noqa: TRY300
        except (ValueError, TypeError, RuntimeError, EOFError):  # a form that this engine refuses
            pass
    return re.compile(source, flags)


@cache
def _stored() -> dict[tuple[str | bytes, int], bytes]:
    try:
        with open(FILE, "rb") as file:
            build, forms = marshal.loads(file.read())  # noqa: S302 - our own file
    except (OSError, ValueError, TypeError, EOFError):
        return {}
    return forms if build == _build() else {}


def _build() -> str:
    """Return what a compiled form depends on."""
    return (
        f"{sys.implementation.cache_tag};{getattr(engine, 'MAGIC', 0)};{getattr(engine, 'CODESIZE', 0)};{sys.byteorder}"
    )


def write(path: str | os.PathLike[str], expressions: Iterable[tuple[str | bytes, int]]) -> None:
    """Write the compiled forms of ``expressions``, each a source and its flags, into the file ``path``.

    What cannot be stored is left out: a broken expression, or all of them on another Python than CPython.
    """
    forms: dict[tuple[str | bytes, int], bytes] = {}
    for source, flags in expressions:
        try:
            made = _arguments(source, int(flags))
            if engine is not None and engine.compile(*made) == re.compile(source, flags):
                forms[source, int(flags)] = marshal.dumps(made)
        except (re.error, AttributeError, ImportError, TypeError, ValueError, RuntimeError):
            continue
    with open(path, "wb") as file:
        file.write(marshal.dumps((_build(), forms)))


def _arguments(
    source: str | bytes, flags: int
) -> tuple[str | bytes | int | list[int] | dict[str, int] | tuple[str | None, ...], ...]:
    """Return what ``re`` hands to its engine for an expression: its program, and the names of its groups."""
    from importlib import import_module

    parser, compiler = import_module("re._parser"), import_module("re._compiler")
    parsed = parser.parse(source, flags)
    names = parsed.state.groupdict
    order: list[str | None] = [None] * parsed.state.groups
    for name, number in names.items():
        order[number] = name
    program = [int(word) for word in compiler._code(parsed, flags)]  # noqa: SLF001 - there is no other way in
    return source, int(flags | parsed.state.flags), program, parsed.state.groups - 1, dict(names), tuple(order)
