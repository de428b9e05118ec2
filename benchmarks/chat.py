"""Measures chat-ops on the real service: what is refused, how soon Slack is answered under load, how many messages a storm makes."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.service.chat.slack_server import SECRET, TOKEN, FakeSlack, sign, texts  # noqa: E402

LOG = "INFO: start\nValueError: No available memory for the cache blocks.\n"
ALERTS = "alert-token-0123456789"


def main() -> None:
    """Run the benchmarks named (default: all)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(BENCHMARKS), help=" ".join(BENCHMARKS))
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--load", type=int, default=4, help="clients that post logs meanwhile, without a pause")
    parser.add_argument("--per-second", type=float, default=15, help="requests of Slack")
    parser.add_argument("--alerts", type=int, default=10_000)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    for name in options.names:
        with FakeSlack() as slack, served(slack) as port:
            BENCHMARKS[name](options, slack, port)


def refused(options: Any, slack: FakeSlack, port: int) -> None:
    """Forged, late and replayed requests of every kind."""
    outcomes: Counter[tuple[str, int]] = Counter()
    now = int(time.time())
    for number in range(options.requests):
        body = command(slack, number)
        for kind, headers in {
            "forged": sign(body, now, "another secret"),
            "changed": sign(body + "x", now),
            "late": sign(body, now - 301 - number),
            "early": sign(body, now + 330 + number),
            "unsigned": {},
        }.items():
            outcomes[kind, send(port, "commands", body, headers)[0]] += 1
    made = len(slack.calls)
    body, again = command(slack, -1), sign(command(slack, -1), now)
    for _ in range(options.requests):
        outcomes["replayed", send(port, "commands", body, again)[0]] += 1
    wait(lambda: len(slack.responded) >= 1)
    time.sleep(1)
    print(
        f"refused: {dict(outcomes)}; calls to Slack of what was refused: {made}; {options.requests} replays: {len(slack.responded)} answer"
    )


def ack(options: Any, slack: FakeSlack, port: int) -> None:
    """Seconds until Slack has its acknowledgement, idle and while logs are triaged; beside it, those of /healthz."""
    sample = max(
        (ROOT / "corpus" / "logs" / "recorded").glob("*/*.log"), key=lambda path: -abs(path.stat().st_size - 20_000)
    )
    log = sample.read_bytes()
    # The first logs load rules and the text model: told apart, for it happens once in the life of a process.
    few = argparse.Namespace(requests=30, per_second=options.per_second)
    first, _ = acknowledgements(few, slack, port)
    print(f"ack, the first {len(first)} of a process: max {max(first) * 1000:.1f} ms")
    wait(lambda: len(slack.responded) >= len(first))
    for clients in (0, options.load):
        done = threading.Event()
        answered: Counter[int] = Counter()
        with ThreadPoolExecutor(max(1, clients)) as threads:
            for _ in range(clients):
                threads.submit(triage_until, done, port, log, answered)
            times, health = acknowledgements(options, slack, port)
            done.set()
        cuts, beside = statistics.quantiles(times, n=100), statistics.quantiles(health, n=100)
        print(
            f"ack, {clients} clients with {len(log) // 1000} KB logs ({sum(answered.values())} answered, {dict(answered)}): "
            f"p50 {cuts[49] * 1000:.1f} ms, p99 {cuts[98] * 1000:.1f} ms, max {max(times) * 1000:.1f} ms of {len(times)}; "
            f"/healthz meanwhile: p50 {beside[49] * 1000:.1f} ms, p99 {beside[98] * 1000:.1f} ms; load average {os.getloadavg()[0]:.1f}"
        )
    wait(lambda: len(slack.responded) >= len(first) + 2 * options.requests, 120)
    print(f"ack: {len(slack.responded)} of {len(first) + 2 * options.requests} commands answered through response_url")


