"""What waits in the outbox: notifications that came in, messages that go out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Letter:
    """Something to be handled."""

    lane: str
    """Who handles it."""
    id: str
    """For logs."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """A letter that somebody works on."""

    number: int
    id: str
    body: bytes
    attempts: int
    """This one included."""
    gathered: bool
    """Whether it was kept back to be told with others."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Leader:
    """Who alone handles a lane, so that its letters keep their order."""

    token: int
    """No other process has it."""
    seconds: float
    """Unless it takes letters again within so long, another may lead."""
