"""Measures the HTTP service against the library, and against itself under load; see README.md in this folder."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vllm_triage.classifier import triage
from vllm_triage.corpus.store import HERE

RECORDED = Path(HERE) / "logs" / "recorded"
CLIENTS = 8


def main() -> None:
    """Run the benchmarks named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=BENCHMARKS)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=100_000, help="of the soak")
    parser.add_argument("--database", default="none")
    options = parser.parse_args()
    for name in options.names:
        BENCHMARKS[name](options)


def samples(least: int = 16_000, most: int = 24_000) -> list[bytes]:
    """Return recorded logs of about 20 KB, or of another size."""
    paths = sorted(path for path in RECORDED.rglob("*.log") if least <= path.stat().st_size <= most)
    return [path.read_bytes() for path in paths]


def throughput(options: Any) -> None:
    """Requests a second of one worker and of two, and logs a second of the library in one process, in turns.

    Also by processor time, which says the same on a machine that has other work.
    """
    logs = samples()
    print(f"throughput: {len(logs)} recorded logs of {statistics.mean(map(len, logs)) / 1000:.1f} KB on average")
    rates: dict[str, list[float]] = {"library": [], "one worker": [], "two workers": []}
    costs: dict[str, list[float]] = {name: [] for name in rates}
    with server(options) as one, server(options, "--workers", "2") as two:
        servers = {"one worker": one, "two workers": two}
        # As the command and the service set it.
        gc.set_threshold(200_000, 50, 50)
        for log in logs:
            triage(log)
        for served in servers.values():
            asyncio.run(closed_loop(served.port, logs, 2.0))
        for _ in range(options.rounds):
            began = time.process_time()
            count = library(logs, options.seconds / 2)
            rates["library"].append(count / (options.seconds / 2))
            costs["library"].append((time.process_time() - began) / count)
            for name, served in servers.items():
                before = served.seconds()
                count = len(asyncio.run(closed_loop(served.port, logs, options.seconds)))
                rates[name].append(count / options.seconds)
                costs[name].append((served.seconds() - before) / count)
    rate = {name: statistics.median(values) for name, values in rates.items()}
    cost = {name: statistics.median(values) for name, values in costs.items()}
    for name, values in rates.items():
        each = ", ".join(f"{value:.0f}" for value in values)
        print(f"  {name}: {rate[name]:.0f}/s ({each}), {cost[name] * 1000:.2f} ms of processor time each")
    for name, other in (("one worker", "library"), ("two workers", "one worker")):
        print(f"  {name} / {other}: {rate[name] / rate[other]:.2f}, by processor time {cost[other] / cost[name]:.2f}")


def library(logs: list[bytes], seconds: float) -> int:
    """Return how many logs ``triage`` answers in a time, as JSON."""
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        triage(logs[count % len(logs)]).model_dump_json()
        count += 1
    return count


def beside(options: Any) -> None:
    """Latency of small logs at half of what one worker can do, while a log of 100 MB is posted over and over."""
    logs = samples()
    with server(options) as served:
        asyncio.run(closed_loop(served.port, logs, 2.0))
        most = len(asyncio.run(closed_loop(served.port, logs, options.seconds))) / options.seconds
        print(f"beside: at most {most:.0f}/s, half of it asked for")
        for name, uploads in (("alone", False), ("with a 100 MB upload", True)):
            for shape in ("even", "random"):
                times, sent = asyncio.run(_beside(served.port, logs, most / 2, options.seconds, uploads, shape))
                p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
                print(
                    f"  {name}, {shape} arrivals: p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms = {p99 / p50:.1f} x p50,"
                    f" {len(times)} requests" + (f", {sent} uploads" if uploads else "")
                )


async def _beside(
    port: int, logs: list[bytes], rate: float, seconds: float, uploads: bool, shape: str
) -> tuple[list[float], int]:
    """Send requests at a rate, whatever the answers; return their times, and how many uploads were answered."""
    sent = 0

    async def upload() -> None:
        nonlocal sent
        while True:
            await post_stream(port, "/v1/triage", large(100 << 20))
            sent += 1

    task = asyncio.create_task(upload()) if uploads else None
    if uploads:
        await asyncio.sleep(1)
    pool: list[Connection] = []
    times: list[float] = []
    source = random.Random(1)

    async def one(log: bytes, due: float) -> None:
        connection = pool.pop() if pool else await Connection.open(port)
        status, _ = await connection.post("/v1/triage", log)
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
        due += source.expovariate(rate) if shape == "random" else 1 / rate
    await asyncio.gather(*running)
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    for connection in pool:
        connection.close()
    return times, sent


