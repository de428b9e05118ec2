"""One correction of what an error names."""

from __future__ import annotations

from ....corpus.records import Record, record


@record(frozen=True)
class Change(Record):
    """One correction."""

    title: str
    put: str
    """What to write; "" where something is only left out."""
    dropped: str
    """What is left out; "" where nothing is."""
    why: str
    option: str
    value: str = ""
    env: bool = False
