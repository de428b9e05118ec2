"""Measures logs while they are written: ``python benchmarks/live.py lines|latency|speed|memory [SIZE]``.

lines    for each recorded failure: lines between the first that proves the cause and the one after which it was told; and
         what was told of recorded healthy logs
latency  seconds between writing a cause's line and the moment when the verdict is on standard output (p50, p99)
speed    ``vllm-triage run`` against ``cat``, for a stream of 50 MB/s (or as fast as it goes, with ``speed free``)
memory   resident memory of the reading process over SIZE GB of a server's log (default 1), and the MB/s reached
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import serving_log

from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.question import Question
from vllm_triage.classifier.standstill.types import Standstill
from vllm_triage.service.live.announce import Announcement
from vllm_triage.service.live.arrivals import Arrival
from vllm_triage.service.live.watch import Watch, WatchListener
from vllm_triage.training.record.publish import long_times

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "corpus" / "logs" / "recorded"
COMMAND = [sys.executable, "-m", "vllm_triage.service"]
RATE = 50e6
TRIALS = 3
SIZE = 250e6


def rows() -> list[dict]:
    """Return what is known of the recorded logs."""
    with (RECORDED / "index.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Heard(WatchListener):
    """What a watch told of one log."""

    def __init__(self) -> None:
        self.causes: list[tuple[int, str, str]] = []
        self.stalls: list[tuple[str, str]] = []
        self.watch: Watch | None = None

    def cause(self, announcement: Announcement) -> None:
        """Note after which line it was told."""
        self.causes.append((self.watch.lines, announcement.kind, announcement.report.bucket))

    def standstill(self, state: Standstill, _cause: str) -> None:
        """Note the verdict."""
        self.stalls.append((state.verdict, state.stage))


def arrivals(data: bytes, came: list[float]) -> Iterator[Arrival]:
    """Yield a log line by line, each when it came, and the time in between."""
    now = 0.0
    for number, line in enumerate(data.split(b"\n")):
        due = came[number] if number < len(came) else now
        while now + 0.5 < due:
            now += 0.5
            yield Arrival(1000 + now)
        now = due
        yield Arrival(1000 + now, line + b"\n")
    for step in range(10):
        yield Arrival(1000 + now + step / 2)


def replayed(triage: Triage, path: Path) -> Heard:
    """Replay a recorded log."""
    times = path.with_suffix(".times")
    came = [at / 1000 for at in long_times(times.read_text())] if times.exists() else []
    heard = Heard()
    heard.watch = Watch(triage, Question(), heard)
    heard.watch.read(arrivals(path.read_bytes(), came))
    return heard


def lines() -> None:
    """Replay every recorded log line by line, each when it came, on a clock of its own."""
    triage = Triage()
    late, untold, wrong, alarms, retracted = [], [], [], [], 0
    for row in rows():
        heard = replayed(triage, RECORDED / row["file"])
        right = {row["bucket"], *row["also"]}
        if row["bucket"] == "no_failure":
            if heard.causes or heard.stalls:
                alarms.append((row["file"], heard.causes, heard.stalls))
            continue
        first = next((number for number, kind, bucket in heard.causes if kind != "withdrawn" and bucket in right), None)
        retracted += any(kind != "cause" for _, kind, _ in heard.causes)
        if heard.causes and heard.causes[0][2] not in right:
            wrong.append((row["file"], heard.causes))
        if first is None or not row["evidence_lines"]:
            untold.append(row["file"])
        else:
            late.append(max(0, first - min(row["evidence_lines"])))
    late.sort()
    print(
        f"{len(late)} told before the end: median {late[len(late) // 2]} lines after the first proof, "
        f"p90 {late[len(late) * 9 // 10]}, most {late[-1]}; {retracted} corrected or withdrawn"
    )
    print(f"{len(untold)} told at the end alone: {' '.join(untold)}")
    print(f"{len(wrong)} told something else first: {wrong}")
    print(f"{len(alarms)} healthy ones told of: {alarms}")


def told_after(process: subprocess.Popen, seconds: float, kinds: tuple[str, ...]) -> float | None:
    """Return when the first event of some kinds came; None where none came in time."""
    until, buffer = time.time() + seconds, b""
    while time.time() < until:
        if select.select([process.stdout], [], [], 0.05)[0]:
            buffer += os.read(process.stdout.fileno(), 1 << 20)
            for line in buffer.split(b"\n")[:-1]:
                event = json.loads(line)
                if event["event"] in kinds:
                    return event["time"]
    return None


def latency() -> None:
    """Write failing logs into a pipe, the proving line last, and wait for the verdict."""
    taken = []
    chosen = [row for row in rows() if row["bucket"] != "no_failure" and min(row["evidence_lines"] or [0]) > 5][::12]
    for row in chosen:
        data = (RECORDED / row["file"]).read_bytes().splitlines(keepends=True)
        process = subprocess.Popen([*COMMAND, "-", "--follow", "-f", "jsonl"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)  # fmt: skip
        cut = min(row["evidence_lines"]) - 1
        process.stdin.write(b"".join(data[:cut]))
        process.stdin.flush()
        told_after(process, 20.0, ("stage",))
        # On a machine with other work, what an answer takes is loaded only now.
        time.sleep(4.0)
        written = time.time()
        process.stdin.write(data[cut])
        process.stdin.flush()
        told = told_after(process, 1.5, ("cause", "corrected"))
        process.kill()
        process.communicate()
        if told is not None and told >= written:
            taken.append(told - written)
    taken.sort()
    last = taken[min(len(taken) - 1, int(len(taken) * 0.99))]
    print(f"{len(taken)} of {len(chosen)} told by that line alone; p50 {1000 * statistics.median(taken):.0f} ms, "
          f"p99 {1000 * last:.0f} ms, most {1000 * taken[-1]:.0f} ms")  # fmt: skip


WRITER = """
import os, sys, time
data = open(sys.argv[1], 'rb').read(); rate = float(sys.argv[2]); size = int(float(sys.argv[3]))
begun = time.monotonic(); sent = 0; at = 0
while sent < size:
    piece = data[at:at + 65536]; at = (at + 65536) % (len(data) - 65536)
    view = memoryview(piece)
    while view: view = view[os.write(1, view):]
    sent += len(piece)
    if rate:
        ahead = sent / rate - (time.monotonic() - begun)
        if ahead > 0: time.sleep(ahead)
