"""Where things stand in a rule file, so that a complaint names the line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

Path = tuple[str | int, ...]
"""Keys and positions from the top of a document down to a value: ``("cause", 2, "fix", 0, "kind")``."""

_TABLES = re.compile(r"\s*\[\[\s*([\w.]+)\s*\]\]")
_KEY = re.compile(r"\s*([\w\-]+)\s*=")
_STRING = re.compile(r"\"\"\"|'''|\"(?:[^\"\\]|\\.)*\"|'[^']*'|#")


class CorpusError(ValueError):
    """A rule file breaks the format; the message names the file, the line, the place and what to write instead."""


class Place:
    """A table of a rule file: what a complaint about it begins with.

    Args:
        file: The file's name.
        lines: The line of each table and key, as :func:`lines_of` gives them; empty where the text is not known.
        path: Where the table stands in the document.
        name: What a person calls it: ``rule max-seq-len-v1``; "" for the whole file.
    """

    def __init__(self, file: str, lines: Mapping[Path, int], path: Path = (), name: str = "") -> None:
        self.file = file
        self.name = name
        self._lines = lines
        self._path = path

    def line(self, *keys: str | int) -> int:
        """Return the line of the table, or of what stands in it under ``keys``; 0 where it is not known."""
        return self._lines.get((*self._path, *keys)) or self._lines.get(self._path, 0)

    def inside(self, key: str, number: int, name: str) -> Place:
        """Return the place of the table number ``number`` (from 0) of the array ``key`` in this one."""
        return Place(self.file, self._lines, (*self._path, key, number), name)

    def says(self, message: str, *keys: str | int) -> str:
        """Return a complaint about the table, or about what stands in it under ``keys``."""
        return complaint(self.file, self.line(*keys), f"{self.name}: {message}" if self.name else message)


def complaint(file: str, line: int, message: str) -> str:
    """Return a message with file and line in front, as editors and terminals jump to them."""
    return f"{file}:{line}: {message}" if line else f"{file}: {message}"


def lines_of(text: str) -> dict[Path, int]:
    """Return on which line (from 1) each table and each key of a TOML document stands.

    Args:
        text: A document that ``tomllib`` reads, of tables in arrays (``[[cause.fix]]``) and plain keys.
    """
    found: dict[Path, int] = {}
    here: Path = ()
    for number, line in _fresh_lines(text):
        if table := _TABLES.match(line):
            here = _next(found, table[1].split("."))
            found[here] = number
        elif key := _KEY.match(line):
            found.setdefault((*here, key[1]), number)
    return found


def _next(found: Mapping[Path, int], names: list[str]) -> Path:
    """Return the path of one more table in the array that ``names`` lead to, each outer one in its latest table."""
    path: Path = ()
    for depth, name in enumerate(names):
        count = 0
        while (*path, name, count) in found:
            count += 1
        last = depth == len(names) - 1
        path = (*path, name, count if last else max(0, count - 1))
    return path


def _fresh_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that do not begin within a string of several lines, each with its number."""
    closing = ""
    for number, line in enumerate(text.split("\n"), 1):
        at = 0
        if closing:
            at = line.find(closing) + len(closing)
            if at < len(closing):
                continue
            closing = ""
        else:
            yield number, line
        while mark := _STRING.search(line, at):
            at = mark.end()
            if mark[0] == "#":
                break
            if mark[0] in ('"""', "'''"):
                end = line.find(mark[0], at)
                if end < 0:
                    closing = mark[0]
                    break
                at = end + 3
