"""Runs of a fleet's logs by one engine after the other, and a model of what they cost."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import Any

from fleet_cost import Watch
from fleet_logs import Filling, Fleet
from fleet_nodes import nodes
from fleet_told import digest, told

from vllm_triage.service.batch import run as batch
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.engines.local import Here, Processes
from vllm_triage.service.batch.run import Tally
from vllm_triage.service.batch.work import Write


def throughput(options: argparse.Namespace) -> None:
    """Compare engines on the same logs, in turns."""
    fleet = Fleet(options.logs, starts=options.starts, tail=options.tail << 10)
    for _ in range(options.turns):
        for name in options.engines:
            told(**measured(name, fleet))


def cost(options: argparse.Namespace) -> None:
    """Fit processor time to nodes and logs: so much for the cluster, for each node, and for each log."""
    import numpy as np

    points: list[tuple[int, int, float]] = []
    for logs in options.logs:
        for number in options.nodes:
            figures = measured(f"nodes{number}", Fleet(logs))
            told(**figures)
            points.append((number, logs, figures["driver_cpu_s"] + figures["workers_cpu_s"]))
    terms = np.array([(1, number, logs) for number, logs, _ in points], dtype=float)
    seconds = np.array([own for _, _, own in points])
    fitted, *_ = np.linalg.lstsq(terms, seconds, rcond=None)
    off = (terms @ fitted - seconds) / seconds
    told(
        cluster_s=round(fitted[0], 1), node_s=round(fitted[1], 2), log_ms=round(fitted[2] * 1000, 2),
        off_percent=[round(100 * own, 1) for own in off.tolist()],
    )  # fmt: skip


def measured(name: str, fleet: Fleet) -> dict[str, Any]:
    """Have an engine read all logs of a fleet; return the figures.

    Args:
        name: ``one``, ``local2``, ``ray2``, or ``nodes2``: a Ray cluster of two nodes with a processor each.
        fleet: What is read.
    """
    # What the listing returns; who reads a log makes it.
    batch.find = lambda _: fleet.names()  # type: ignore[assignment]
    place = tempfile.mkdtemp(prefix="fleet-")
    read: list[float] = []

    def tell(tally: Tally) -> None:
        read.append(time.monotonic())
        if len(read) % 20 == 0:
            memory = f"{watch.memory[-1]:.0f} MiB" if watch.memory else ""
            print(
                f"{name}: {tally.logs:,} of {fleet.number:,} logs, {read[-1] - began:.0f} s {memory}", file=sys.stderr
            )

    with ExitStack() as stack:
        watch, began = Watch(), time.monotonic()
        watch.start()
        engine, jobs = _engine(name, stack)
        ready = time.monotonic()
        work: Any = Filling(fleet, Write(Asking(), place, "parquet"))
        tally = batch.run([""], work, engine, tell=tell, writers=jobs)
        ended = time.monotonic()
        driver, workers, strangers = watch.stop()
    figures = {
        "engine": name, "logs": tally.logs, "starts": tally.starts, "mib": round(tally.bytes / (1 << 20), 1),
        "wall_s": round(ended - began, 1), "engine_s": round(ready - began, 1), "first_s": round(read[0] - began, 1),
        "publish_s": round(ended - read[-1], 1), "driver_cpu_s": round(driver, 1), "workers_cpu_s": round(workers, 1),
        "logs_per_s": round(tally.logs / (ended - began), 1), "memory_mib": watch.thirds(), "rows": digest(place),
        "cores_of_strangers": round(strangers, 2),
    }  # fmt: skip
    shutil.rmtree(place)
    return figures


def _engine(name: str, stack: ExitStack) -> tuple[Any, int]:
    """Return an engine by its name, and how many work; what it started ends with the stack."""
    if name == "one":
        return Here(), 1
    kind, number = name.rstrip("0123456789"), int(name.lstrip("abcdefghijklmnopqrstuvwxyz") or 2)
    if kind not in ("ray", "nodes"):
        return Processes(number), number
    import ray

    from vllm_triage.service.batch.engines.on_ray import Ray

    address = stack.enter_context(nodes(number)).address if kind == "nodes" else ""
    stack.callback(ray.shutdown)
    return Ray(number, address), number
