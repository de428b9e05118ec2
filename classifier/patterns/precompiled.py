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
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from types import ModuleType
from zlib import crc32

from ...corpus.packed_rules import Rows, joined, opened, parts_of

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


@cache
def compiled(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return ``re.compile(source, flags)``, from the stored form where there is one; the same each time."""
    try:
        form = _form(source, int(flags))
        if form is not None and engine is not None:
            made: re.Pattern[AnyStr] = engine.compile(*form)
            return made
    except (ValueError, TypeError, RuntimeError, EOFError):  # a form that this engine refuses
        pass
    return re.compile(source, flags)


def _form(source: str | bytes, flags: int) -> tuple[object, ...] | None:
    """Return what the engine makes an expression of; None where it is not stored."""
    sums, forms = _stored()
    key = _key(source, flags)
    at = bisect_left(sums, key)
    found: tuple[object, ...] = marshal.loads(forms[at]) if at < len(sums) and sums[at] == key else ()  # noqa: S302 - our own file
    return found if found[:1] == (source,) else None


@cache
def _stored() -> tuple[Sequence[int], Rows]:
    try:
        build, sums, ends, forms = parts_of(opened(FILE))
        if build == _build().encode():
            return sums.cast("I"), Rows(forms, ends.cast("I"))
    except (OSError, ValueError, TypeError, IndexError):
        pass
    return (), Rows(b"", ())


def _key(source: str | bytes, flags: int) -> int:
    return crc32(f"{flags} {source!r}".encode("utf-8", "backslashreplace"))


def _build() -> str:
    """Return what a compiled form depends on."""
    return (
        f"{sys.implementation.cache_tag};{getattr(engine, 'MAGIC', 0)};{getattr(engine, 'CODESIZE', 0)};{sys.byteorder}"
    )


def write(path: str | os.PathLike[str], expressions: Iterable[tuple[str | bytes, int]]) -> None:
    """Write the compiled forms of ``expressions``, each a source and its flags, into the file ``path``.

    What cannot be stored is left out: a broken expression, or all of them on another Python than CPython.
    """
    forms: dict[int, bytes] = {}
    for source, flags in expressions:
        try:
            made = _arguments(source, int(flags))
            if engine is not None and engine.compile(*made) == re.compile(source, flags):
                forms[_key(source, int(flags))] = marshal.dumps(made)
        except (re.error, AttributeError, ImportError, TypeError, ValueError, RuntimeError):
            continue
    rows = [forms[key] for key in sorted(forms)]
    ends = array("I", accumulate(map(len, rows)))
    with open(path, "wb") as file:
        file.write(joined(_build().encode(), array("I", sorted(forms)).tobytes(), ends.tobytes(), b"".join(rows)))


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
