"""Logs with strict readers' references, and the grades of advice by them."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHOWN = 3
"""Fixes of an answer that are judged."""


@dataclass(frozen=True)
class Referenced:
    """A log with its reference."""

    group: str
    """The file that the log is of."""
    id: str
    text: str
    reference: Mapping[str, Any]

    def grade(self, fix: str) -> str:
        """Return how a fix, given as ``title :: change``, stands to the reference: ``right``, ``fair``, ``trap`` or ``other``."""
        right, trap = _holds(self.reference["right"], fix), _holds(self.reference["trap"], fix)
        if right != trap:
            return "right" if right else "trap"
        return "fair" if right or _holds(self.reference["fair"], fix) else "other"


def read(references: Path, logs: Iterable[Path]) -> list[Referenced]:
    """Return the logs that have a reference.

    Args:
        references: JSON lines with ``set`` and ``id`` of a log, and patterns over a fix's title and change: ``right``, ``fair``, ``trap``,
            each a list of ``{"re": ..., "min": ..., "max": ...}`` (``min`` and ``max`` bound the number that group 1 captures).
        logs: JSON lines with ``id`` and ``text``, plain or ``.xz``; a log's ``set`` is the file's name without its endings.
    """
    texts = {(name_of(path), row["id"]): row["text"] for path in logs for row in rows(path)}
    known = [row for row in rows(references) if (row["set"], row["id"]) in texts]
    return [Referenced(row["set"], row["id"], texts[row["set"], row["id"]], row) for row in known]


def _holds(patterns: Iterable[Mapping[str, Any]], text: str) -> bool:
    for pattern in patterns:
        for found in re.finditer(pattern["re"], text, re.IGNORECASE):
            low, high = pattern.get("min"), pattern.get("max")
            if low is None and high is None:
                return True
            try:
                value = float(found[1].replace(",", ""))
            except (IndexError, AttributeError, ValueError):
                return True
            if (low is None or value >= low) and (high is None or value <= high):
                return True
    return False


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of JSON lines, plain or ``.xz``."""
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as file:
        yield from map(json.loads, file)


def name_of(path: Path) -> str:
    """Return a file's name without its endings."""
    return path.name.partition(".")[0]
