"""What a caller may hand in as a log, and what is told to be a mistake rather than read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from ..corpus.records import cast
from .errors import InputError
from .input.read import Chunks, Joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from .input.read import LogSource

    Text = str | bytes | bytearray | memoryview
    Source = Text | os.PathLike[str] | IO[bytes] | IO[str] | Iterable[str] | Iterable[bytes] | Chunks | Joined
    """A log: its text or bytes, a path object, an open file, or its lines. gzip, zstd, xz and bzip2 are unpacked."""
NAMED = (".log", ".txt", ".out", ".err", ".json", ".jsonl", ".gz", ".zst", ".bz2", ".xz", ".zip", ".tar", ".tgz")
"""How names of log files end."""


def checked(source: object) -> LogSource:
    """Return a source as it can be read (``input.read.read_blocks``).

    Raises:
        InputError: It is the name of a file, or nothing that holds a log in order.
    """
    if isinstance(source, str):
        if _names_a_file(source):
            raise InputError(
                f"{source!r} is the name of a file: pass pathlib.Path({source!r}) to have it read (a text is the log itself)"
            )
        return source
    if isinstance(source, (bytes, bytearray, memoryview, os.PathLike, Chunks, Joined)) or hasattr(source, "read"):
        return cast("LogSource", source)
    if isinstance(source, (Mapping, AbstractSet)):
        raise InputError(f"cannot read a log from a {type(source).__name__}: give a path, text, bytes, a file or lines")
    return cast("LogSource", _of_one_kind(source) if isinstance(source, Iterable) else source)


def _names_a_file(text: str) -> bool:
    """Return whether a text is a file's name, not a log of one line."""
    if not text or len(text) > 1000 or "\n" in text:
        return False
    return (text.lower().endswith(NAMED) and not any(map(str.isspace, text))) or os.path.exists(text)  # noqa: PTH110


def _of_one_kind(lines: Iterable[object]) -> Iterator[object]:
    kinds = set()
    for line in lines:
        kinds.add(isinstance(line, str))
        if len(kinds) > 1:
            raise InputError("the lines are text and bytes by turns: give the one or the other")
        yield line
