"""Measures the HTTP service against the library, and against itself under load; see README.md in this folder.

Each figure is one line of JSON on standard output, with the load of the machine before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
from serving import Connection, Server, bare, closed_loop, counted, large, machine_seconds, post_stream, samples, server

from vllm_triage.classifier import triage

Figures = dict[str, Any]


def main() -> None:
    """Run the benchmarks named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=BENCHMARKS)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5, help="turns, of which the median counts")
    parser.add_argument("--requests", type=int, default=100_000, help="of the soak")
    parser.add_argument("--size", type=int, default=1 << 30, help="bytes of the upload")
    parser.add_argument(
        "--database", default="file", help="none: stateless; file: SQLite, as is the default; or a URL of SQLAlchemy's"
    )
    options = parser.parse_args()
    for name in options.names:
        with tempfile.TemporaryDirectory() as folder:
            if options.database in ("file", ""):
                options.database = ""
            database = options.database or f"sqlite:///{folder}/history.sqlite"
            before = os.getloadavg()[0]
            figures = BENCHMARKS[name](options, database)
            load = [round(before, 1), round(os.getloadavg()[0], 1)]
            kept = "none" if database == "none" else database.partition(":")[0]
            print(json.dumps({"benchmark": name, "history": kept, **figures, "load": load}), flush=True)


