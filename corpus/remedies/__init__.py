"""What to change where vLLM, or a package around it, prints one certain message (docs/lab/messages.md).

A cause has fixes for all that can lead to it. A message often names more: the option that was given, what it may be, the
package that is too old. Here stands for single messages of the catalogue what their readers should change, written beside
the line of source that raises them. One text file for each package, sorted by module and template, so that a change reads as
one in a review.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby

from ..messages import ENDING, MODULE
from ..messages import packages as packages_in
from ..records import Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kinds import Kind, Tag

FOLDER = os.path.dirname(__file__)  # noqa: PTH120 (pathlib is slow to import)
KEEP = "keep"
"""Stands where the fixes of the cause are the right ones, or where nothing that anybody can change leads to the message."""
COLUMNS = 5
"""Of a fix: template (empty: that of the fix before), kind, title, change, why; behind them tags, where it has some."""
KINDS = ("flag", "env", "command", "step")

__all__ = [
    "ENDING", "FOLDER", "KEEP", "KINDS", "Change", "Remedy", "from_text", "packages", "read", "remedies", "to_text",
    "write",
]  # fmt: skip


@record(slots=True, frozen=True)
class Change(Record):
    """One fix of a message. ``{v1}`` stands for the first value that its template leaves open, ``{v1|text}`` has a fallback."""

    kind: Kind
    title: str
    change: str
    """``--option value``, ``leave out --option``, ``VARIABLE=value``, a shell command, or a sentence."""
    why: str
    tags: tuple[Tag, ...] = ()


@record(slots=True, frozen=True)
class Remedy(Record):
    """What somebody who read the source advises for one message of the catalogue."""

    package: str
    path: str
    """The module, as the catalogue has it."""
    template: str
    changes: tuple[Change, ...]
    """Best first; empty: the cause's own fixes are kept."""


def packages(folder: str = FOLDER) -> list[str]:
    """Return the packages of whose messages some have remedies, sorted."""
    return packages_in(folder)


def read(package: str, folder: str = FOLDER) -> list[Remedy]:
    """Return the remedies for one package's messages, as they stand in its file.

    Raises:
        FileNotFoundError: There are none.
        ValueError: A line of the file is none.
    """
    with open(os.path.join(folder, package + ENDING), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        return list(from_text(package, file))


def remedies(folder: str = FOLDER) -> list[Remedy]:
    """Return all remedies, package by package."""
    return [remedy for package in packages(folder) for remedy in read(package, folder)]


def write(package: str, found: Iterable[Remedy], folder: str = FOLDER) -> None:
    """Write one package's file."""
    with open(os.path.join(folder, package + ENDING), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123
        file.write(to_text(found))


def to_text(found: Iterable[Remedy]) -> str:
    """Return remedies in the form of the files."""
    ordered = sorted(found, key=lambda remedy: (remedy.path, remedy.template))
    lines = []
    for path, group in groupby(ordered, key=lambda remedy: remedy.path):
        lines.append(f"{MODULE}{path}\n")
        for remedy in group:
            head = remedy.template
            if not remedy.changes:
                lines.append(f"{head}\t{KEEP}\n")
            for change in remedy.changes:
                told = [
                    head,
                    change.kind,
                    change.title,
                    change.change,
                    change.why,
                    *filter(None, [" ".join(change.tags)]),
                ]
                lines.append("\t".join(told) + "\n")
                head = ""
    return "".join(lines)


def from_text(package: str, lines: Iterable[str]) -> Iterator[Remedy]:
    """Yield the remedies that a file holds.

    Raises:
        ValueError: A line that is none, or that stands before the first module.
    """
    path = template = ""
    changes: list[Change] = []
    for number, line in enumerate(lines, 1):
        parts = line.rstrip("\n").split("\t")
        if line.startswith(MODULE) and len(parts) == 1:
            if template:
                yield Remedy(package, path, template, tuple(changes))
            path, template, changes = parts[0][len(MODULE) :], "", []
            continue
        if parts[0]:
            if template:
                yield Remedy(package, path, template, tuple(changes))
            template, changes = parts[0], []
            if parts[1:] == [KEEP] and path:
                continue
        if (
            not path
            or not template
            or len(parts) not in (COLUMNS, COLUMNS + 1)
            or parts[1] not in KINDS
            or not all(parts[2:4])
        ):
            raise ValueError(f"{package}: line {number} is no remedy: {line[:80]!r}")
        tags = " ".join(parts[COLUMNS:]).split()
        kind, title, change, why = parts[1:COLUMNS]
        changes.append(Change(kind, title, change, why, tuple(tags)))  # type: ignore[arg-type] # one of KINDS, and tags
    if template:
        yield Remedy(package, path, template, tuple(changes))
