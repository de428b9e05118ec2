"""The processes of a server on this machine, as Linux shows them; nothing elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from ...classifier.standstill.types import ProcessState

PROC = Path("/proc")
MOST = 256
"""Processes of one server that are looked at."""
_GONE = (OSError, ValueError, IndexError)


def tree(root: int, leave_out: int = 0) -> tuple[ProcessState, ...]:
    """Return a process and all below it that are still there; empty where the system does not show them.

    Args:
        root: Process id.
        leave_out: A process whose branch is not the server's.
    """
    found: list[ProcessState] = []
    waiting = [root]
    while waiting and len(found) < MOST:
        pid = waiting.pop()
        if pid == leave_out:
            continue
        try:
            found.append(_state(pid))
            waiting += _children(pid)
        except _GONE:
            continue
    return tuple(found)


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process: each thread has its own."""
    found: list[int] = []
    for task in os.listdir(PROC / str(pid) / "task"):  # noqa: PTH208 - names alone
        try:
            found += map(int, (PROC / str(pid) / "task" / task / "children").read_text().split())
        except _GONE:
            continue
    return found


def _state(pid: int) -> ProcessState:
    folder = PROC / str(pid)
    stat = (folder / "stat").read_text("utf-8", "replace")
    # The name stands in parentheses and may hold some itself.
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    fields = stat[stat.rindex(")") + 2 :].split()
    title = (folder / "cmdline").read_bytes().split(b"\0", 1)[0].decode("utf-8", "replace")
    ticks = os.sysconf("SC_CLK_TCK")
    return ProcessState(
        pid,
        title if title.startswith("VLLM") else name,
        fields[0],
        (int(fields[11]) + int(fields[12])) / ticks,
        _read(folder),
    )


def _read(folder: Path) -> int:
    """Return the bytes that a process read; 0 where that may not be seen."""
    try:
        first = (folder / "io").read_text().split("\n", 1)[0]
        return int(first.rpartition(" ")[2])
    except _GONE:
        return 0