def progress(numbers: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    """Show a bar on standard error while something is gone through."""
    columns = [*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=2) as bar:
        yield from bar.track(numbers, total=total, description=what)


def throughput(options: Any, database: str) -> Figures:
    """Requests a second of one worker and of two, and logs a second of the library in one process, in turns.

    Also by processor time, which says the same on a machine that has other work, and with the cores that such work took.
    """
    logs = samples()
    rates: dict[str, list[float]] = {"library": [], "one": [], "two": []}
    costs: dict[str, list[float]] = {name: [] for name in rates}
    others: dict[str, list[float]] = {"one": [], "two": []}
    other = database.replace("history.sqlite", "two.sqlite")
    with server(database) as one, server(other, "--workers", "2") as two:
        servers = {"one": one, "two": two}
        # As the command and the service set it.
        gc.set_threshold(200_000, 50, 50)
        for log in logs:
            triage(log)
        for served in servers.values():
            asyncio.run(closed_loop(served.port, logs, 2.0))
        for _ in progress(range(options.rounds), options.rounds, "throughput"):
            began = time.process_time()
            count = library(logs, options.seconds / 2)
            rates["library"].append(count / (options.seconds / 2))
            costs["library"].append((time.process_time() - began) / count)
            for name, served in servers.items():
                before, own, all_ = served.seconds(), time.process_time(), machine_seconds()
                count = len(asyncio.run(closed_loop(served.port, logs, options.seconds)))
                used, own, all_ = served.seconds() - before, time.process_time() - own, machine_seconds() - all_
                rates[name].append(count / options.seconds)
                costs[name].append(used / count)
                others[name].append((all_ - used - own) / options.seconds)
    cost = {name: statistics.median(values) for name, values in costs.items()}
    return {
        "logs": len(logs),
        "kilobytes": round(statistics.mean(map(len, logs)) / 1000, 1),
        "per_second": {name: [round(value) for value in values] for name, values in rates.items()},
        "cores_of_others": {name: [round(value, 2) for value in values] for name, values in others.items()},
        "milliseconds_of_processor": {name: round(1000 * value, 2) for name, value in cost.items()},
        "one_by_library": ratio(rates["one"], rates["library"]),
        "two_by_one": ratio(rates["two"], rates["one"]),
        "one_by_library_of_processor": round(cost["library"] / cost["one"], 2),
        "two_by_one_of_processor": round(2 * cost["one"] / cost["two"], 2),
    }


def overhead(options: Any, database: str) -> Figures:
    """Requests a second of one worker against a bare application with the same call, in turns."""
    logs = samples()
    rates: dict[str, list[float]] = {"service": [], "bare": []}
    costs: dict[str, list[float]] = {name: [] for name in rates}
    with server(database) as ours, bare() as other:
        servers = {"service": ours, "bare": other}
        for served in servers.values():
            asyncio.run(closed_loop(served.port, logs, 2.0))
        for _ in progress(range(options.rounds), options.rounds, "overhead"):
            for name, served in servers.items():
                before = served.seconds()
                count = len(asyncio.run(closed_loop(served.port, logs, options.seconds)))
                rates[name].append(count / options.seconds)
                costs[name].append((served.seconds() - before) / count)
    cost = {name: statistics.median(values) for name, values in costs.items()}
    return {
        "per_second": {name: [round(value) for value in values] for name, values in rates.items()},
        "milliseconds_of_processor": {name: round(1000 * value, 2) for name, value in cost.items()},
        "service_by_bare": ratio(rates["service"], rates["bare"]),
        "service_by_bare_of_processor": round(cost["bare"] / cost["service"], 2),
    }


def ratio(some: list[float], others: list[float]) -> float:
    """Return the median of the ratios of runs that followed each other."""
    return round(statistics.median(a / b for a, b in zip(some, others, strict=True)), 2)


def library(logs: list[bytes], seconds: float) -> int:
    """Return how many logs ``triage`` answers in a time, as JSON."""
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        triage(logs[count % len(logs)]).to_json()
        count += 1
    return count


def beside(options: Any, database: str) -> Figures:
    """Latency of small logs at half of what one worker can do, while a log of 100 MB is posted over and over."""
    logs = samples()
    found: Figures = {}
    with server(database) as served:
        asyncio.run(closed_loop(served.port, logs, 2.0))
        # In turns, as all else: the machine may be busier at one time than at another.
        for turn in progress(range(options.rounds), options.rounds, "beside"):
            most = len(asyncio.run(closed_loop(served.port, logs, options.seconds / 2))) / (options.seconds / 2)
            for name, uploads in (("alone", False), ("with_upload", True)):
                times, sent = asyncio.run(_beside(served.port, logs, most / 2, options.seconds, uploads, turn))
                p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
                found.setdefault(name, []).append(
                    {
                        "asked_per_second": round(most / 2), "requests": len(times), "uploads": round(sent, 1),
                        "p50_ms": round(1000 * p50, 1), "p99_ms": round(1000 * p99, 1), "p99_by_p50": round(p99 / p50, 2),
                    }
                )  # fmt: skip
    for name in ("alone", "with_upload"):
        found[f"{name}_p99_by_p50"] = statistics.median(run["p99_by_p50"] for run in found[name])
    return found


async def _beside(
    port: int, logs: list[bytes], rate: float, seconds: float, uploads: bool, seed: int
) -> tuple[list[float], float]:
    """Send requests at random times, whatever the answers; return how long they took, and how many uploads were sent."""
    size, sent = 100 << 20, 0

    def pieces() -> Iterable[bytes]:
        nonlocal sent
        for piece in large(size):
            sent += len(piece)
            yield piece

    async def upload() -> None:
        while True:
            status = await post_stream(port, "/v1/triage", iter(pieces()))
            assert status == 200, status

    task = asyncio.create_task(upload()) if uploads else None
    await asyncio.sleep(1 if uploads else 0)
    pool: list[Connection] = []
    times: list[float] = []
    source = random.Random(seed)

    async def one(log: bytes, due: float) -> None:
        connection = pool.pop() if pool else await Connection.open(port)
        status = await connection.post("/v1/triage", log)
        assert status == 200, status
        times.append(time.perf_counter() - due)
        pool.append(connection)

    running = set()
    began = due = time.perf_counter()
    number = 0
    while due < began + seconds:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        job = asyncio.create_task(one(logs[number % len(logs)], due))
        running.add(job)
        job.add_done_callback(running.discard)
        number += 1
        due += source.uniform(0.5, 1.5) / rate
    await asyncio.gather(*running)
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    for connection in pool:
        connection.close()
    return times, sent / size


def upload(options: Any, database: str) -> Figures:
    """Memory of all processes and time to the first verdict while 1 GB is streamed, and while it is posted."""
    with server(database) as served:
        asyncio.run(counted(served.port, samples(), 200))
        before = served.memory()
        streamed = asyncio.run(_upload(served, options.size))
        began = time.perf_counter()
        peak = asyncio.run(_peak_of(served, post_stream(served.port, "/v1/triage", large(options.size))))
        return {
            "mebibytes": options.size >> 20, "resident_before": round(before), "streamed": streamed,
            "posted": {"seconds": round(time.perf_counter() - began, 1), "resident_at_most": round(peak)},
        }  # fmt: skip


async def _upload(served: Server, size: int) -> Figures:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(b"POST /v1/triage/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    began = time.perf_counter()
    sent, first, first_sent = 0, 0.0, 0

    async def send() -> None:
        nonlocal sent
        for piece in large(size):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            sent += len(piece)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def receive() -> None:
        nonlocal first, first_sent
        data = b""
        while b'{"event":"report"' not in data:
            piece = await reader.read(1 << 16)
            assert piece, data[-500:]
            data = data[-(1 << 20) :] + piece
            if not first and b'{"event":"verdict"' in data:
                first, first_sent = time.perf_counter() - began, sent

    sending = asyncio.create_task(send())
    peak = await _peak_of(served, receive())
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    writer.close()
    return {
        "seconds": round(time.perf_counter() - began, 1), "resident_at_most": round(peak),
        "first_verdict_seconds": round(first, 2), "first_verdict_at_mebibytes": first_sent >> 20,
    }  # fmt: skip


async def _peak_of(served: Server, work: Any) -> float:
    peak = 0.0
    task = asyncio.ensure_future(work)
    while not task.done():
        peak = max(peak, served.memory())
        await asyncio.sleep(0.1)
    assert task.result() in (None, 200), task.result()
    return peak


def soak(options: Any, database: str) -> Figures:
    """Memory over very many requests: logs of all kinds, short ones, so that it ends on the same day."""
    logs = samples(200, 4_000)
    sizes = []
    began = time.perf_counter()
    with server(database) as served:
        asyncio.run(counted(served.port, logs, options.requests // 10))
        sizes.append(served.memory())
        for _ in progress(range(50), 50, "soak"):
            asyncio.run(counted(served.port, logs, options.requests // 50))
            sizes.append(served.memory())
    return {
        "requests_after_warm_up": options.requests // 50 * 50, "seconds": round(time.perf_counter() - began),
        "kilobytes": round(statistics.mean(map(len, logs)) / 1000, 1),
        "resident": [round(size, 1) for size in sizes[::5]],
        "last_by_first_percent": round(100 * (sizes[-1] / sizes[0] - 1), 1),
        "most_by_first_percent": round(100 * (max(sizes) / sizes[0] - 1), 1),
    }  # fmt: skip


BENCHMARKS = {"throughput": throughput, "overhead": overhead, "beside": beside, "upload": upload, "soak": soak}

if __name__ == "__main__":
    main()
