"""Gives memory back to the system after a storm: the C library keeps what was freed, in an arena for each thread."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
from collections.abc import Callable
from pathlib import Path

PERIOD = 15.0
"""Seconds between two looks."""
GROWN = 8 << 20
"""Bytes by which the process has grown since the last time before it is worth the while."""
_STATUS = Path("/proc/self/statm")


async def give_back(period: float = PERIOD, grown: int = GROWN) -> None:
    """Give back what is free, whenever the process has grown; ends only where there is no way to."""
    trim = trimmer()
    if trim is None:
        return
    lowest = resident()
    while True:
        await asyncio.sleep(period)
        if resident() - lowest > grown:
            await asyncio.to_thread(_settle, trim)
            lowest = resident()
        lowest = min(lowest, resident())


def trimmer() -> Callable[[int], int] | None:
    """Return glibc's ``malloc_trim``; None on other systems."""
    if not _STATUS.exists():
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


def resident() -> int:
    """Return the bytes of this process that are in memory (Linux)."""
    return int(_STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _settle(trim: Callable[[int], int]) -> None:
    # What refers to itself in a circle is freed by nobody else.
    gc.collect()
    trim(0)
