"""What all parts of the fleet's benchmark do alike: print figures, and compare folders of reports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container

from vllm_triage.service.batch.store.reader import read_rows


def told(**figures: object) -> None:
    """Print figures."""
    print(json.dumps(figures), flush=True)


def digest(place: str, logs: Container[str] | None = None) -> str:
    """Return a checksum of all rows, or of those of some logs, whatever their order."""
    # The checksums are sorted rather than the rows: 50,000 of these are 200 MB.
    rows = sorted(
        hashlib.blake2b(json.dumps(row, sort_keys=True).encode()).digest()
        for row in read_rows(place)
        if logs is None or row["log"] in logs
    )
    return hashlib.sha256(b"".join(rows)).hexdigest()[:16]
