"""``python -m vllm_triage.training.fingerprint.changes``: bring corpus/vllm/slices.bin up to date with the package index."""

from __future__ import annotations

import lzma
import re
import sys
from collections import defaultdict

from ...corpus.code_lines import NEVER
from ...corpus.code_slices import (
    FILE_COLUMNS,
    INDEX,
    LONGEST,
    MAGIC,
    MESSAGE_COLUMNS,
    SHORTEST,
    checksum,
    head_of,
    key_of,
)
from ...corpus.shards import FILTERS, file_of
from .__main__ import FIRST
from .guards import CATCH, piece_of
from .lines import BEST
from .mends import Mend
from .rewrite import rewrite
from .slices import Slices

_CLASS = re.compile(r"\w+(?=$|[,)\s])")


def pack(slices: Slices) -> bytes:
    """Return the index in the layout that ``corpus/code_slices.py`` describes."""
    if len(slices.releases) > NEVER:
        raise ValueError(f"{len(slices.releases)} releases: the layout holds {NEVER}")
    lines: defaultdict[str, list[tuple[str, str, dict[int, Mend]]]] = defaultdict(list)
    checks: dict[tuple[str, str], dict[int, Mend]] = {}
    for place, changes in slices.final():
        if place.message:
            checks[place.path, place.text] = changes
        else:
            lines[place.path].append((place.function, place.text, changes))
    records = bytearray()
    files = {}
    together = sorted(
        {_caught(mend) for rows in lines.values() for *_, changes in rows for mend in changes.values()} | {""}
    )
    for path, rows in sorted(lines.items()):
        files[path] = _put(records, _file(rows, together), len(rows))
    messages = _put(records, _messages(slices, checks), 0)
    listing = {"releases": slices.releases, "files": files, "messages": messages, "caught": together[: NEVER + 1]}
    return file_of(MAGIC, listing, records)


def _put(records: bytearray, columns: list[list[int]], keys: int) -> tuple[int, int, int]:
    """Append a record; return where it stands."""
    packed = lzma.compress(b"".join(map(bytes, columns)), lzma.FORMAT_RAW, filters=[{**FILTERS[0], **BEST}])
    records += packed
    return len(records) - len(packed), len(packed), keys


def _file(rows: list[tuple[str, str, dict[int, Mend]]], together: list[str]) -> list[list[int]]:
    found = []
    for function, text, changes in rows:
        key = key_of(function, text, len(rows))
        for number, mend in changes.items():
            caught = together.index(_caught(mend))
            # More kinds than a byte holds there are not; of one that were too many, nothing is told.
            found.append((key, number, mend.how, caught if caught <= NEVER else 0))
    found.sort()
    steps = [row[0] - (found[at - 1][0] if at else 0) for at, row in enumerate(found)]
    columns = [[step >> 16 for step in steps], [step >> 8 & 255 for step in steps], [step & 255 for step in steps]]
    return [*columns, *([row[at] for row in found] for at in range(1, FILE_COLUMNS - 2))]


def _caught(mend: Mend) -> str:
    return " ".join(sorted({name for item in mend.items if item.kind == CATCH for name in _CLASS.findall(item.code)}))


def _messages(slices: Slices, checks: dict[tuple[str, str], dict[int, Mend]]) -> list[list[int]]:
    found = set()
    last = len(slices.releases) - 1
    for path, message in slices.said:
        piece = piece_of(message)[:LONGEST]
        # The same bytes for what begins alike in all releases: a message of which the end was changed is the same refusal.
        total, name, head = checksum(piece), checksum(path.rpartition("/")[2]), head_of(piece).to_bytes(4, "big")
        until = NEVER if slices.last[message] == last else slices.last[message] + 1
        changes = [(at, mend.how) for at, mend in checks.get((path, message), {}).items()] or [(NEVER, 0)]
        if len(piece) >= SHORTEST:
            found |= {
                (*head, len(piece), total >> 8, total & 255, name >> 8, name & 255, until, *change)
                for change in changes
            }
    return [list(column) for column in zip(*sorted(found), strict=True)] or [[] for _ in range(MESSAGE_COLUMNS)]


def main(arguments: list[str] | None = None) -> int:
    """Read every release and write the index anew; return the exit code."""
    slices = Slices()
    return rewrite("changes", INDEX, FIRST, slices.add, lambda: pack(slices), arguments)


if __name__ == "__main__":
    sys.exit(main())
