"""Which release of transformers knows which model type, and which of them vLLM's releases ask for (``vllm/model_types.json``).

A model type is ``model_type`` in a model's config.json. The table is mined from the released packages: of transformers the last
release of each minor version since 4.40, of vLLM the requirements and its own configuration classes.
The file is read when first asked for.
"""

# ruff: noqa: PTH118, PTH123 - pathlib takes longer to import than the table to load
from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from .options import FOLDER, version_key
from .records import cast

_VERSION = re.compile(r"([<>=!]+)(\d+)")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Table(TypedDict):
        """The file; releases by number, first and last of each run."""

        transformers: list[str]
        vllm: list[str]
        asks: list[tuple[int, str]]
        types: dict[str, list[list[int]]]
        own: dict[str, list[list[int]]]


TABLE = os.path.join(FOLDER, "model_types.json")


def transformers_with(model_type: str) -> Iterator[str]:
    """Yield the releases of transformers that know a model type, oldest first: of each minor version the last."""
    told = _told()
    for first, last in told["types"].get(model_type, ()):
        yield from told["transformers"][first : last + 1]


def of_transformers() -> frozenset[str]:
    """Return the model types that any release of transformers knows."""
    return frozenset(_told()["types"])


def newest_transformers() -> str:
    """Return the newest release of transformers that the table covers."""
    return _told()["transformers"][-1]


def asked_by(version: str) -> str:
    """Return the range of transformers that a release of vLLM asks for (``>=4.56.0,<5``); "" where the release is not covered."""
    place = _place(version)
    return "" if place is None else next(told for since, told in reversed(_told()["asks"]) if since <= place)


def major_for(version: str) -> int:
    """Return the newest major release of transformers that a release of vLLM was written for; 0 where it is not covered.

    Its requirement names it: a lower bound within it, one that shuts the next out, or releases of it that are shut out.
    """
    found = _VERSION.findall(asked_by(version))
    return max((int(major) - (sign == "<") for sign, major in found), default=0)


def own_class(model_type: str, version: str) -> bool:
    """Return whether a release of vLLM reads a model type by a configuration class of its own, whatever transformers knows."""
    place = _place(version)
    return place is not None and any(first <= place <= last for first, last in _told()["own"].get(model_type, ()))


def later_than(version: str) -> tuple[str, ...]:
    """Return the releases of vLLM behind one; all where it is not covered."""
    place = _place(version)
    return tuple(_told()["vllm"][0 if place is None else place + 1 :])


def _place(version: str) -> int | None:
    key = version_key(version)
    place = -1 if key is None else bisect_right(_keys(), key) - 1
    return place if place >= 0 else None


@lru_cache(1)
def _keys() -> list[tuple[int, ...]]:
    return [version_key(version) or () for version in _told()["vllm"]]


@lru_cache(1)
def _told() -> Table:
    with open(TABLE, encoding="utf-8") as file:
        return cast("Table", json.load(file))
