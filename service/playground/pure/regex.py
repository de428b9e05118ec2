"""In the browser in the place of the package ``regex``, of which no build for WebAssembly is published: the standard library's ``re``.

What our expressions use of ``regex`` is also in ``re`` (a test asks every rule); a time limit is not, and is left out: a log of somebody's
own can only keep that somebody's tab busy.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType

__version__ = "re"
error = re.error
Match = re.Match


class Pattern:
    """An expression with the methods that are used of ``regex``'s."""

    def __init__(self, made: re.Pattern[str]) -> None:
        self.pattern = made.pattern
        self._made = made

    def search(self, string: str, pos: int = 0, endpos: int = sys.maxsize, **_limits: object) -> re.Match[str] | None:
        """Look for the expression."""
        return self._made.search(string, pos, endpos)

    def match(self, string: str, pos: int = 0, endpos: int = sys.maxsize, **_limits: object) -> re.Match[str] | None:
        """Look for the expression at the start."""
        return self._made.match(string, pos, endpos)

    def fullmatch(
        self, string: str, pos: int = 0, endpos: int = sys.maxsize, **_limits: object
    ) -> re.Match[str] | None:
        """Return whether all of it fits."""
        return self._made.fullmatch(string, pos, endpos)


def compile(pattern: str, flags: int = 0) -> Pattern:  # noqa: A001 - the package's own name
    """Compile an expression."""
    return Pattern(re.compile(pattern, flags))


_regex = ModuleType("regex._regex")
"""The C module, of which there is none: its attributes tell the build."""
sys.modules.setdefault("regex._regex", _regex)
