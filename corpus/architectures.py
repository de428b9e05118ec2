"""Which release of vLLM serves which model architecture, and what its class can do (``vllm/architectures.json``).

The table is mined from the registry and the model classes of the released packages. An architecture is the name in
``architectures`` of a model's config.json; an interface is what vLLM's class for it has to have for a feature (``SupportsPP``).
The file is read when first asked for.
"""

# ruff: noqa: PTH118, PTH123 - pathlib takes longer to import than the table to load
from __future__ import annotations

import json
import os
from bisect import bisect_right
from functools import lru_cache

from .options import FOLDER, version_key
from .records import Record, cast, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    class Row(TypedDict):
        """What the table says of an architecture: releases by number, and from which on what is so."""

        on: list[list[int]]
        at: list[tuple[int, str]]
        kinds: list[tuple[int, list[str]]]
        can: list[tuple[int, list[int]]]

    class Table(TypedDict):
        """The file."""

        releases: list[str]
        interfaces: list[str]
        until: dict[str, str]
        plugins: dict[str, str]
        architectures: dict[str, Row]


TABLE = os.path.join(FOLDER, "architectures.json")
_FARTHEST = 2
"""Letters in which a misspelt name differs from the one that was meant; half as many in the family's name."""
_FAMILY = 4
"""Letters from which on the name of a family may be misspelt."""


_HEADS = ("ConditionalGeneration", "CausalLM")
"""What checkpoints that generate are called for, behind ``For``."""


@record(frozen=True)
class ModelClass(Record):
    """The class that serves an architecture in one release."""

    module: str
    """Below ``vllm.model_executor.models``, or in full where it lies elsewhere."""
    name: str
    kinds: tuple[str, ...]
    """``text``, ``pooling``, ``multimodal``, ``encoder_decoder``, ``draft``, ``transformers`` (its Transformers backend)."""
    interfaces: tuple[str, ...]

    @property
    def file(self) -> str:
        """The file or package that the class is imported from: ``vllm/model_executor/models/llama.py``."""
        if self.module.startswith("vllm."):
            return self.module.replace(".", "/")
        return f"vllm/model_executor/models/{self.module}.py"


def releases() -> tuple[str, ...]:
    """Return the releases that the table covers, oldest first."""
    return tuple(_told()["releases"])


def names() -> tuple[str, ...]:
    """Return the architectures that any release serves."""
    return tuple(_told()["architectures"])


def spans(name: str) -> tuple[tuple[str, str], ...]:
    """Return the first and last release of each time in which vLLM serves an architecture; empty where it never did."""
    row = _told()["architectures"].get(name)
    versions = _told()["releases"]
    return tuple((versions[first], versions[last]) for first, last in row["on"]) if row else ()


def served_until(name: str) -> str:
    """Return the last release that serves an architecture, where the newest does not; "" where it does, or none ever did."""
    runs = spans(name)
    if not runs:
        return _told()["until"].get(name, "")
    return "" if runs[-1][1] == releases()[-1] else runs[-1][1]


def plugin(name: str) -> str:
    """Return the address of the plug-in that serves an architecture that vLLM gave up; "" where vLLM names none."""
    return _told()["plugins"].get(name, "")


def model_class(name: str, version: str) -> ModelClass | None:
    """Return the class that serves an architecture in a release; None where that release does not, or is not covered."""
    row = _told()["architectures"].get(name)
    place = _place(version)
    if row is None or place is None or not any(first <= place <= last for first, last in row["on"]):
        return None
    module, _, cls = cast("str", _now(row["at"], place)).partition(":")
    kinds, can = cast("list[str]", _now(row["kinds"], place)), cast("list[int]", _now(row["can"], place))
    words = _told()["interfaces"]
    return ModelClass(module, cls, tuple(kinds), tuple(words[each] for each in can))


def serves(name: str, version: str) -> bool | None:
    """Return whether a release serves an architecture; None where the release is not covered."""
    return None if _place(version) is None else model_class(name, version) is not None


