"""Which part of vLLM, or of a package around it, a stack frame belongs to (``frames.toml``)."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache

TABLE = os.path.join(os.path.dirname(__file__), "frames.toml")  # noqa: PTH118, PTH120 (pathlib is slow to import)
TELLS = ("much", "some")


@dataclass(slots=True, frozen=True)
class Part:
    """A part of vLLM or of a package around it, by the frames that run in it."""

    name: str
    bucket: str
    """What most of the unknown exceptions that it raises are."""
    cause: str
    """The cause within the bucket that the answer tells where no words are nearer to another; "" for none."""
    tells: str
    """How sure that is, one of ``TELLS``."""
    functions: re.Pattern[str] | None
    paths: re.Pattern[str] | None


@dataclass(slots=True, frozen=True)
class Parts:
    """All parts, in the order in which they are asked."""

    all: tuple[Part, ...]
    generic: re.Pattern[str]
    """Files that everything runs through."""

    def of(self, path: str, function: str) -> Part | None:
        """Return the part to which a frame belongs, by its function first; None where that tells nothing.

        Args:
            path: From the package's folder: ``vllm/v1/engine/core.py``.
            function: Its function, as the traceback names it.
        """
        for part in self.all:
            if part.functions is not None and part.functions.search(function):
                return part
        for part in self.all:
            if part.paths is not None and part.paths.search(path):
                return part
        return None

    def is_generic(self, path: str) -> bool:
        """Return whether everything runs through a file: modules of torch, event loops, utilities."""
        return self.generic.search(path) is not None


@cache
def parts() -> Parts:
    """Return the table, read when first asked for."""
    with open(TABLE, "rb") as file:  # noqa: PTH123
        data = tomllib.load(file)
    return Parts(
        tuple(
            Part(
                row["name"],
                row["bucket"],
                row.get("cause", ""),
                row["tells"],
                _compiled(row.get("functions", "")),
                _compiled(row.get("paths", "")),
            )
            for row in data["part"]
        ),
        re.compile(data["generic"]),
    )


def _compiled(text: str) -> re.Pattern[str] | None:
    return re.compile(text) if text else None
