"""Many logs: what processes and Ray gain, whether all write the same rows, what memory does, what kills cost, what is harvested.

    python benchmarks/fleet.py throughput --logs 2000       # one process, two, Ray: logs a second, processor time, hashes
    python benchmarks/fleet.py faults --trials 10           # kill -9 of workers, and of the driver, in the middle
    python benchmarks/fleet.py harvest --logs 1300          # ten causes taken out of the rules, found again

Logs are generated as they are read (fleet_logs.py). Each figure is one JSON object on a line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fleet_logs import fleet

from vllm_triage.corpus.store import Corpus, load
from vllm_triage.service.batch import run as batch
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.engines.local import Here, Processes
from vllm_triage.service.batch.log import Log
from vllm_triage.service.batch.store.reader import read_rows
from vllm_triage.service.batch.work import Write, rows_of
from vllm_triage.training.harvest.clusters import clusters
from vllm_triage.training.harvest.propose import propose
from vllm_triage.training.harvest.unnamed import unnamed

CAUSES = 10
"""Causes that are taken out of the rules."""


def told(**figures: object) -> None:
    """Print figures."""
    print(json.dumps(figures), flush=True)


def digest(place: str) -> str:
    """Return a checksum of all rows, whatever their order."""
    rows = sorted(json.dumps(row, sort_keys=True) for row in read_rows(place))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


class Memory(threading.Thread):
    """Watches the resident memory of this process and its children, in MiB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: list[float] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Look twice a second."""
        while not self.over.wait(0.5):
            self.seen.append(sum(map(_resident, [os.getpid(), *_children(os.getpid())])))

    def flat(self) -> dict[str, float]:
        """Return the highest memory in each third of the run."""
        third = max(1, len(self.seen) // 3)
        parts = [self.seen[:third], self.seen[third : 2 * third], self.seen[2 * third :]]
        return {
            name: round(max(part, default=0.0)) for name, part in zip(("first", "second", "third"), parts, strict=True)
        }


def _children(pid: int) -> list[int]:
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [child for name in listed for child in (int(name), *_children(int(name)))]


def _resident(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    except OSError:
        return 0.0


def throughput(options: argparse.Namespace) -> None:
    """Compare engines on the same logs."""
    for name in options.engines:
        place = tempfile.mkdtemp(prefix="fleet-")
        engine = _engine(name)
        # What is generated takes the driver's time: counted apart.
        generated = [0.0]
        listed = _timed(fleet(options.logs, starts=options.starts), generated)
        batch.find = partial(_given, listed)  # type: ignore[assignment]
        watch, began, used = Memory(), time.monotonic(), _cpu()
        watch.start()
        tally = batch.run([""], Write(Asking(), place, "parquet"), engine)
        wall, cpu = time.monotonic() - began, _cpu() - used
        watch.over.set()
        told(
            engine=name, logs=tally.logs, starts=tally.starts, mib=round(tally.bytes / (1 << 20), 1), wall_s=round(wall, 1),
            cpu_s=round(cpu, 1), generating_s=round(generated[0], 1), logs_per_s=round(tally.logs / wall, 1),
            rows=digest(place), memory_mib=watch.flat(), load=os.getloadavg()[0],
        )  # fmt: skip
        shutil.rmtree(place)


def _given(logs: Iterator[Log], _: object) -> Iterator[Log]:
    return logs


def _timed(logs: Iterator[Log], spent: list[float]) -> Iterator[Log]:
    while True:
        began = time.process_time()
        log = next(logs, None)
        spent[0] += time.process_time() - began
        if log is None:
            return
        yield log


def _cpu() -> float:
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


def _engine(name: str) -> Any:
    if name == "one":
        return Here()
    if name.startswith("ray"):
        from vllm_triage.service.batch.engines.on_ray import Ray

        return Ray(int(name[3:] or 2))
    return Processes(int(name[5:] or 2))


def faults(options: argparse.Namespace) -> None:
    """Kill workers and drivers at random moments; what comes out at the end must be what an undisturbed run writes."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder, "logs")
        for log in fleet(options.logs):
            path = logs / log.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(log.data or b"")
            os.utime(path, (log.changed, log.changed))
        whole = f"{folder}/whole"
        batch.run([str(logs)], Write(Asking(), whole, "parquet"), Here())
        wanted = Counter(row["id"] for row in read_rows(whole, ("id",)))
        lost = doubled = kills = 0
        for trial in range(options.trials):
            place = f"{folder}/{trial}"
            kills += _disturbed(options, trial, str(logs), place)
            seen = Counter(row["id"] for row in read_rows(place, ("id",)))
            lost += len(wanted - seen)
            doubled += len(seen - wanted)
            same = digest(place) == digest(whole)
            told(trial=trial, kills=kills, rows=seen.total(), lost=lost, doubled=doubled, same=same)
        told(engine=options.engine, trials=options.trials, kills=kills, lost=lost, doubled=doubled)


