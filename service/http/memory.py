"""Gives memory back to the system after a storm: the C library keeps what was freed, in an arena for each thread."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

PERIOD = 15.0
"""Seconds between two looks."""
GROWN = 8 << 20
"""Bytes by which the process has grown since the last time before it is worth the while."""
QUIET = 0.1
"""Share of a processor below which the process is taken to have nothing to do."""
ARENAS = 2
"""Heaps of the C library. Threads of Python take turns anyway, and what each leaves behind in a heap of its own adds up."""
MAPPED = 256 << 10
"""Bytes from which a block is mapped by itself, and given back when it is freed: bodies, pages of answers."""
_STATUS = Path("/proc/self/statm")
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8


def frugal() -> None:
    """Have the C library (glibc) keep less of what is freed; to be called before there are threads."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if _STATUS.exists() else None
    # Elsewhere the numbers may mean something else.
    if set_option is not None and trimmer() is not None:
        set_option(_M_ARENA_MAX, ARENAS)
        set_option(_M_MMAP_THRESHOLD, MAPPED)


async def give_back(period: float = PERIOD, grown: int = GROWN, rest: Callable[[], None] = lambda: None) -> None:
    """Give back what is free: whenever the process has grown, and once more when it has come to rest after that.

    Ends only where there is no way to.

    Args:
        period: Seconds between two looks.
        grown: Bytes.
        rest: Lets go of what is kept for work to come; called when the process has come to rest.
    """
    trim = trimmer()
    if trim is None:
        return
    lowest, owed = resident(), False
    while True:
        before = time.process_time()
        await asyncio.sleep(period)
        quiet = time.process_time() - before <= QUIET * period
        # Giving back in the middle of a storm leaves what is still in use, and the process may not grow again after it.
        if resident() - lowest > grown or (owed and quiet):
            if quiet:
                await asyncio.to_thread(rest)
            await asyncio.to_thread(_settle, trim)
            lowest, owed = resident(), not quiet
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
