"""Parts by which messages, rules and faults are left out of a model, the same ones in every run."""

from __future__ import annotations

import zlib


def fold_of(name: str, folds: int) -> int:
    """Return the fold of a group or a fault."""
    return zlib.crc32(name.encode()) % folds
