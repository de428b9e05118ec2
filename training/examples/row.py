"""Rows of the training set: a piece of log, the bucket that it shows, and what it must not be parted from."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from ...classifier.facts.versions import version_key


@dataclass(slots=True, frozen=True)
class Row:
    """One piece of log with its label."""

    text: str
    bucket: str
    group: str
    """Rows of one group never stand on both sides of a split: one message of vLLM, one rule, one other program."""
    origin: str
    """``release``, ``rule``, ``reject``, ``healthy``, ``recorded`` or ``other``; of a user's logs what they call it."""
    release: str = ""
    """First of the read releases that has it; empty where it belongs to none."""
    stage: str = ""
    weight: float = 1.0
    cause: str = ""
    """Cause within the bucket, where one is known."""

    @property
    def fault(self) -> str:
        """What must be new in a test on faults that were never seen: the cause, else the message itself."""
        return f"{self.bucket}/{self.cause}" if self.cause else self.group


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as JSON lines, compressed where the name ends in ``.xz``."""
    text = "".join(json.dumps(asdict(row), ensure_ascii=False, sort_keys=True) + "\n" for row in rows).encode()
    path.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME) if path.suffix == ".xz" else text)


def read_rows(path: Path) -> list[Row]:
    """Read what :func:`write_rows` wrote."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        return [Row(**json.loads(line)) for line in file]


def digest_of(rows: Iterable[Row]) -> str:
    """Return the SHA-256 of a training set, by which a model names it."""
    total = hashlib.sha256()
    for row in rows:
        total.update(json.dumps(asdict(row), ensure_ascii=False, sort_keys=True).encode())
    return total.hexdigest()


OF_RULES = ("rule", "reject")
"""Origins of rows that rule files say."""


def later(release: str, newest: str) -> bool:
    """Return whether a release came after another; what belongs to no release came after none."""
    key, last = version_key(release) if release else None, version_key(newest) if newest else None
    return key is not None and last is not None and key > last
