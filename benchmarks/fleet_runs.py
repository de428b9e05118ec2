"""Runs of a fleet's logs by one engine after the other."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import islice
from statistics import median
from typing import Any

from fleet_cost import Watch
from fleet_logs import Filling, Fleet
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


def whole(options: argparse.Namespace) -> None:
    """Have two processes read all logs into a folder that stays, then other engines the first ones; compare the rows.

    What was killed goes on with the same command: only what is missing is read.
    """
    fleet = Fleet(options.logs, starts=options.starts, tail=options.tail << 10)
    told(**measured("local2", fleet, place=f"{options.out}/all"))
    for each in options.compare:
        name, _, number = each.partition(":")
        first = list(islice(fleet.names(), int(number)))
        figures = measured(name, fleet, place=f"{options.out}/{name}", first=len(first))
        same = digest(f"{options.out}/all", {log.id for log in first}) == figures["rows"]
        told(**figures, as_two_processes=same)


def pairs(options: argparse.Namespace) -> None:
    """Run engines in alternate turns, and tell how many times as fast each is as the first by the clock: the median of the turns."""
    fleet, seconds = Fleet(options.logs), dict[str, list[float]]()
    for turn in range(options.turns):
        # Each engine goes first as often as last: what warms up or slows down hits all alike.
        for name in options.engines if turn % 2 == 0 else options.engines[::-1]:
            figures = measured(name, fleet)
            told(turn=turn, **figures)
            seconds.setdefault(name, []).append(figures["wall_s"])
    first, *others = options.engines
    for name in others:
        gains = [one / own for one, own in zip(seconds[first], seconds[name], strict=True)]
        told(engine=name, against=first, times=[round(gain, 2) for gain in gains], median=round(median(gains), 2))
    if {"local2", "ray2"} <= set(seconds):
        ratios = [local / ray for local, ray in zip(seconds["local2"], seconds["ray2"], strict=True)]
        told(engine="ray2", against="local2", times=[round(own, 2) for own in ratios], median=round(median(ratios), 2))


def measured(name: str, fleet: Fleet, place: str = "", first: int | None = None) -> dict[str, Any]:
    """Have an engine read logs of a fleet; return the figures.

    Args:
        name: ``one``, ``local2``, ``ray2``.
        fleet: What is read.
        place: Folder of the rows, which stays, and whose logs are not read again; "" for one that goes.
        first: How many logs are read; None for all.
    """
    # What the listing returns; who reads a log makes it.
    batch.find = lambda _: islice(fleet.names(), first)  # type: ignore[assignment]
    stays, place = bool(place), place or tempfile.mkdtemp(prefix="fleet-")
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
        "engine": name, "logs": tally.logs, "skipped": tally.skipped, "starts": tally.starts, "mib": round(tally.bytes / (1 << 20), 1),
        "wall_s": round(ended - began, 1), "engine_s": round(ready - began, 1), "first_s": round((read or [ended])[0] - began, 1),
        "publish_s": round(ended - (read or [ended])[-1], 1), "driver_cpu_s": round(driver, 1), "workers_cpu_s": round(workers, 1),
        "logs_per_s": round(tally.logs / (ended - began), 1), "memory_mib": watch.thirds(), "rows": digest(place),
        "cores_of_strangers": round(strangers, 2),
    }  # fmt: skip
    if not stays:
        shutil.rmtree(place)
    return figures


def _engine(name: str, stack: ExitStack) -> tuple[Any, int]:
    """Return an engine by its name, and how many work; what it started ends with the stack."""
    if name == "one":
        return Here(), 1
    kind, number = name.rstrip("0123456789"), int(name.lstrip("abcdefghijklmnopqrstuvwxyz") or 2)
    if kind != "ray":
        return Processes(number), number
    import ray

    from vllm_triage.service.batch.engines.on_ray import Ray

    stack.callback(ray.shutdown)
    return Ray(number, ""), number
