"""How fast incidents are recorded and read, and whether killing writers loses any.

python benchmarks/history.py speed [--url sqlite:////path/history.db] [--processes 2] [--threads 8] [--seconds 5]
python benchmarks/history.py kill [--url …] [--rounds 20]
python benchmarks/history.py large [--url …] [--incidents 50000] [--occurrences 1000000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.report.schema import report_of
from vllm_triage.service.history import Filter, History, tables
from vllm_triage.service.history import writes as recording

WORKERS = 4
"""Processes that are killed together."""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "kill", "write", "large"))
    parser.add_argument("--url", default="")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--incidents", type=int, default=50_000)
    parser.add_argument("--occurrences", type=int, default=1_000_000)
    parser.add_argument("--distinct", type=int, default=200, help="different failures")
    parser.add_argument("--batch", type=int, default=recording.BATCH, help="most incidents of one commit")
    parser.add_argument("--power-safe", action="store_true", help="wait for the disk at every commit (SQLite)")
    options = parser.parse_args()
    recording.BATCH = options.batch
    if options.what == "write":
        return _write(options)
    with tempfile.TemporaryDirectory(prefix="history-") as folder:
        options.url = options.url or f"sqlite:///{folder}/history.db"
        history = History(options.url)
        history.upgrade()
        {"speed": _speed, "kill": _kill, "large": _large}[options.what](options, history, Path(folder))
        history.close()
    return None


def report(number: int) -> Report:
    """Return a report of the size that is usual (about 6 kB); equal numbers have equal fingerprints."""
    dice = random.Random(number)
    word = "".join(dice.choices("abcdefghij", k=8))
    line = {
        "line": 40,
        "text": f"ERROR 11-02 09:15:01 [core.py:1108] ValueError: the {word} cache is too small",
        "process": "EngineCore",
        "count": 1,
    }
    fix = {name: f"{name} {dice.random()} " * 4 for name in ("title", "change", "why", "cost", "verify")}
    fix |= {"rank": 1, "kind": "step"}
    values = {
        "schema_version": "1.1", "bucket": "kv_cache_oom", "cause": "kv_cache_oom/context_exceeds_cache", "confidence": 0.98,
        "decided_by": "rule", "title": "The KV cache cannot hold one request of the full context", "evidence": [line],
        "context": [{**line, "text": f"{line['text']} {dice.random()}"} for _ in range(15)], "symptoms": [], "chain": [],
        "facts": {"vllm_version": "0.32.0", "model": "acme/harbor-8b"}, "fixes": [fix] * 4,
        "startup": {"reached": "profile", "stages": []}, "input": {"lines": 60, "bytes": 20_000},
    }  # fmt: skip
    return report_of(values)


def _speed(options: Any, history: History, folder: Path) -> None:
    words = [sys.executable, __file__, "write", "--url", options.url, "--seconds", str(options.seconds)]
    words += ["--threads", str(options.threads), "--distinct", str(options.distinct), "--batch", str(options.batch)]
    words += ["--power-safe"] if options.power_safe else []
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(options.processes)]
    told = [json.loads(process.communicate()[0]) for process in started]
    took = sorted(value for each in told for value in each["took"])
    print(f"{sum(each['done'] for each in told) / options.seconds:8.0f} incidents/s", end="")
    print(
        f"   p50 {statistics.median(took) * 1e3:.2f} ms   p99 {took[int(len(took) * 0.99)] * 1e3:.2f} ms   max {took[-1] * 1e3:.0f} ms"
    )
    print(f"{sum(each['cpu'] for each in told) / sum(each['done'] for each in told) * 1e3:8.2f} ms CPU an incident")
    begin = time.perf_counter()
    page = history.incidents(Filter())
    first = time.perf_counter()
    history.stats()
    print(
        f"   a page of {len(page.items)}: {(first - begin) * 1e3:.1f} ms   stats: {(time.perf_counter() - first) * 1e3:.1f} ms"
    )


def _write(options: Any) -> None:
    """Record for some seconds from several threads; print how it went, or with --threads 0 every acknowledged incident."""
    history = History(options.url, power_safe=options.power_safe)
    reports = [report(number) for number in range(options.distinct)]
    if not options.threads:
        for number in range(10**9):
            service = f"{os.getpid()}-{number}"
            history.record(reports[number % len(reports)], service=service)
            print(service, flush=True)
    took: list[float] = []
    end = time.monotonic() + options.seconds

    def work(seed: int) -> None:
        dice = random.Random(seed)
        while time.monotonic() < end:
            begin = time.perf_counter()
            history.record(dice.choice(reports), service="bench")
            took.append(time.perf_counter() - begin)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(options.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"done": len(took), "took": took, "cpu": time.process_time()}))
    history.close()


def _kill(options: Any, history: History, folder: Path) -> None:
    """Kill writers while they write, again and again; what they said was recorded must be there."""
    words = [sys.executable, __file__, "write", "--url", options.url, "--threads", "0"]
    acknowledged: set[str] = set()
    for number in range(options.rounds):
        outs = [folder / f"{number}-{worker}.txt" for worker in range(WORKERS)]
        started = []
        for out in outs:
            with out.open("w") as file:
                started.append(subprocess.Popen(words, stdout=file))
        while not all(out.stat().st_size for out in outs):
            time.sleep(0.05)
        time.sleep(random.random())
        for process in started:
            process.send_signal(signal.SIGKILL)
            process.wait()
        for out in outs:
            acknowledged.update(
                line.strip() for line in out.read_text().splitlines(keepends=True) if line.endswith("\n")
            )
    found: set[str] = set()
    cursor: str | None = ""
    while cursor is not None:
        page = history.incidents(Filter(limit=500, cursor=cursor))
        found |= {incident.service for incident in page.items}
        cursor = page.next
    lost = acknowledged - found
    print(
        f"{options.rounds * WORKERS} writers killed: {len(acknowledged)} acknowledged, {len(lost)} lost, {len(found - acknowledged)} more written"
    )
    if options.url.startswith("sqlite"):
        with sqlite3.connect(options.url.removeprefix("sqlite:///")) as connection:
            print("integrity_check:", connection.execute("PRAGMA integrity_check").fetchone()[0])
    if lost:
        sys.exit(1)


def _large(options: Any, history: History, folder: Path) -> None:
    """Write a history of many occurrences straight into the tables, and ask what the API and the page ask."""
    dice = random.Random(1)
    _fill(history, options, dice)
    first = history.incidents(Filter(limit=1)).items[0]
    now = first.last_seen
    month, quarter = now - timedelta(days=30), now - timedelta(days=90)
    cursor = history.incidents(Filter(limit=50)).next or ""
    asked: dict[str, Callable[[], object]] = {
        "the page's list (50)": lambda: history.incidents(Filter(since=month)),
        "the next page": lambda: history.incidents(Filter(cursor=cursor)),
        "500 a page": lambda: history.incidents(Filter(limit=500)),
        "of a service": lambda: history.incidents(Filter(service="service-7")),
        "of a bucket": lambda: history.incidents(Filter(bucket="nccl_hang")),
        "a search that finds": lambda: history.incidents(Filter(q="harbor")),
        "a search that finds nothing": lambda: history.incidents(Filter(q="nowhere to be found")),
        "muted": lambda: history.incidents(Filter(state="muted")),
        "of a tenant that has none": lambda: history.incidents(Filter(tenant="acme")),
        "said wrong": lambda: history.incidents(Filter(feedback="wrong")),
        "an incident": lambda: history.incident(first.id),
        "counts, 30 days by day": lambda: history.stats(month, None, "day"),
        "counts, 90 days by day": lambda: history.stats(quarter, None, "day"),
        "counts, a day by hour": lambda: history.stats(now - timedelta(days=1), None, "hour"),
        "counts of a service": lambda: history.stats(quarter, None, "day", "service-7"),
    }
    for name, ask in asked.items():
        took = []
        for _ in range(5):
            began = time.perf_counter()
            ask()
            took.append(1000 * (time.perf_counter() - began))
        print(f"{statistics.median(took):8.1f} ms  {name}")


def _fill(history: History, options: Any, dice: random.Random) -> None:
    body = recording.pack(report(1))
    buckets = ("kv_cache_oom", "nccl_hang", "model_not_found", "unknown", "cuda_oom")
    end = datetime.now(UTC)
    each = max(1, options.occurrences // options.incidents)
    with history._database.writing() as connection:
        for start in range(0, options.incidents, 5000):
            rows, seen, hours = [], [], []
            for number in range(start + 1, min(start + 5000, options.incidents) + 1):
                bucket = buckets[number % len(buckets)]
                times = sorted(end - timedelta(seconds=dice.random() * 90 * 86_400) for _ in range(each))
                rows.append(
                    {
                        "number": number, "id": recording.new_id(), "fingerprint": f"{number:016x}", "service": f"service-{number % 200}",
                        "name": "server.log", "bucket": bucket, "cause": f"{bucket}/cause", "title": "The KV cache cannot hold one request",
                        "confidence": 0.9, "decided_by": "rule", "vllm_version": "0.32.0", "model": "acme/harbor-8b", "occurrences": each,
                        "first_seen": times[0], "last_seen": times[-1], "feedback": "wrong" if number % 50 == 0 else None, "report": body,
                    }
                )  # fmt: skip
                kept = list(enumerate(times, 1))[-recording.KEPT :]
                seen += [
                    {"incident": number, "slot": n % recording.KEPT, "ordinal": n, "at": at, "name": ""}
                    for n, at in kept
                ]
                hour = Counter(at.replace(minute=0, second=0, microsecond=0) for at in times)
                hours += [{"incident": number, "hour": at, "count": count} for at, count in hour.items()]
            days = Counter(
                (row["day"], row["bucket"], row["service"])
                for row in (
                    {"day": hour["hour"].replace(hour=0), **rows[hour["incident"] - start - 1], "n": hour["count"]}
                    for hour in hours
                    for _ in range(hour["count"])
                )
            )
            new = sqlite_insert(tables.totals)
            connection.execute(
                new.on_conflict_do_update(
                    index_elements=["day", "tenant", "bucket", "service"],
                    set_={"count": tables.totals.c.count + new.excluded.count},
                ),
                [
                    {"day": day, "tenant": "", "bucket": bucket, "service": service, "count": n}
                    for (day, bucket, service), n in days.items()
                ],
            )
            for table, values in ((tables.incidents, rows), (tables.occurrences, seen), (tables.counts, hours)):
                connection.execute(table.insert(), values)


if __name__ == "__main__":
    main()
