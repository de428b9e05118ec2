"""Expressions that are compiled on first use: most logs need few of them, and compiling all would double the start-up time."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


class LazyPattern:
    """A ``re`` pattern that compiles itself when it is first used."""

    __slots__ = ("_flags", "_made", "_source")

    def __init__(self, source: str | bytes, flags: int = 0) -> None:
        self._source = source
        self._flags = flags
        self._made: Any = None

    @property
    def made(self) -> Any:
        """The compiled pattern."""
        if self._made is None:
            self._made = re.compile(self._source, self._flags)
        return self._made

    def match(self, text: Any) -> Any:
        """Match at the start."""
        return self.made.match(text)

    def search(self, text: Any) -> Any:
        """Search anywhere."""
        return self.made.search(text)

    def sub(self, replacement: str | bytes | Callable[[Any], Any], text: Any) -> Any:
        """Replace all matches."""
        return self.made.sub(replacement, text)

    def findall(self, text: Any) -> list[Any]:
        """Return all matches."""
        found: list[Any] = self.made.findall(text)
        return found

    def finditer(self, text: Any) -> Iterator[Any]:
        """Return an iterator over all matches."""
        found: Iterator[Any] = self.made.finditer(text)
        return found
