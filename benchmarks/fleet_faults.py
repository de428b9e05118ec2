"""Kills of workers, drivers and nodes in the middle of a run: what comes out must be what an undisturbed run writes.

A kill falls when a number of chunks is done that the trial's seed draws, and a moment later. A driver that is killed is started
again, with the same command; after any other kill the run has to come to its end by itself.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from fleet_cost import children, command
from fleet_logs import fleet
from fleet_nodes import Nodes, busy, nodes
from fleet_told import digest, told

from vllm_triage.service.batch import run as batch
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.chunks import LOGS
from vllm_triage.service.batch.engines.local import Here
from vllm_triage.service.batch.store.reader import read_rows
from vllm_triage.service.batch.work import Write

KINDS = ("worker", "driver", "ray-worker", "ray-driver", "ray-node")
LATER = 0.5
"""Seconds after the drawn chunk within which a kill falls: while others are worked on, written or published."""
LONG = 300.0
"""Seconds after which a run is given up."""


def faults(options: argparse.Namespace) -> None:
    """Run the trials; print a line for each."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        logs, whole = _laid_out(folder, options.logs), f"{folder}/whole"
        batch.run([logs], Write(Asking(), whole, "parquet"), Here())
        wanted, same = Counter(row["id"] for row in read_rows(whole, ("id",))), digest(whole)
        cluster = stack.enter_context(nodes(2)) if any(kind.startswith("ray") for kind in options.kinds) else None
        total: Counter[str] = Counter()
        for trial in range(options.trials):
            kind, place = options.kinds[trial % len(options.kinds)], f"{folder}/{trial}"
            seed = random.Random(f"{options.seed}:{trial}")
            kills, ended = _disturbed(kind, logs, place, seed, cluster)
            seen = Counter(row["id"] for row in read_rows(place, ("id",)))
            figures = {
                "kills": kills, "lost": len(wanted - seen), "doubled": len(seen - wanted),
                "others": int(digest(place) != same), "not_ended": int(not ended),
            }  # fmt: skip
            total.update(figures)
            told(trial=trial, kind=kind, rows=seen.total(), **figures)
        told(trials=options.trials, **total)


def _laid_out(folder: str, number: int) -> str:
    """Write the logs down; return their folder."""
    logs = Path(folder, "logs")
    for log in fleet(number):
        path = logs / log.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(log.data or b"")
        os.utime(path, (log.changed, log.changed))
    return str(logs)


def _disturbed(kind: str, logs: str, place: str, seed: random.Random, cluster: Nodes | None) -> tuple[int, bool]:
    """Run the command, with kills; return how many there were, and whether it came to its end."""
    words = [sys.executable, "-m", "vllm_triage.service", "batch", logs, "--out", place, "-j", "2"]
    if kind.startswith("ray"):
        assert cluster
        words += ["--engine", "ray", "--address", cluster.address]
    chunks = len(list(Path(logs).rglob("*.log"))) // LOGS
    kills = 0
    # A driver is killed twice, and then left alone.
    for attempt in range(3 if kind.endswith("driver") else 1):
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
            if attempt < 2 and _at(driver, Path(place), seed.randrange(1 + attempt, chunks)):
                time.sleep(seed.random() * LATER)
                kills += _killed(kind, driver.pid, seed, cluster)
            try:
                code = driver.wait(LONG)
            except subprocess.TimeoutExpired:
                driver.kill()
                return kills, False
    return kills, code == 0


def _at(driver: subprocess.Popen[bytes], place: Path, number: int) -> bool:
    """Wait until some chunks are done; tell whether the driver still runs."""
    while driver.poll() is None:
        if sum(1 for _ in place.glob("pending/*.parquet")) >= number:
            return True
        time.sleep(0.05)
    return False


def _killed(kind: str, driver: int, seed: random.Random, cluster: Nodes | None) -> int:
    """Kill what the trial is about; return how many processes that were."""
    if kind == "ray-node":
        assert cluster
        cluster.kill(seed)
        return 1
    victims: Sequence[int] = [driver]
    if kind == "ray-worker":
        victims = busy()
    elif kind == "worker":
        victims = [pid for pid in children(driver) if b"spawn_main" in command(pid)]
    for victim in seed.sample(list(victims), min(1, len(victims))):
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return 0
        return 1
    return 0