def upload(options: Any) -> None:
    """Memory of all processes and time to the first verdict while 1 GB is streamed."""
    with server(options) as served:
        baseline = served.memory()
        result = asyncio.run(_upload(served, 1 << 30))
        print(
            f"upload: 1 GB streamed in {result['seconds']:.1f} s; memory {baseline:.0f} MiB before, {result['peak']:.0f} MiB at most"
        )
        print(f"  first verdict after {result['first'] * 1000:.0f} ms, {result['sent'] >> 20} MiB sent by then")
        began = time.perf_counter()
        peak = asyncio.run(_peak_of(served, post_stream(served.port, "/v1/triage", large(1 << 30))))
        print(f"  plain POST of 1 GB: {time.perf_counter() - began:.1f} s, {peak:.0f} MiB at most")


async def _upload(served: Server, size: int) -> dict[str, Any]:
    found: dict[str, Any] = {"first": 0.0, "sent": 0, "peak": 0.0}
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    began = time.perf_counter()
    writer.write(b"POST /v1/triage/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    sent = 0

    async def send() -> None:
        nonlocal sent
        for piece in large(size):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            sent += len(piece)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def watch() -> None:
        while True:
            found["peak"] = max(found["peak"], served.memory())
            await asyncio.sleep(0.1)

    tasks = [asyncio.create_task(send()), asyncio.create_task(watch())]
    data = b""
    while b'{"event":"report"' not in data[-(1 << 20) :]:
        piece = await reader.read(1 << 16)
        assert piece, data[-500:]
        data += piece
        if not found["first"] and b'{"event":"verdict"' in data:
            found["first"], found["sent"] = time.perf_counter() - began, sent
    found["seconds"] = time.perf_counter() - began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    writer.close()
    return found


async def _peak_of(served: Server, work: Any) -> float:
    peak = 0.0
    task = asyncio.ensure_future(work)
    while not task.done():
        peak = max(peak, served.memory())
        await asyncio.sleep(0.1)
    status = task.result()
    assert status == 200, status
    return peak


def fuzz(options: Any) -> None:
    """Ten thousand bodies that nobody would send: none ends with a 5xx, none hangs."""
    with server(options) as served:
        counts = asyncio.run(_fuzz(served.port, 10_000))
    print(f"fuzz: {sum(counts.values())} bodies: {dict(sorted(counts.items()))}")


async def _fuzz(port: int, total: int) -> dict[int, int]:
    source, logs, counts = random.Random(7), samples(), {}
    todo = iter(range(total))

    async def client() -> None:
        connection = await Connection.open(port)
        for _ in todo:
            path, headers, body = fuzzed(source, logs)
            status, closed = await asyncio.wait_for(connection.post(path, body, headers), 60)
            counts[status] = counts.get(status, 0) + 1
            if closed:
                connection.close()
                connection = await Connection.open(port)
        connection.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return counts


def fuzzed(source: random.Random, logs: list[bytes]) -> tuple[str, str, bytes]:
    """Return a path, headers and a body: logs that were damaged, noise, forms and JSON that are none."""
    import gzip

    path = source.choice(
        ["/v1/triage", "/v1/triage", "/v1/triage/stream", "/v1/triage/batch", "/v1/plan", "/v1/feedback"]
    )
    kind = source.choice(
        [
            "text/plain",
            "application/octet-stream",
            "application/json",
            "multipart/form-data; boundary=x",
            "a/b",
            "",
            "é",
        ]
    )
    body = source.choice(logs)
    start = source.randrange(len(body))
    body = body[start : start + source.randrange(1, 8000)]
    match source.randrange(8):
        case 0:
            body = source.randbytes(source.randrange(0, 3000))
        case 1:
            body = gzip.compress(body)[: source.randrange(1, 2000)]
        case 2:
            damaged = bytearray(body)
            for _ in range(source.randrange(1, 50)):
                damaged[source.randrange(len(damaged))] = source.randrange(256)
            body = bytes(damaged)
        case 3:
            body = body.decode("utf-8", "replace").encode(
                source.choice(["utf-16", "utf-16-le", "utf-32", "utf-7"]), "replace"
            )
        case 4:
            body = b'{"log": ' + source.choice(
                [b'"\\ud800"', b"1", b"null", b"[" * 5000, b'"' + body[:50].hex().encode() + b'"}']
            )
        case 5:
            head = (
                b'--x\r\nContent-Disposition: form-data; name="file"; filename="' + source.randbytes(5) + b'"\r\n\r\n'
            )
            body = head + body + source.choice([b"\r\n--x--\r\n", b"", b"\r\n--x"])
        case 6:
            body = (body.split(b"\n")[0] or b"x") * source.randrange(1, 200)
    extra = source.choice(
        ["", "", "Content-Encoding: gzip\r\n", "Content-Encoding: zstd\r\n", "Content-Encoding: br\r\n"]
    )
    accept = source.choice(
        ["", "Accept: text/markdown\r\n", "Accept: application/sarif+json\r\n", "Accept: image/png\r\n"]
    )
    return path, (f"Content-Type: {kind}\r\n" if kind else "") + extra + accept, body


def soak(options: Any) -> None:
    """Memory over very many requests: logs of all kinds, short ones, so that it ends on the same day."""
    logs = samples(0, 9_000)
    sizes = []
    with server(options) as served:
        asyncio.run(counted(served.port, logs, options.requests // 10))
        for _ in range(10):
            asyncio.run(counted(served.port, logs, options.requests // 10))
            sizes.append(served.memory())
    first, last = sizes[0], sizes[-1]
    print(f"soak: {options.requests} requests after warm-up; MiB: {', '.join(f'{size:.1f}' for size in sizes)}")
    print(f"  from the first to the last tenth {100 * (last / first - 1):+.1f} %")


async def counted(port: int, logs: list[bytes], total: int) -> None:
    """Send so many requests."""
    todo = iter(range(total))

    async def client() -> None:
        connection = await Connection.open(port)
        for number in todo:
            status, _ = await connection.post("/v1/triage", logs[number % len(logs)])
            assert status == 200, status
        connection.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def closed_loop(port: int, logs: list[bytes], seconds: float) -> list[float]:
    """Keep some connections busy for a time; return how long each request took."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        connection = await Connection.open(port)
        while (began := time.perf_counter()) < end:
            status, _ = await connection.post("/v1/triage", logs[number % len(logs)])
            assert status == 200, status
            times.append(time.perf_counter() - began)
            number += CLIENTS
        connection.close()

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return times


class Connection:
    """A connection that is kept, with as little work for each request as can be."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 22))

    async def post(self, path: str, body: bytes, headers: str = "Content-Type: text/plain\r\n") -> tuple[int, bool]:
        """Post a body; return the status, and whether the connection is closed."""
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        status = int(answer[9:12])
        if b"\r\ntransfer-encoding: chunked" in answer:
            while size := int(await self._reader.readline(), 16):
                await self._reader.readexactly(size + 2)
            await self._reader.readline()
        else:
            at = answer.index(b"\r\ncontent-length: ") + 18
            await self._reader.readexactly(int(answer[at : answer.index(b"\r\n", at)]))
        return status, b"\r\nconnection: close" in answer

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


async def post_stream(port: int, path: str, pieces: Iterator[bytes]) -> int:
    """Post a body of unknown length; return the status."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    try:
        for piece in pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        return int(head[9:12])
    finally:
        writer.transport.abort()


def large(size: int) -> Iterator[bytes]:
    """Yield a server's log: its start, a failure within the first megabytes, then requests to the end."""
    start = max(samples(), key=len)
    lines = b"".join(
        b"INFO 11-02 09:%02d:%02d [loggers.py:127] Engine 000: Avg prompt throughput: %d.0 tokens/s, Running: %d reqs\n"
        b'INFO:     10.0.%d.7:%d - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
        % (n // 60 % 60, n % 60, n % 997, n % 50, n % 250, 30000 + n % 20000)
        for n in range(1000)
    )
    yield start
    done = len(start)
    while done < size:
        yield lines
        done += len(lines)


class Server:
    """A service in processes of its own."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port = port
        self._process = process

    def seconds(self) -> float:
        """Return the processor time that all its processes have used."""
        ticks = 0
        for pid in [self._process.pid, *_children(self._process.pid)]:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the MiB that all its processes hold, shared pages counted once for each (RSS)."""
        return sum(_resident(pid) for pid in [self._process.pid, *_children(self._process.pid)]) / 1024


@contextmanager
def server(options: Any, *words: str) -> Iterator[Server]:
    """Start a service, and stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"RATE_LIMIT": "0", "LOG_LEVEL": "warning", "DATABASE": options.database, "QUEUE": "1000"}
    process = subprocess.Popen(
        [sys.executable, "-m", "vllm_triage.service", "serve", "--port", str(port), *words],
        env={**os.environ, **{f"VLLM_TRIAGE_{name}": value for name, value in settings.items()}},
    )
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        time.sleep(0.5)
        yield Server(port, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *_children(child)]
    return found


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


BENCHMARKS = {"throughput": throughput, "beside": beside, "upload": upload, "fuzz": fuzz, "soak": soak}

if __name__ == "__main__":
    main()
