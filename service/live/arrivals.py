"""Pieces of a log with the time at which they came."""

from __future__ import annotations

from typing import NamedTuple


class Arrival(NamedTuple):
    """A piece of a log; without data: time went by."""

    at: float
    """Seconds on the clock of the machine that only goes forward (``time.monotonic``)."""
    data: bytes = b""
    """Need not end at a line end."""
    more: bool = False
    """Whether the next piece is there already: nothing is looked at in between."""
