"""The catalogue of messages that vLLM and the packages around it print, as typed rows (docs/lab/messages.md).

One text file for each package: modules in order, each with its messages in order, so that a change reads as one in a review.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby

from .row import BY, FATAL, KINDS, OWNERS, Label, Row

FOLDER = os.path.dirname(__file__)  # noqa: PTH120 (pathlib is slow to import)
ENDING = ".tsv"
MODULE = "# "
"""What a line that names a module begins with; its messages follow."""
SPECIFIC = "+"
"""Stands behind ``read`` or ``rule`` where the words alone decide the bucket."""
FACTS = 6
"""Columns of every message: template, kind or class or level, function, sites, first, last."""

__all__ = [
    "BY", "FATAL", "FOLDER", "KINDS", "OWNERS", "Label", "Row", "catalogue", "from_text", "packages", "read",
    "to_text", "write",
]  # fmt: skip


def packages(folder: str = FOLDER) -> list[str]:
    """Return the packages of which the catalogue holds messages, sorted."""
    return sorted(name.removesuffix(ENDING) for name in os.listdir(folder) if name.endswith(ENDING))  # noqa: PTH208


def read(package: str, folder: str = FOLDER) -> list[Row]:
    """Return the rows of one package, as they stand in its file.

    Raises:
        FileNotFoundError: The catalogue does not know the package.
        ValueError: A line of the file is no row.
    """
    with open(os.path.join(folder, package + ENDING), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        return list(from_text(package, file))


def catalogue(folder: str = FOLDER) -> list[Row]:
    """Return all rows, package by package."""
    return [row for package in packages(folder) for row in read(package, folder)]


def write(package: str, rows: Iterable[Row], folder: str = FOLDER) -> None:
    """Write one package's file."""
    with open(os.path.join(folder, package + ENDING), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123
        file.write(to_text(rows))


def to_text(rows: Iterable[Row]) -> str:
    """Return rows in the form of the files; what is labelled by its place shows no label."""
    ordered = sorted(rows, key=lambda row: (row.path, row.function, row.template))
    lines = []
    for path, group in groupby(ordered, key=lambda row: row.path):
        lines.append(f"{MODULE}{path}\n")
        lines.extend("\t".join(_columns(row)) + "\n" for row in group)
    return "".join(lines)


def from_text(package: str, lines: Iterable[str]) -> Iterator[Row]:
    """Yield the rows that a file holds.

    Raises:
        ValueError: A line that is no row, or that stands before the first module.
    """
    from .place import by_place

    path = None
    for line in lines:
        if line.startswith(MODULE) and "\t" not in line:
            path = line[len(MODULE) :].rstrip("\n")
            continue
        parts = line.rstrip("\n").split("\t")
        if path is None or len(parts) not in (FACTS, FACTS + 5):
            raise ValueError(f"{package}: no row of the catalogue: {line[:80]!r}")
        template, what, function, sites, first, last, *label = parts
        kind, _, name = what.partition(" ")
        given = _label(label) if label else by_place(package, path, kind, name)
        yield Row(package, template, kind, name, path, function, int(sites), first, last, given)


def _columns(row: Row) -> list[str]:
    what = f"{row.kind} {row.name}".rstrip()
    facts = [row.template, what, row.function, str(row.sites), row.first, row.last]
    if row.label.by == "place":
        return facts
    label = row.label
    return [
        *facts,
        label.bucket,
        label.cause,
        label.owner,
        label.fatal,
        label.by + (SPECIFIC if label.specific else ""),
    ]


def _label(parts: list[str]) -> Label:
    bucket, cause, owner, fatal, by = parts
    return Label(bucket, cause, owner, fatal, by.endswith(SPECIFIC), by.removesuffix(SPECIFIC))
