"""Until when vLLM's releases have a line of code (``vllm/lines.bin``), for the lines that frames of tracebacks show.

Written by ``python -m vllm_triage.training.tables lines`` from all releases, read when first asked for. It is in the form of
``shards.py``:

- The table: ``releases`` (oldest first), ``files`` (a path → offset and length of its record, from the end of
  the head, by how many lines its keys are reckoned, its number of entries).
- A file's record, LZMA without a container, in columns of bytes: of each entry the distance of its key from the one before
  (high byte, low byte), the number of the release from which the line is gone (``NEVER``: the newest has it), what is gone,
  the number of the release in which it was put otherwise (``NEVER``: in none), ``mask_of`` the names that it lost there.

A key is a checksum of function and line, ``BITS`` wider than the number of lines asks for, in order. A line that stood in several
statements one after the other has several entries with one key; of statements that stood there together the last to go counts.
"""

# ruff: noqa: PTH118 - pathlib takes longer to import than the index to open
from __future__ import annotations

import os
import re
import zlib
from functools import lru_cache

from .options import FOLDER, version_key
from .records import Record, cast, record
from .shards import Packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias, TypedDict

    class Head(TypedDict):
        """The index's table of contents."""

        releases: list[str]
        files: dict[str, tuple[int, int, int, int]]

    Entry: TypeAlias = tuple[int, int, int, int]


INDEX = os.path.join(FOLDER, "lines.bin")
MAGIC = b"VTL1"
NEVER = 255
"""In place of a release: the newest still has the line."""
BITS = 8
"""One wrong line in so many powers of two is taken for one that the file has."""
STATEMENT, FUNCTION, FILE = range(3)
"""What is gone: the line, from a function that stays; the function; the file."""


@record(frozen=True, slots=True)
class Fate(Record):
    """What became of a line of code.

    Attributes:
        release: The first without it, from which on none has it; "" where the newest has it.
        gone: ``STATEMENT``, ``FUNCTION`` or ``FILE``.
    """

    release: str
    gone: int = STATEMENT


def plain(code: str) -> str:
    """Return code without what formatters change: blanks, parentheses, quotes, comments, trailing commas."""
    code = re.sub(r"""("[^"\n]*"|'[^'\n]*')|#[^\n]*""", lambda found: found[1] or "", code)
    code = re.sub(r",(?=[\s)]*(?:[\])}]|$))|[\s()\\]+", "", code)
    return code.replace("'", '"').replace('""', "")


def key_of(function: str, code: str, lines: int) -> int:
    """Return the key of a line in a file.

    Args:
        function: As a traceback names it, without its class.
        code: Of the line, as :func:`plain` returns it.
        lines: By how many lines the keys of the file are reckoned.
    """
    return zlib.crc32(f"{function}\0{code}".encode("utf-8", "replace")) % (lines << BITS)


def mask_of(names: Iterable[str]) -> int:
    """Return a byte in which one bit is set for each of some names; names may share one."""
    mask = 0
    for name in names:
        mask |= 1 << (zlib.crc32(name.encode("utf-8", "replace")) & 7)
    return mask


class Index:
    """Tells until when releases have a line."""

    def __init__(self, source: str | bytes = INDEX) -> None:
        self._packed = Packed(source, MAGIC)
        self._head = cast("Head", self._packed.table)
        self._read: dict[str, dict[int, list[Entry]]] = {}
        self.releases = tuple(self._head["releases"])

    def fate(self, path: str, function: str, code: str, release: str = "", names: Iterable[str] = ()) -> Fate | None:
        """Return what became of a line; None where the index does not have it, or has it no more in that release.

        Args:
            path: From the package on: ``vllm/v1/engine/core.py``.
            function: In which the line stands, without its class.
            code: As a traceback shows it: one physical line.
            release: That has it; "" where it is not known: then the last time counts that one had it.
            names: That the error names: a line that was put otherwise, without one of them, counts as gone.
        """
        place = self._head["files"].get(path)
        if place is None:
            return None
        found = self._entries(path).get(key_of(function, plain(code), place[2]), ())
        if release:
            wanted = version_key(release) or ()
            found = [each for each in found if each[0] == NEVER or self._key(each[0]) > wanted][:1]
        if not found:
            return None
        number, gone, otherwise, dropped = found[-1]
        later = not release or otherwise == NEVER or self._key(otherwise) > (version_key(release) or ())
        if otherwise != NEVER and later and dropped & mask_of(names):
            number, gone = otherwise, STATEMENT
        return Fate("" if number == NEVER else self.releases[number], gone)

    def has(self, module: str) -> bool:
        """Return whether any release has lines of a module, or of a package: ``vllm.worker.worker``."""
        stem = module.replace(".", "/")
        files = self._head["files"]
        return f"{stem}.py" in files or any(path.startswith(f"{stem}/") for path in files)

    def _key(self, number: int) -> tuple[int, ...]:
        return version_key(self.releases[number]) or ()

    def _entries(self, path: str) -> dict[int, list[Entry]]:
        """Return the fates of a file's lines by their keys, the earliest first."""
        read = self._read.get(path)
        if read is None:
            start, length, _, count = self._head["files"][path]
            raw = self._packed.lzma_record((start, length))
            high, low, until, gone, otherwise, dropped = (raw[at * count : (at + 1) * count] for at in range(6))
            read, key = {}, 0
            for at in range(count):
                key += high[at] << 8 | low[at]
                read.setdefault(key, []).append((until[at], gone[at], otherwise[at], dropped[at]))
            self._read[path] = read
        return read


@lru_cache(maxsize=1)
def index() -> Index:
    """Return the index that comes with the package, read when first asked for."""
    return Index()
