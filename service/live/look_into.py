"""Looks into processes that stand still, on this machine and with consent: their stacks, and the GPUs."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from ...classifier.masking.mask import mask

if TYPE_CHECKING:
    from ...classifier.standstill.types import Standstill

LONGEST = 20.0
"""Seconds that one program may take."""
PROCESSES = 8
"""Processes whose stacks are looked at."""
LINES = 30
"""Lines shown of each program's output."""
GPUS = ("nvidia-smi", "--query-gpu=index,name,utilization.gpu,memory.used,memory.total", "--format=csv")


def look_into(state: Standstill) -> str:
    """Return the stacks of the processes that stand still and the state of the GPUs, as far as programs for that are there."""
    told = []
    if shutil.which("py-spy") is None:
        told.append("py-spy is not installed (pip install py-spy): no stacks")
    else:
        told += [_run(["py-spy", "dump", "--nonblocking", "--pid", str(pid)]) for pid in state.pids[:PROCESSES]]
    if shutil.which(GPUS[0]) is not None:
        told.append(_run(list(GPUS)))
    return "\n".join(told)


def _run(command: list[str]) -> str:
    head = f"$ {' '.join(command)}\n"
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False, errors="replace")  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{head}{type(error).__name__}"
    lines = (ran.stdout.strip() or ran.stderr.strip()).splitlines()
    return head + "\n".join(mask(line) for line in lines[:LINES])
