"""Until when releases have each line, for corpus/vllm/lines.bin."""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...corpus.code_lines import INDEX, MAGIC, NEVER, key_of
from ...corpus.shards import FILTERS, file_of
from .lives import Entry, Lives

FILE = INDEX
BEST: dict[str, Any] = {"preset": 9 | lzma.PRESET_EXTREME, "pb": 0, "lc": 0}


def pack(versions: Sequence[str], files: Iterable[tuple[str, list[Entry]]]) -> bytes:
    """Return the index in the layout that ``corpus/code_lines.py`` describes.

    Args:
        versions: Oldest first, 255 at most.
        files: Each path with its entries.
    """
    if len(versions) > NEVER:
        raise ValueError(f"{len(versions)} releases: the layout holds {NEVER}")
    places: dict[str, tuple[int, int, int, int]] = {}
    records = bytearray()
    for path, entries in files:
        if entries:
            columns, count = _columns(entries)
            packed = lzma.compress(columns, lzma.FORMAT_RAW, filters=[{**FILTERS[0], **BEST}])
            places[path] = (len(records), len(packed), len(entries), count)
            records += packed
    return file_of(MAGIC, {"releases": list(versions), "files": places}, records)


def _columns(entries: list[Entry]) -> tuple[bytes, int]:
    """Return the columns of a file, and how long they are."""
    lines: dict[int, list[Entry]] = {}
    for each in entries:
        lines.setdefault(key_of(each.function, each.code, len(entries)), []).append(each)
    rows = sorted((key, *fate) for key, same in lines.items() for fate in _fates(same))
    steps = [row[0] - (rows[at - 1][0] if at else 0) for at, row in enumerate(rows)]
    columns = [[step >> 8 for step in steps], [step & 255 for step in steps]]
    columns += [[row[at] for row in rows] for at in range(1, 5)]
    return b"".join(bytes(column) for column in columns), len(rows)


def _fates(entries: list[Entry]) -> list[tuple[int, int, int, int]]:
    """Return the fates under one key; of lines that share it by chance the last to go, so that none is called rewritten that is not."""
    if len({each[:2] for each in entries}) == 1:
        return [each[2:] for each in entries]
    return [(*max(each[2:4] for each in entries), NEVER, 0)]


def made(archives: Mapping[str, Path]) -> bytes:
    """Return the index of these releases, oldest first."""
    lives = Lives()
    for version, archive in archives.items():
        lives.add(version, archive)
    return pack(lives.releases, lives.entries())