def _disturbed(options: argparse.Namespace, trial: int, logs: str, place: str) -> int:
    """Run the command until it ends undisturbed; return how many processes were killed."""
    seed, kills = random.Random(trial), 0
    words = [
        sys.executable, "-m", "vllm_triage.service", "batch", logs, "--out", place, "-j", "2", "--engine", options.engine,
    ]  # fmt: skip
    for attempt in range(3):
        driver = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if attempt < 2:
            time.sleep(options.after + seed.random() * options.within)
            victims = _victims(driver.pid, options.engine) if attempt == 0 else [driver.pid]
            if driver.poll() is None and victims:
                os.kill(seed.choice(victims), signal.SIGKILL)
                kills += 1
        driver.wait()
    return kills


def _victims(driver: int, engine: str) -> list[int]:
    """Return the workers of a driver: those alone that it started itself."""
    found = []
    for child in _children(driver):
        try:
            line = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if (b"ray::" in line) if engine == "ray" else (b"spawn_main" in line):
            found.append(child)
    return found


def harvest(options: argparse.Namespace) -> None:
    """Take causes out of the rules, find them again, and try the proposed rules on logs that were not seen."""
    full = Asking()
    logs = list(fleet(options.logs))
    truth = {log.id: rows_of(log, full)[-1] for log in logs}
    frequent = Counter(row.cause for row in truth.values() if row.failed and row.bucket != "unknown")
    causes = [cause for cause, _ in frequent.most_common(options.skip + CAUSES)][options.skip :]
    _silence(causes)
    rows = [row for log in logs for row in rows_of(log, Asking(without=tuple(causes)))]
    found, healthy = _groups(rows)
    covered: Counter[str] = Counter()
    total = Counter(row.cause for row in truth.values() if row.cause in causes)
    of: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for cluster in found:
            own = Counter(truth[member.log].cause for member in cluster.members)
            cause, number = own.most_common(1)[0]
            if number >= 0.9 * len(cluster.members) and cause in causes:
                covered[cause] += len({member.log for member in cluster.members if truth[member.log].cause == cause})
            made = propose(cluster, found, load(), healthy)
            if not made.problem:
                Path(folder, f"{made.bucket}.toml").write_text(made.text)
                of[made.bucket] = cause
        told(clusters=len(found), rules=len(of), coverage=round(covered.total() / total.total(), 3), causes={
            cause: f"{covered[cause]} of {total[cause]}" for cause in causes
        })  # fmt: skip
        _tried(options, Asking(without=tuple(causes), rules=(folder,)), causes, of)


def _silence(causes: list[str]) -> None:
    """Have the catalogue of messages forget these causes, and what it knows of their buckets alone: it would name most of them."""
    original, buckets = Corpus.messages, {cause.partition("/")[0] for cause in causes}

    class Forgetful:
        def __init__(self, corpus: Corpus) -> None:
            self._matcher = original(corpus)

        def find(self, text: str) -> list[Any]:
            def known(label: Any) -> bool:
                own = f"{label.bucket}/{label.cause}"
                return own not in causes and (label.bucket not in buckets or bool(label.cause))

            return [match for match in self._matcher.find(text) if known(match.row.label)]

    def messages(corpus: Corpus) -> Forgetful:
        return Forgetful(corpus)

    Corpus.messages = messages  # type: ignore[assignment,method-assign]


def _tried(options: argparse.Namespace, asking: Asking, causes: list[str], of: dict[str, str]) -> None:
    # The truth is what all rules say, which the catalogue is not asked for.
    good: Counter[str] = Counter()
    total: Counter[str] = Counter()
    healthy = alarms = 0
    for log in fleet(options.logs // 2, seed=99):
        truth, row = rows_of(log, Asking())[-1], rows_of(log, asking)[-1]
        healthy += not truth.failed
        alarms += not truth.failed and row.bucket in of
        if truth.cause in causes:
            total[truth.cause] += 1
            good[truth.cause] += of.get(row.bucket) == truth.cause
    shares = {cause: round(good[cause] / max(1, total[cause]), 2) for cause in causes}
    told(
        answered=shares,
        at_least_08=sum(value >= 0.8 for value in shares.values()),
        healthy=healthy,
        false_alarms=alarms,
    )


def _groups(rows: list[Any]) -> tuple[Any, tuple[str, ...]]:
    from vllm_triage.service.batch.store.pending import plain
    from vllm_triage.service.cli.commands.learn import _answers

    healthy: dict[str, None] = {}
    return clusters(unnamed(_answers(map(plain, rows), healthy))), tuple(healthy)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("throughput")
    part.add_argument("--logs", type=int, default=2000)
    part.add_argument("--starts", type=int, default=1)
    part.add_argument("--engines", nargs="+", default=["one", "local2", "ray2"])
    part.set_defaults(run=throughput)
    part = parts.add_parser("faults")
    part.add_argument("--logs", type=int, default=400)
    part.add_argument("--trials", type=int, default=10)
    part.add_argument("--engine", choices=("local", "ray"), default="local")
    part.add_argument("--after", type=float, default=0.8, help="seconds before a kill at least")
    part.add_argument("--within", type=float, default=3.0, help="seconds within which it falls then")
    part.set_defaults(run=faults)
    part = parts.add_parser("harvest")
    part.add_argument("--logs", type=int, default=1371)
    part.add_argument("--skip", type=int, default=0, help="causes to leave alone, the most frequent ones")
    part.set_defaults(run=harvest)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
