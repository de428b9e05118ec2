"""What the tests of the service share: applications in this process, and real servers on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from vllm_triage.corpus.store import HERE
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.settings import Settings

LOG = (Path(HERE) / "logs" / "written" / "kv-cache-too-small.log").read_bytes()
BASE = "http://localhost"
PATIENCE = 240.0
"""Seconds that a test waits for what must come to pass. On a machine with other work that is long; nothing is measured by it."""


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("VLLM_TRIAGE_")]:
        monkeypatch.delenv(name)
    # Where a test forgets the database, the user's own is not touched.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def service() -> Iterator[Callable[..., TestClient]]:
    """Start applications in this process; without history unless told otherwise."""
    running = []

    def start(**settings: Any) -> TestClient:
        app = create_app(Settings(**{"database": "none", "rate_limit": 0, **settings}))
        client = TestClient(app, base_url=BASE)
        client.__enter__()
        running.append(client)
        return client

    yield start
    for client in running:
        client.__exit__(None, None, None)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """An application with what is the default, but for the rate."""
    with TestClient(create_app(Settings(database="none", rate_limit=0)), base_url=BASE) as client:
        yield client


class Served:
    """A service in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], lines: list[str], reader: threading.Thread, port: int) -> None:
        self.process = process
        self.lines = lines
        """Of its own log, so far; all of them once it has ended."""
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._reader = reader

    def get(self, path: str, **options: Any) -> httpx2.Response:
        """Ask for a path."""
        return httpx2.get(f"{self.url}{path}", timeout=PATIENCE, **options)

    def post(self, path: str, **options: Any) -> httpx2.Response:
        """Post to a path."""
        return httpx2.post(f"{self.url}{path}", timeout=PATIENCE, **options)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit code."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for the end; return the exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[..., Served]]:
    """Start `vllm-triage serve` on a free port, with settings as variables."""
    started: list[tuple[subprocess.Popen[str], threading.Thread]] = []

    def start(*words: str, **settings: Any) -> Served:
        values = {
            "DATABASE": "none",
            "RATE_LIMIT": "0",
            **{name.upper(): str(value) for name, value in settings.items()},
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "vllm_triage.service", "serve", "--port", "0", *words],
            env={**os.environ, **{f"VLLM_TRIAGE_{name}": value for name, value in values.items()}},
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(process.stderr or []))
        port = 0
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"running on http://[\d.]+:(\d+)", line):
                port = int(found[1])
                break
        reader.start()
        started.append((process, reader))
        assert port, "".join(lines)
        served = Served(process, lines, reader, port)
        eventually(lambda: _ready(served))
        return served

    yield start
    for process, reader in started:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join(60)
        if process.stderr is not None:
            process.stderr.close()


def _ready(served: Served) -> bool:
    try:
        return served.get("/readyz").status_code == 200
    except httpx2.TransportError:
        # It has the port, and does not listen yet.
        return False


def eventually(condition: Callable[[], Any]) -> Any:
    """Return what a condition gives once it is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")


def resident(pid: int) -> float:
    """Return the MiB that a process and its descendants hold."""
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        # It has just ended.
        return 0.0
    return (int(found[1]) / 1024 if found else 0.0) + sum(resident(child) for child in children(pid))


def children(pid: int) -> list[int]:
    """Return the process ids of a process's children."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:
        # A thread, or the process itself, has just ended.
        return found
    return found
