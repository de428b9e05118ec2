"""Which part of vLLM, or of a package around it, a stack frame belongs to (``frames.toml``)."""

from __future__ import annotations

import marshal
import os
from functools import cache

from .records import Record, fields_of, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

TELLS = ("much", "some")


@record(slots=True, frozen=True)
class Part(Record):
    """A part of vLLM or of a package around it, by the frames that run in it."""

    name: str
    bucket: str
    """What most of the unknown exceptions that it raises are."""
    cause: str
    """The cause within the bucket that the answer tells where no words are nearer to another; "" for none."""
    tells: str
    """How sure that is, one of ``TELLS``."""
    functions: str
    """An expression on the function's name; "" where the path tells."""
    paths: str
    """An expression on the path from the package's folder (``vllm/v1/engine/core.py``); "" where the function tells."""


@record(slots=True, frozen=True)
class Parts(Record):
    """All parts, in the order in which they are asked."""

    all: tuple[Part, ...]
    generic: str
    """An expression on the paths of files that everything runs through: modules of torch, event loops, utilities."""


def read_frames(path: Path) -> tuple[list[tuple[str, ...]], str]:
    """Return the rows of the table as plain values, to be stored, and the expression of files that everything runs through."""
    import tomllib

    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return [tuple(row.get(own.name, "") for own in fields_of(Part)) for row in data["part"]], data["generic"]


@cache
def parts() -> Parts:
    """Return the table, read when first asked for."""
    from .store import compiled_folder

    with open(os.path.join(compiled_folder(), "frames.marshal"), "rb") as file:  # noqa: PTH118, PTH123 (pathlib is slow to import)
        rows, generic = marshal.loads(file.read())  # noqa: S302 - our own file
    return Parts(tuple(Part(*row) for row in rows), generic)
