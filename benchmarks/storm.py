"""Storms over the HTTP service: alerts by thousands, bodies that never end, watchers that stay; see README.md in this folder.

Each figure is one line of JSON on standard output, with the load of the machine before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from serving import Connection, Server, closed_loop, samples, server

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.service.chat.slack_server import SECRET, TOKEN, FakeSlack  # noqa: E402

ALERTS = "alert-token-0123456789"
HOOK = "/v1/hooks/alertmanager"
AUTH = f"Authorization: Bearer {ALERTS}\r\nContent-Type: application/json\r\n"
LOG = samples(12_000, 18_000)[0].decode()
Figures = dict[str, Any]


def main() -> None:
    """Run the benchmarks named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=BENCHMARKS)
    parser.add_argument("--alerts", type=int, default=2000)
    parser.add_argument("--equal", type=int, default=10_000)
    parser.add_argument("--bodies", type=int, default=2000)
    parser.add_argument("--silent", type=int, default=1000)
    parser.add_argument("--routes", nargs="+", help="of `unfinished`: these alone")
    parser.add_argument("--watchers", type=int, default=16)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--turns", type=int, default=5, help="of `watchers`: pairs of turns")
    parser.add_argument("--turn", type=float, default=6, help="seconds of each")
    options = parser.parse_args()
    for name in options.names:
        before = os.getloadavg()[0]
        figures = BENCHMARKS[name](options)
        load = [round(before, 1), round(os.getloadavg()[0], 1)]
        print(json.dumps({"benchmark": name, **figures, "load": load}), flush=True)


@contextmanager
def chatting(folder: str, slack: FakeSlack, **more: object) -> Iterator[Server]:
    """Start a service that takes alerts and tells Slack."""
    settings = {
        "slack__signing_secret": SECRET, "slack__bot_token": TOKEN, "slack__channel": "C9", "slack__api_url": f"{slack.url}/api/",
        "slack__response_hosts": '["127.0.0.1"]', "alertmanager__token": ALERTS, "log_level": "error",
    }  # fmt: skip
    with server(str(more.pop("database", f"sqlite:///{folder}/history.sqlite")), **settings, **more) as served:
        yield served


def alertmanager(options: Any) -> Figures:
    """A group for each alert, from Alertmanager's own binary; then equal and different alerts by a sender of our own."""
    with tempfile.TemporaryDirectory() as folder, FakeSlack() as slack, chatting(folder, slack) as served:
        asyncio.run(_send(served.port, [_notification([_alert(-1)])]))
        _idle(served)
        idle, figures = served.memory(), {}
        with _watched(served) as peak:
            if binary := shutil.which("prometheus-alertmanager") or shutil.which("alertmanager"):
                figures["binary"] = _groups(options.alerts, binary, folder, served)
            figures["groups"] = _stage(served, slack, [[_alert(number)] for number in range(options.alerts)])
            equal = [[_alert(number) for number in range(at, at + 100)] for at in range(0, options.equal, 100)]
            figures["equal"] = _stage(served, slack, equal)
            different = [[_alert(number, service=f"service-{number}")] for number in range(options.alerts)]
            figures["different"] = _stage(served, slack, different)
        # Memory is given back at intervals of 15 s (service/http/memory.py).
        time.sleep(35)
        return figures | {
            "idle_mib": round(idle), "peak_mib": round(max(peak)), "afterwards_mib": round(served.memory()),
            "in_flight": _metric(served, "vllm_triage_http_in_flight") - 1,
        }  # fmt: skip


