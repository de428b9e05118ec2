"""Work for processes, some of which take their process along."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from vllm_triage.service.batch.log import Chunk


def names(chunk: Chunk) -> list[str]:
    """Return the names of the logs, with what is wrong with each."""
    return [f"{log.name}: {log.problem}" if log.problem else log.name for log in chunk]


def killed_by_poison(chunk: Chunk) -> list[str]:
    """Be killed by a log of the name ``poison``, unless it is told to be one."""
    if any(log.name == "poison" and not log.problem for log in chunk):
        os.kill(os.getpid(), signal.SIGKILL)
    return names(chunk)


def killed_once(chunk: Chunk) -> list[str]:
    """Be killed the first time by a log whose name is that of a file which is not there yet."""
    for log in chunk:
        mark = Path(log.name)
        if mark.is_absolute() and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return names(chunk)