def first_serving(name: str, after: str = "", interface: str = "") -> str:
    """Return the first release that serves an architecture, by a class that has an interface; "" where none does.

    Args:
        name: The architecture.
        after: Only later releases count; "" for all.
        interface: ``SupportsPP`` …; "" for any class.
    """
    versions = releases()
    start = _place(after)
    for version in versions[0 if start is None else start + 1 :]:
        found = model_class(name, version)
        if found is not None and (not interface or interface in found.interfaces):
            return version
    return ""


def of_class(cls: str) -> tuple[str, ...]:
    """Return the architectures that a class of this name serves in any release, one of the same name first."""
    rows = _told()["architectures"]
    found = [name for name, row in rows.items() if any(at.endswith(f":{cls}") for _, at in row["at"])]
    return tuple(sorted(found, key=lambda name: (name != cls, name)))


def of_module(module: str, version: str) -> tuple[str, ...]:
    """Return the architectures that the classes of a module serve in a release, in the order of the table."""
    found = ((name, model_class(name, version)) for name in names())
    return tuple(name for name, cls in found if cls is not None and cls.module == module)


def complete(name: str) -> str:
    """Return the architecture with a head whose backbone an unknown name is (``Qwen2_5_VLModel``); "" where none is known.

    Checkpoints that were saved from the backbone alone have its name in their config.json.
    """
    family = name.removesuffix("Model")
    if family == name or not family or name in names():
        return ""
    return next((full for head in _HEADS if (full := f"{family}For{head}") in names()), "")


def nearest(name: str, version: str) -> str:
    """Return the architecture of a release that a misspelt name most likely stands for; "" where none is near.

    Names that some release serves are not misspelt. Either the family or what stands from ``For`` on is right, and digits
    are no slips: ``Qwen2`` is another family than ``Qwen3``.
    """
    if name in _told()["architectures"] or name in _told()["until"]:
        return ""
    alike = (other for other in _by_digits().get(_digits(name), ()) if serves(other, version))
    near = [(slips, _distance(name, other), other) for other in alike if (slips := _slips(name, other)) <= _FARTHEST]
    return min(near)[2] if near else ""


def _slips(name: str, other: str) -> int:
    """Return by how many letters two names differ, of which one part is the same; more than any slip where both differ."""
    (family, head), (meant, end) = _parts(name), _parts(other)
    if family == meant:
        return _distance(head, end)
    # Short names of families are near each other.
    return 2 * _distance(family, meant) if head == end and min(len(family), len(meant)) >= _FAMILY else _FARTHEST + 1


def _parts(name: str) -> tuple[str, str]:
    family, _, head = name.replace("_", "").partition("For")
    return family.lower(), head.lower()


def _digits(name: str) -> str:
    return "".join(letter for letter in name if letter.isdigit())


@lru_cache(1)
def _by_digits() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names():
        found.setdefault(_digits(name), []).append(name)
    return found


def _distance(left: str, right: str) -> int:
    """Return how many letters are to be put in, taken out or changed."""
    row = list(range(len(right) + 1))
    for place, letter in enumerate(left, 1):
        before, row[0] = row[0], place
        for at, other in enumerate(right, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (letter != other))
    return row[-1]


def _place(version: str) -> int | None:
    """Return the number of the newest release at or below a version; None where it tells none, or an older one."""
    key = version_key(version)
    if key is None:
        return None
    place = bisect_right(_keys(), key) - 1
    return place if place >= 0 else None


def _now(changes: Sequence[tuple[int, object]], place: int) -> object:
    return next(value for since, value in reversed(changes) if since <= place)


@lru_cache(1)
def _keys() -> list[tuple[int, ...]]:
    return [version_key(version) or () for version in releases()]


@lru_cache(1)
def _told() -> Table:
    with open(TABLE, encoding="utf-8") as file:
        return cast("Table", json.load(file))
