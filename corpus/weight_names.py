"""From which release on vLLM's files of models name a part of a weight's name (``vllm/weight_names.json``).

Written by ``python -m vllm_triage.training.tables weight_names`` from the sources of all releases; read when first asked for.
"""

# ruff: noqa: PTH118, PTH123 - pathlib takes longer to import than the table to load
from __future__ import annotations

import json
import os
import re
from functools import lru_cache

from .options import FOLDER, version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    class Table(TypedDict):
        """The file: releases oldest first; of each model file the numbers of the releases that brought its later words."""

        releases: list[str]
        files: dict[str, dict[str, int]]


TABLE = os.path.join(FOLDER, "weight_names.json")
_PLAIN = frozenset({"weight", "bias", "model", "layer", "layers"})
"""Parts that say nothing of a model."""


def parts_of(name: str) -> Iterator[str]:
    """Yield the parts of a weight's name that can tell its model: ``visual`` and ``pos_embed`` of ``visual.pos_embed.weight``."""
    for part in re.split(r"[.\s]+", name):
        if len(part) > 2 and part not in _PLAIN and not part[0].isdigit():
            yield part


def first_naming(file: str, weight: str, after: str) -> tuple[str, str] | None:
    """Return the first release whose file of a model names a part of a weight's name that earlier ones did not, and the part.

    Args:
        file: Below ``vllm/model_executor/models``, without its ending: ``qwen``.
        weight: As the checkpoint has it: ``transformer.visual.proj``.
        after: The release that did not know the weight: only later ones count; "" where nothing tells it.

    Returns:
        None where no release has brought one of its parts, or that release knew them all.
    """
    told = _told()
    added = told["files"].get(file, {})
    wanted = version_key(after) or ()
    brought = [(added[part], part) for part in parts_of(weight) if part in added]
    later = [each for each in brought if not wanted or (version_key(told["releases"][each[0]]) or ()) > wanted]
    if not later:
        return None
    number, part = max(later)
    return told["releases"][number], part


@lru_cache(1)
def _told() -> Table:
    with open(TABLE, encoding="utf-8") as file:
        told: Table = json.load(file)
    return told
