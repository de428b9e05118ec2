"""Sources propose fixes: each module here has ``propose(Context) -> fixes``, and is found by its file.

Where a fix stands among all is said by its tier; what one source yields keeps its order.
"""

# pathlib would cost more than listing the folder:
# ruff: noqa: PTH120, PTH208

from __future__ import annotations

import os
from functools import cache
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...fix import Fix
    from ..context import Context

    Source = Callable[[Context], Iterable[Fix]]


@cache
def sources() -> tuple[Source, ...]:
    """Return what proposes, by the names of the modules.

    Raises:
        TypeError: A module has no ``propose``: what it knows would silently be left out.
    """
    names = sorted({name.partition(".")[0] for name in os.listdir(os.path.dirname(__file__)) if ".py" in name})
    modules = [import_module(f".{name}", __name__) for name in names if not name.startswith("__")]
    for module in modules:
        if not hasattr(module, "propose"):
            raise TypeError(f"{module.__file__}: a source of fixes has a function propose(context), and this has none")
    return tuple(module.propose for module in modules)


def proposed(context: Context) -> list[Fix]:
    """Return what all sources propose, by tier."""
    return sorted((fix for propose in sources() for fix in propose(context)), key=lambda fix: fix.tier)
