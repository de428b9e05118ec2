"""What the verdict weighs."""

from __future__ import annotations

from ...corpus.records import Busy, field, record
from ..matching.types import Hit


@record(slots=True)
class Candidate(Busy):
    """A possible answer with what speaks for it."""

    bucket: str
    cause: str
    score: float
    hit: Hit
    reasons: list[str] = field(default_factory=list)
