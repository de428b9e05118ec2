"""A fix as it is put together, before it is masked."""

from __future__ import annotations

from ..corpus.records import Draft, record


@record(slots=True)
class Advice(Draft):
    """A fix with this log's values filled in; the fields of the output contract."""

    rank: int
    title: str
    kind: str
    change: str
    why: str
    cost: str
    verify: str
    option: str = ""
    value: str = ""
    safety: str = "safe"
    versions: str = ""
    fixed_in: str = ""
    """For an upgrade: the release from which the fault, or the words that decided, are gone."""
    restart: bool = False
    root: bool = False
    source: str = ""
    exact: bool = False
    """Whether every value in ``change`` is known: it can be pasted as it stands."""
    moves: str = ""
    """``up`` or ``down``: which way the value must differ from what is in force."""
