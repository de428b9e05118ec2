"""Measures collectors' logs on the real service: many streams at once, each the log of a real failure, by Loki's push API."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from vllm_triage.classifier import triage
from vllm_triage.service.history import Filter, History

ROOT = Path(__file__).resolve().parent.parent
START = 1_700_000_000_000_000_000


def main() -> None:
    """Replay logs of the repository, one for each stream, and compare what is told with the answer for the whole log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=20, help="lines a second of each stream")
    parser.add_argument("--shards", type=int, default=10, help="requests of each second")
    parser.add_argument("--lines", type=int, default=600, help="longer logs are left out")
    options = parser.parse_args()
    logs = {path: path.read_bytes().decode("utf-8", "replace").splitlines() for path in chosen(options)}
    truth = {path: triage("\n".join(lines) + "\n") for path, lines in logs.items()}
    paths = list(logs)
    streams = [paths[number % len(paths)] for number in range(options.streams)]
    with tempfile.TemporaryDirectory() as folder:
        port, process = served(folder)
        try:
            wait(port)
            figures = replay(options, port, [logs[path] for path in streams], process.pid)
            time.sleep(8)
            figures["rss_mib"] = sum(memory(pid) for pid in [process.pid, *below(process.pid)])
        finally:
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(120)
        figures["seconds_to_end"] = round(time.monotonic() - began, 1)
        figures |= compared(folder, streams, truth)
    print(json.dumps(figures))


def chosen(options: Any) -> list[Path]:
    """Return plain logs that are not too long, evenly over the folder."""
    every = sorted((ROOT / "corpus/logs").rglob("*.log"))
    found = [path for path in every if path.read_bytes().count(b"\n") <= options.lines]
    step = max(1, len(found) // options.streams)
    return found[::step][: options.streams]


def served(folder: str) -> tuple[int, subprocess.Popen[bytes]]:
    """Start the service."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    given = {
        "VLLM_TRIAGE_COLLECT": "true", "VLLM_TRIAGE_DATABASE": f"sqlite:///{folder}/h.db", "VLLM_TRIAGE_RATE_LIMIT": "0",
        "VLLM_TRIAGE_PORT": str(port), "VLLM_TRIAGE_LOG_LEVEL": "error", "VLLM_TRIAGE_SHUTDOWN_SECONDS": "5",
    }  # fmt: skip
    words = [sys.executable, "-m", "vllm_triage.service", "serve"]
    return port, subprocess.Popen(words, env={**os.environ, **given}, cwd=ROOT)


def wait(port: int) -> None:
    """Wait until the service answers."""
    for _ in range(600):
        try:
            if call(port, "GET", "/readyz", b"")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit("the service does not answer")


def replay(options: Any, port: int, logs: list[list[str]], pid: int) -> dict[str, Any]:
    """Send the logs at the pace that is asked for."""
    times: list[float] = []
    refused = sent = late = 0
    peak = 0
    begin = time.monotonic()
    longest = max(map(len, logs))
    second = 0
    while (first := int(second * options.rate)) < longest:
        last = int((second + 1) * options.rate)
        for shard in range(options.shards):
            streams = [
                {
                    "stream": {"service_name": f"s{number}", "pod": f"p{number}"},
                    "values": [[str(START + at * 1000), line] for at, line in enumerate(lines[first:last], first)],
                }
                for number, lines in enumerate(logs)
                if number % options.shards == shard and first < len(lines)
            ]
            if not streams:
                continue
            body = json.dumps({"streams": streams}).encode()
            sent += sum(len(stream["values"]) for stream in streams)
            while True:
                asked = time.monotonic()
                status, after = call(port, "POST", "/loki/api/v1/push", body)
                times.append(time.monotonic() - asked)
                if status == 204:
                    break
                refused += 1
                time.sleep(float(after or 1))
        second += 1
        peak = max(peak, sum(memory(each) for each in [pid, *below(pid)]))
        pause = begin + second - time.monotonic()
        late += pause < 0
        time.sleep(max(0.0, pause))
    return {
        "streams": len(logs), "lines": sent, "seconds": round(time.monotonic() - begin, 1), "refused_first": refused,
        "late_seconds": late, "ack_p50_ms": round(1000 * statistics.median(times), 1),
        "ack_p99_ms": round(1000 * sorted(times)[int(0.99 * len(times))], 1), "peak_rss_mib": peak,
    }  # fmt: skip


def call(port: int, method: str, path: str, body: bytes) -> tuple[int, str]:
    """Make one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.headers.get("Retry-After", "")


def compared(folder: str, streams: list[Path], truth: dict[Path, Any]) -> dict[str, Any]:
    """Compare what the history holds with the answers for whole logs."""
    history = History(f"sqlite:///{folder}/h.db")
    told: dict[str, tuple[Any, str]] = {}
    cursor: str | None = ""
    while cursor is not None:
        page = history.incidents(Filter(limit=500, cursor=cursor))
        for item in page.items:
            told[item.service] = max(told.get(item.service, (item.last_seen, "")), (item.last_seen, item.cause))
        cursor = page.next
    history.close()
    right, wrong = 0, []
    for number, path in enumerate(streams):
        report = truth[path]
        wanted = report.cause if report.failed else ""
        got = told.get(f"s{number}", (None, ""))[1]
        right += got == wanted
        if got != wanted:
            wrong.append((path.name, wanted, got))
    print(*sorted(set(wrong))[:12], sep="\n", file=sys.stderr)
    return {
        "failed": sum(truth[path].failed for path in streams),
        "right": right,
        "share": round(right / len(streams), 4),
    }


def below(pid: int) -> list[int]:
    """Return the processes that a process started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except (OSError, ValueError):
            continue
    return found


def memory(pid: int) -> int:
    """Return the memory of a process in MiB."""
    try:
        return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) >> 10
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    main()
