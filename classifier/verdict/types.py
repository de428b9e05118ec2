"""What the verdict weighs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..matching.types import Hit

# Compared by identity and never matched on: what dataclass need not generate makes the command start faster.


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Candidate:
    """A possible answer with what speaks for it."""

    bucket: str
    cause: str
    score: float
    hit: Hit
    reasons: list[str] = field(default_factory=list)
