"""What the benchmarks of the service share: servers in processes of their own, clients that cost little, logs."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vllm_triage.corpus.store import HERE

RECORDED = Path(HERE) / "logs" / "recorded"
CLIENTS = 8


def samples(least: int = 16_000, most: int = 24_000) -> list[bytes]:
    """Return recorded logs of about 20 KB, or of another size."""
    paths = sorted(path for path in RECORDED.rglob("*.log") if least <= path.stat().st_size <= most)
    return [path.read_bytes() for path in paths]


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


class Connection:
    """A connection that is kept, with as little work for each request as can be."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 22))

    async def post(self, path: str, body: bytes, headers: str = "Content-Type: text/plain\r\n") -> int:
        """Post a body; return the status."""
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        at = answer.index(b"\r\ncontent-length: ") + 18
        await self._reader.readexactly(int(answer[at : answer.index(b"\r\n", at)]))
        return int(answer[9:12])

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


async def closed_loop(port: int, logs: list[bytes], seconds: float, clients: int = CLIENTS) -> list[float]:
    """Keep some connections busy for a time; return how long each request took."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        connection = await Connection.open(port)
        while (began := time.perf_counter()) < end:
            status = await connection.post("/v1/triage", logs[number % len(logs)])
            assert status == 200, status
            times.append(time.perf_counter() - began)
            number += clients
        connection.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return times


async def counted(port: int, logs: list[bytes], total: int) -> None:
    """Send so many requests."""
    todo = iter(range(total))

    async def client() -> None:
        connection = await Connection.open(port)
        for number in todo:
            status = await connection.post("/v1/triage", logs[number % len(logs)])
            assert status == 200, status
        connection.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


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


class Server:
    """A service in processes of its own."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.process = process

    def pids(self) -> list[int]:
        """Return its processes."""
        return [self.process.pid, *_children(self.process.pid)]

    def seconds(self) -> float:
        """Return the processor time that all its processes have used."""
        ticks = 0
        for pid in self.pids():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the MiB that all its processes hold, shared pages counted once for each (RSS)."""
        return sum(map(_resident, self.pids())) / 1024

    def kill(self) -> None:
        """End all its processes at once, as a power cut would."""
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()


def machine_seconds() -> float:
    """Return the processor time that everything on this machine has used."""
    user, nice, system, _idle, _waiting, *rest = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    # What guests use is in the first two already.
    return (user + nice + system + sum(rest[:3])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(database: str, *words: str, **settings: object) -> Iterator[Server]:
    """Start a service with its default settings but for the rate, and stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    values = {"RATE_LIMIT": 0, "DATABASE": database, "QUEUE": 1000, **settings}
    process = subprocess.Popen(
        [sys.executable, "-m", "vllm_triage.service", "serve", "--port", str(port), *words],
        env={**os.environ, **{f"VLLM_TRIAGE_{name.upper()}": str(value) for name, value in values.items()}},
        # Its log is written, as anywhere, and goes nowhere.
        stderr=subprocess.DEVNULL,
    )
    with _running(port, process, 1.5 if words else 0.1) as served:
        yield served


@contextmanager
def bare() -> Iterator[Server]:
    """Start a bare application with the same call (bare.py)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        "uvicorn",
        "bare:app",
        "--port",
        str(port),
        "--app-dir",
        str(Path(__file__).parent),
        "--log-level",
        "critical",
    ]
    with _running(port, subprocess.Popen([sys.executable, "-m", *words]), 0.1) as served:
        yield served


@contextmanager
def _running(port: int, process: subprocess.Popen[bytes], settle: float) -> Iterator[Server]:
    try:
        while True:
            try:
                asyncio.run(_probe(port))
                break
            except OSError:
                assert process.poll() is None, "the service did not start"
                time.sleep(0.05)
        # Workers that came up later than the one that answered.
        time.sleep(settle)
        yield Server(port, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(90)


async def _probe(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    if b" 200 " not in answer[:20]:
        raise OSError


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *_children(child)]
    except OSError:
        return found
    return found


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
