"""Logs to work off, and where they lie."""

from __future__ import annotations

from pathlib import Path

BANNER = "INFO 11-02 10:{minute:02}:00 [api_server.py:1] vLLM API server version 0.19.1\n"
NO_CACHE = "(EngineCore_DP0 pid=7) ERROR 11-02 10:{minute:02}:30 [core.py:708] ValueError: No available memory for the cache blocks.\n"
TAKEN = "OSError: [Errno 98] Address already in use\n"
CHANGED = 1_793_700_000
"""A time in November 2026."""


def no_cache(minute: int = 1) -> str:
    """Return the log of a start that has no room for its cache."""
    return (BANNER + NO_CACHE).format(minute=minute)


def port_taken(minute: int = 1) -> str:
    """Return the log of a start whose port is taken."""
    return BANNER.format(minute=minute) + TAKEN


def fleet(folder: Path, number: int = 6) -> Path:
    """Write logs of some nodes, every third with two starts; return their folder."""
    for index in range(number):
        path = folder / f"node-{index % 2}" / f"server-{index}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(no_cache(index) + (port_taken(index) if index % 3 == 0 else ""))
    return folder