"""


def speed(free: bool) -> None:
    """Compare wall times of cat and of vllm-triage run, for SIZE bytes."""
    log = serving_log.write(Path("/tmp/live-serving.log"), "0.32.0", 30)
    writer = [sys.executable, "-c", WRITER, str(log), "0" if free else str(RATE), str(SIZE)]
    for _ in range(TRIALS):
        walls = []
        for command in (["bash", "-c", '"$@" | cat', "x", *writer], [*COMMAND, "run", "--", *writer]):
            begun = time.monotonic()
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
                size = 0
                while data := os.read(process.stdout.fileno(), 1 << 16):
                    size += len(data)
                copied = time.monotonic() - begun
            walls.append((copied, time.monotonic() - begun, size))
        (bare, _, one), (copied, whole, other) = walls
        assert one == other
        print(
            f"cat {bare:.2f} s, run {copied:.2f} s to the last byte ({100 * (copied / bare - 1):+.1f} %), {whole:.2f} s in all"
        )


def memory(size: float) -> None:
    """Stream SIZE GB as fast as they are read, and look at the reading process all the while."""
    log = serving_log.write(Path("/tmp/live-serving.log"), "0.32.0", 30)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(log), "0", str(size * 1e9)], stdout=subprocess.PIPE)
    process = subprocess.Popen([*COMMAND, "-", "--follow"], stdin=writer.stdout, stdout=subprocess.PIPE, cwd=ROOT)
    writer.stdout.close()
    begun, seen = time.monotonic(), []
    while process.poll() is None:
        time.sleep(0.5)
        try:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            pids = [str(process.pid), *children]
            seen.append([int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6 for pid in pids])
        except OSError:
            continue
    took = time.monotonic() - begun
    told = [pair for pair in seen if len(pair) == 2]
    tenth = max(1, len(told) // 10)
    for name, index in (("passing", 0), ("reading", 1)):
        values = [pair[index] for pair in told]
        settled = values[tenth:]
        print(
            f"{name}: {values[0]:.0f} MB at first, {statistics.median(settled):.0f} MB median, "
            f"{min(settled):.0f} to {max(settled):.0f} MB after the first tenth"
        )
    print(f"{size:g} GB in {took:.1f} s: {1000 * size / took:.0f} MB/s")
    print(process.stdout.read().decode()[-400:])


if __name__ == "__main__":
    what, *words = sys.argv[1:] or ["lines"]
    if what == "lines":
        lines()
    elif what == "latency":
        latency()
    elif what == "speed":
        speed(words == ["free"])
    else:
        memory(float(words[0]) if words else 1.0)