def storm(options: Any, slack: FakeSlack, port: int) -> None:
    """Equal alerts of a fleet, through Alertmanager's webhook."""
    began = time.perf_counter()
    size = 500
    for start in range(0, options.alerts, size):
        alerts = [
            {
                "status": "firing",
                "labels": {"alertname": "VLLMDown", "service": "chat", "instance": str(number)},
                "annotations": {"vllm_triage_log": LOG},
                "startsAt": "2026-11-02T09:15:01Z",
                "fingerprint": f"{number:016x}",
            }
            for number in range(start, min(start + size, options.alerts))
        ]
        body = json.dumps({"version": "4", "status": "firing", "alerts": alerts})
        status = request(port, "/v1/hooks/alertmanager", body.encode(), {"Authorization": f"Bearer {ALERTS}"})[0]
        if status != 202:
            raise SystemExit(f"status {status}")
    taken = time.perf_counter() - began
    wanted = f"*{options.alerts:,} ×*"
    wait(lambda: any(wanted in text for message in slack.updated for text in texts(message["blocks"])), 120)
    print(
        f"storm: {options.alerts} alerts taken in {taken:.1f} s: {len(slack.posted)} message, {len(slack.updated)} updates, last counter {wanted}"
    )


BENCHMARKS: dict[str, Callable[[Any, FakeSlack, int], None]] = {"refused": refused, "ack": ack, "storm": storm}


def acknowledgements(options: Any, slack: FakeSlack, port: int) -> tuple[list[float], list[float]]:
    """Return seconds until the acknowledgement of slash commands at an even pace, and of /healthz asked in turn."""
    times: list[float] = []
    health: list[float] = []

    def one(number: int) -> None:
        body = command(slack, number)
        headers = sign(body, int(time.time()))
        began = time.perf_counter()
        status, _ = send(port, "commands", body, headers)
        times.append(time.perf_counter() - began)
        if status != 200:
            raise SystemExit(f"status {status}")
        began = time.perf_counter()
        request(port, "/healthz", b"", {}, "GET")
        health.append(time.perf_counter() - began)

    with ThreadPoolExecutor(16) as threads:
        jobs = []
        for number in range(options.requests):
            jobs.append(threads.submit(one, number))
            time.sleep(1 / options.per_second)
        for job in jobs:
            job.result()
    return times, health


def triage_until(done: threading.Event, port: int, log: bytes, answered: Counter[int]) -> None:
    """Post a log again and again."""
    while not done.is_set():
        answered[request(port, "/v1/triage", log, {"Content-Type": "text/plain"})[0]] += 1


def command(slack: FakeSlack, number: int) -> str:
    """Return the body of a slash command."""
    return urlencode(
        {
            "command": "/triage",
            "text": f"```{LOG}```",
            "team_id": "T1",
            "user_id": "U7",
            "trigger_id": str(number),
            "response_url": f"{slack.url}/response/{number}-{time.time_ns() if number >= 0 else 0}",
        }
    )


def send(port: int, name: str, body: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """Send what Slack would send."""
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return request(port, f"/v1/hooks/slack/{name}", body.encode(), kind | headers)


def request(port: int, path: str, body: bytes, headers: dict[str, str], method: str = "POST") -> tuple[int, bytes]:
    """Send a request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@contextmanager
def served(slack: FakeSlack) -> Iterator[int]:
    """Run the service in a process of its own, and yield its port."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "VLLM_TRIAGE_DATABASE": f"sqlite:///{folder}/history.db",
            "VLLM_TRIAGE_RATE_LIMIT": "0",
            "VLLM_TRIAGE_LOG_LEVEL": "error",
            "VLLM_TRIAGE_SLACK__SIGNING_SECRET": SECRET,
            "VLLM_TRIAGE_SLACK__BOT_TOKEN": TOKEN,
            "VLLM_TRIAGE_SLACK__CHANNEL": "C9",
            "VLLM_TRIAGE_SLACK__API_URL": f"{slack.url}/api/",
            "VLLM_TRIAGE_SLACK__RESPONSE_HOSTS": '["127.0.0.1"]',
            "VLLM_TRIAGE_ALERTMANAGER__TOKEN": ALERTS,
            "VLLM_TRIAGE_NOTIFY__UPDATE_SECONDS": "1",
        }
        process = subprocess.Popen([sys.executable, __file__, "--serve", str(port)], env=environment)
        try:
            wait(lambda: listens(port))
            yield port
        finally:
            process.terminate()
            process.wait(60)


def serve(port: int) -> None:
    """Be the service."""
    import uvicorn

    from vllm_triage.service.http.app import create_app

    uvicorn.run(create_app(), host="127.0.0.1", port=port, log_level="error", access_log=False)


def listens(port: int) -> bool:
    """Return whether somebody listens."""
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def wait(true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit("it did not happen in time")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
