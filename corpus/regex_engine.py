"""The engine of ``regex`` without the compiler before it, which takes longer to import than an answer to be found.

The compiled corpus holds the programs of its expressions. To run them the package's C module is enough; the Python half is
imported with the first expression that has to be compiled, and finds the C module in its place then.
"""

# pathlib would cost more than this saves:
# ruff: noqa: PTH118, PTH123

from __future__ import annotations

import os
import sys
from functools import cache
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from regex import Pattern

if sys.implementation.name == "cpython":
    from _frozen_importlib_external import PathFinder
else:
    from importlib.machinery import PathFinder

NAME = "regex._regex"
_VERSION = '__version__ = "'


@cache
def engine() -> ModuleType:
    """Return the C module of ``regex``."""
    loaded = sys.modules.get(NAME)
    if loaded is None and "regex" not in sys.modules:
        spec = PathFinder.find_spec(NAME, [_folder()])
        if spec is not None and spec.loader is not None:
            module = spec.loader.create_module(spec)
            if module is not None:
                spec.loader.exec_module(module)
                loaded = sys.modules.setdefault(NAME, module)
    if loaded is None:
        from regex import _regex

        return _regex
    return loaded


def program(pattern: Pattern[str]) -> bytes:
    """Return what ``compile`` of the C module makes this expression of, marshalled."""
    from copyreg import dispatch_table
    from marshal import dumps

    reduced = dispatch_table[type(pattern)](pattern)
    if isinstance(reduced, str):
        raise TypeError(reduced)
    return dumps(tuple(reduced[1]))


@cache
def version() -> str:
    """Return the version of ``regex``."""
    if "regex" not in sys.modules:
        try:
            with open(os.path.join(_folder(), "_main.py"), encoding="utf-8") as file:
                found = file.read().partition(_VERSION)[2].partition('"')[0]
        except OSError:
            found = ""
        if found:
            return found
    import regex

    return str(regex.__version__)


@cache
def _folder() -> str:
    spec = PathFinder.find_spec("regex")
    places = spec.submodule_search_locations if spec is not None else None
    return places[0] if places else ""
