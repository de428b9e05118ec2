"""One correction of what an error names."""

from __future__ import annotations

from ....corpus.actions import Action
from ....corpus.records import Record, record


@record(frozen=True)
class Change(Record):
    """One correction."""

    title: str
    put: tuple[Action, ...]
    """What to set; nothing where something is only left out."""
    dropped: tuple[Action, ...]
    """What is left out; nothing where nothing is."""
    why: str
    option: str
    value: str = ""
    env: bool = False
