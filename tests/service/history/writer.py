"""A process that records until it is told, or made, to end: ``python writer.py URL COUNT SERVICES``.

It says 'ready', waits for a line, and prints the service of every incident once it is recorded. Count 0 is without end.
"""

# ruff: noqa: T201 - what it prints is what it is for
from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.service.history.reports import report
from vllm_triage.service.history import History


def main() -> None:
    """Record."""
    url, count, services = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    history = History(url)
    made = report()
    print("ready", flush=True)
    name = sys.stdin.readline().strip()
    dice = random.Random(name)
    number = 0
    while not count or number < count:
        service = str(dice.randrange(services)) if services else f"{name}-{number}"
        history.record(made, service=service)
        print(service, flush=True)
        number += 1
    history.close()


if __name__ == "__main__":
    main()
