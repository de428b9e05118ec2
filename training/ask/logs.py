"""Logs to ask about, by a name under which request and answer lie in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..advice.references import name_of, rows

PACKED = (".jsonl", ".xz")


@dataclass(frozen=True)
class Log:
    """A log."""

    group: str
    """The file that it is of; empty for a file that is one log."""
    id: str
    text: str

    @property
    def name(self) -> str:
        """Name of its request and its answer, without their endings."""
        return re.sub(r"[^\w.-]+", "_", f"{self.group}.{self.id}".strip("."))


def logs_of(paths: Iterable[Path]) -> Iterator[Log]:
    """Yield the logs of files: JSON lines with ``id`` and ``text``, plain or ``.xz``; any other file is one log."""
    for path in paths:
        if path.suffix in PACKED:
            yield from (Log(name_of(path), str(row["id"]), str(row["text"])) for row in rows(path))
        else:
            yield Log("", path.stem, path.read_text("utf-8", "surrogateescape"))


def sample(logs: Sequence[Log], count: int) -> list[Log]:
    """Return so many of some logs: the same ones whenever it is asked, whatever others there are."""
    return sorted(sorted(logs, key=lambda log: sha256(log.name.encode()).digest())[:count], key=lambda log: log.name)
