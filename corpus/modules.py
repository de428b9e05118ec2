"""In which releases of vLLM a module can be imported (``vllm/modules.json``, with the files that ``vllm/lines.bin`` knows).

The table holds the modules whose first or last release differs from that of the package around them; a module that came, went
and came again counts from its first release to its last. Both files are read when first asked for.
"""

# ruff: noqa: PTH118, PTH123 - pathlib takes longer to import than the table to load
from __future__ import annotations

import json
import os
from functools import lru_cache

from .code_lines import index
from .options import FOLDER
from .records import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Table(TypedDict):
        """The file."""

        releases: list[str]
        modules: dict[str, object]


TABLE = os.path.join(FOLDER, "modules.json")


def span(module: str) -> tuple[str, str] | None:
    """Return the first and the last release that have a module; None where no release of the table does.

    Args:
        module: As it is imported: ``vllm.worker.worker``. Compiled modules are none.
    """
    if not index().has(module):
        return None
    told = _told()
    first, last = 0, len(told["releases"]) - 1
    node: object = told["modules"]
    for part in module.split(".")[1:]:
        node = node.get(part) if isinstance(node, dict) else None
        own = node.get("") if isinstance(node, dict) else node
        if own is not None:
            first, last = cast("list[int]", own)
    return told["releases"][first], told["releases"][last]


def newest() -> str:
    """Return the newest release that the table covers."""
    return _told()["releases"][-1]


def oldest() -> str:
    """Return the oldest release that the table covers."""
    return _told()["releases"][0]


@lru_cache(1)
def _told() -> Table:
    with open(TABLE, encoding="utf-8") as file:
        return cast("Table", json.load(file))