def _groups(count: int, binary: str, folder: str, served: Server) -> Figures:
    """Have Alertmanager post a group for each alert."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    Path(folder, "am.yml").write_text(
        "route:\n  receiver: triage\n  group_by: ['...']\n  group_wait: 1s\n  group_interval: 1m\n"
        "receivers:\n  - name: triage\n    webhook_configs:\n"
        f"      - url: http://127.0.0.1:{served.port}{HOOK}\n        http_config: {{authorization: {{credentials: {ALERTS}}}}}\n"
    )
    words = [f"--config.file={folder}/am.yml", f"--storage.path={folder}/am", f"--web.listen-address=127.0.0.1:{port}"]
    process = subprocess.Popen(
        [binary, *words, "--cluster.listen-address="], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _until(lambda: _get(f"http://127.0.0.1:{port}/-/ready") is not None, 60)
        alerts = [
            {"labels": {"alertname": "VLLMDown", "service": "am", "instance": str(n)}, "annotations": {"vllm_triage_log": LOG}}
            for n in range(count)
        ]  # fmt: skip
        began = time.perf_counter()
        for at in range(0, count, 200):
            body = json.dumps(alerts[at : at + 200]).encode()
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/v2/alerts", body, {"Content-Type": "application/json"}
            )
            urllib.request.urlopen(request, timeout=30).close()

        def told() -> dict[str, float]:
            text = _get(f"http://127.0.0.1:{port}/metrics") or ""
            rows = [line.rpartition(" ") for line in text.splitlines() if 'integration="webhook"' in line]
            return {name: float(value) for name, _, value in rows}

        total = 'alertmanager_notifications_total{integration="webhook"}'
        _until(lambda: told().get(total, 0) >= count, 300)
        _idle(served)
        found = told()
        buckets = {
            name.split('le="')[1].split('"')[0]: value
            for name, value in found.items()
            if name.startswith("alertmanager_notification_latency_seconds_bucket")
        }
        return {
            "notifications": int(found[total]),
            "failed": int(sum(value for name, value in found.items() if "requests_failed_total" in name)),
            "within_seconds": {edge: int(value) for edge, value in buckets.items() if edge in ("1", "5", "10", "+Inf")},
            "seconds_to_idle": round(time.perf_counter() - began, 1),
        }
    finally:
        process.terminate()
        process.wait()


def _stage(served: Server, slack: FakeSlack, groups: list[list[dict[str, Any]]]) -> Figures:
    """Send notifications; return how they were acknowledged, and what was told of them."""
    before = len(slack.posted)
    began = time.perf_counter()
    statuses, times = asyncio.run(_send(served.port, [_notification(alerts) for alerts in groups]))
    sent = time.perf_counter() - began
    _idle(served)
    done = time.perf_counter() - began
    heads = [message["blocks"][0]["text"]["text"] for message in slack.posted[before:]]
    digests = [head for head in heads if head.endswith("more incidents")]
    return {
        "alerts": sum(map(len, groups)), "statuses": dict(statuses), "p99_ms": round(1000 * _p99(times)), "seconds_sent": round(sent, 1),
        "seconds_to_idle": round(done, 1), "messages": len(heads) - len(digests), "digests": len(digests),
        "told_in_digests": sum(int(head.split()[0].replace(",", "")) for head in digests),
    }  # fmt: skip


async def _send(port: int, bodies: list[bytes], senders: int = 32) -> tuple[Counter[int], list[float]]:
    todo, statuses, times = iter(bodies), Counter[int](), list[float]()

    async def sender() -> None:
        connection = await Connection.open(port)
        for body in todo:
            while True:
                began = time.perf_counter()
                try:
                    status = await connection.post(HOOK, body, AUTH)
                except (ConnectionError, asyncio.IncompleteReadError):
                    # Refused before all of it was sent.
                    status = 503
                statuses[status] += 1
                if status != 503:
                    times.append(time.perf_counter() - began)
                    break
                # As Alertmanager does.
                connection.close()
                await asyncio.sleep(1)
                connection = await Connection.open(port)
        connection.close()

    await asyncio.gather(*(sender() for _ in range(senders)))
    return statuses, times


def unfinished(options: Any) -> Figures:
    """Bodies without an end, and connections that say nothing, on each route in turn, while others post logs."""
    figures: Figures = {}
    # Shorter than the settings' own, so that the end is seen soon.
    limits = {"idle_seconds": 20, "head_seconds": 20}
    with tempfile.TemporaryDirectory() as folder, FakeSlack() as slack, chatting(folder, slack, **limits) as served:
        logs = samples()
        asyncio.run(closed_loop(served.port, logs, 3.0, 4))
        idle = _p99(asyncio.run(closed_loop(served.port, logs, options.seconds, 4)))
        signed = f"X-Slack-Request-Timestamp: {int(time.time())}\r\nX-Slack-Signature: v0={'0' * 64}\r\n"
        routes = {
            "triage": ("/v1/triage", "", 1_000_000), "json": ("/v1/triage", "Content-Type: application/json\r\n", 1_000_000),
            "stream": ("/v1/triage/stream", "", 1_000_000), "slack unsigned": ("/v1/hooks/slack/events", "", 1_000_000),
            "slack signed": ("/v1/hooks/slack/events", signed, 1_000_000), "alerts": (HOOK, AUTH, 1_000_000),
            "alerts unsigned": (HOOK, "", 1_000_000),
        }  # fmt: skip
        for name, (path, headers, length) in routes.items():
            if options.routes and name not in options.routes:
                continue
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n".encode()
            body = b'{"log": "' + b"a" * 40_000
            with _held(served, [head + body] * options.bodies + [b""] * options.silent) as open_:
                before = open_.memory_before
                # First what came at one time is taken in: that is a matter of processor time.
                taken = _calm(served)
                with _watched(served) as peak:
                    times = asyncio.run(closed_loop(served.port, logs, options.seconds, 4))
                figures[name] = {
                    "grown_mib": round(max([*peak, open_.memory_now]) - before), "p99_by_idle": round(_p99(times) / idle, 1), "answered": len(times), "seconds_to_take_in": taken,
                    "seconds_until_cut": open_.wait_cut(90),
                }  # fmt: skip
            print(name, figures[name], file=sys.stderr, flush=True)
        return {"idle_p99_ms": round(1000 * idle), **figures}


def _calm(served: Server) -> float:
    """Wait until the service has taken in what came; return how long that took."""
    began = time.perf_counter()
    _get(f"{served.url}/healthz")
    return round(time.perf_counter() - began, 1)


class _Open:
    """Connections that are held open."""

    def __init__(self, sockets: list[socket.socket], served: Server, before: float, began: float) -> None:
        self._sockets, self._served, self._began = sockets, served, began
        self.memory_before, self.memory_now = before, served.memory()

    def wait_cut(self, seconds: float) -> float | str:
        """Return when the last connection was cut, counted from the opening of the first."""
        left = set(self._sockets)
        while left and time.perf_counter() - self._began < seconds:
            for one in list(left):
                try:
                    if not one.recv(65536):
                        left.discard(one)
                except BlockingIOError:
                    continue
                except OSError:
                    left.discard(one)
            time.sleep(0.2)
        return f"{len(left)} open" if left else round(time.perf_counter() - self._began)


@contextmanager
def _held(served: Server, sent: list[bytes]) -> Iterator[_Open]:
    before, began = served.memory(), time.perf_counter()
    with ExitStack() as stack:
        sockets = []
        for data in sent:
            one = stack.enter_context(socket.create_connection(("127.0.0.1", served.port), 30))
            one.settimeout(5)
            with suppress(OSError):
                one.sendall(data)
            # With a limit of time it would wait for that long, and what is open be taken for cut.
            one.setblocking(False)
            sockets.append(one)
        yield _Open(sockets, served, before, began)


def watchers(options: Any) -> Figures:
    """Clients with 20 KB logs, without and with streams that are written to, by turns."""
    alone, beside = [], []
    with tempfile.TemporaryDirectory() as folder, server(f"sqlite:///{folder}/history.sqlite") as served:
        logs = samples()
        asyncio.run(closed_loop(served.port, logs, 3.0, 8))
        # Short turns, in pairs: what else the machine does changes within minutes.
        for _ in range(options.turns):
            alone.append(_p99(asyncio.run(closed_loop(served.port, logs, options.turn, options.clients))))
            beside.append(_p99(asyncio.run(_with_watchers(served, logs, options))))
        return {
            "p99_ms": {"alone": [round(1000 * one) for one in alone], "beside": [round(1000 * one) for one in beside]},
            "ratio": round(statistics.median(b / a for a, b in zip(alone, beside, strict=True)), 2),
            "mib": round(served.memory()),
        }


async def _with_watchers(served: Server, logs: list[bytes], options: Any) -> list[float]:
    done = asyncio.Event()

    async def watch(number: int) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        # It reads to the end of the connection, which else stays open for 75 s.
        head = b"Host: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(b"POST /v1/triage/stream HTTP/1.1\r\n" + head)
        log = logs[number % len(logs)]
        lines = log.splitlines(keepends=True)
        # A server's start: some lines a second.
        for line in lines:
            if done.is_set():
                break
            writer.write(b"%x\r\n%b\r\n" % (len(line), line))
            await asyncio.sleep(0.1)
        writer.write(b"0\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return b'"event":"report"' in answer

    watching = [asyncio.create_task(watch(number)) for number in range(options.watchers)]
    await asyncio.sleep(2)
    times = await closed_loop(served.port, logs, options.turn, options.clients)
    done.set()
    answered = await asyncio.gather(*watching)
    assert all(answered), f"{answered.count(False)} watchers had no report"
    return times


def _alert(number: int, service: str = "chat") -> dict[str, Any]:
    return {
        "status": "firing", "labels": {"alertname": "VLLMDown", "service": service, "instance": str(number)},
        "annotations": {"vllm_triage_log": LOG}, "startsAt": "2026-11-02T09:15:01Z", "fingerprint": f"{service}-{number}",
    }  # fmt: skip


def _notification(alerts: list[dict[str, Any]]) -> bytes:
    return json.dumps({"version": "4", "status": "firing", "groupKey": "x", "alerts": alerts}).encode()


def _idle(served: Server, seconds: float = 600) -> None:
    """Wait until nothing is under way and nothing waits."""
    _until(
        lambda: (
            _metric(served, "vllm_triage_http_in_flight") <= 1 and not _metric(served, "vllm_triage_messages_waiting")
        ),
        seconds,
    )


def _metric(served: Server, name: str) -> float:
    text = _get(f"{served.url}/metrics") or ""
    return sum(
        float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{"))
    )


@contextmanager
def _watched(served: Server) -> Iterator[list[float]]:
    """Note what all processes hold, twice a second."""
    import threading

    found, stop = [served.memory()], threading.Event()

    def look() -> None:
        while not stop.wait(0.5):
            found.append(served.memory())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()


def _get(url: str) -> str | None:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return str(answer.read().decode())
    except OSError:
        return None


def _until(true: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise SystemExit("it did not happen in time")
        time.sleep(0.2)


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


BENCHMARKS: dict[str, Callable[[Any], Figures]] = {
    "alertmanager": alertmanager,
    "unfinished": unfinished,
    "watchers": watchers,
}

if __name__ == "__main__":
    main()
