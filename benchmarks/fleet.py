"""How long many logs take: ``python benchmarks/fleet.py [--logs N] [--turns N] [--engines one two ray]``.

Writes logs as a fleet's servers would have (the recorded ones with other processes, times and figures), has ``vllm-triage batch`` read
them by one engine after the other in alternate turns, and prints a line of JSON a run: seconds by the clock, processor seconds of the
command with all that it started (Ray's own services are not among them), and a checksum of the rows, which must be the same for all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from vllm_triage.service.batch.store.reader import read_rows

RECORDED = Path(__file__).parents[1] / "corpus" / "logs" / "recorded"
ENGINES = {"one": ["--jobs", "1"], "two": ["--jobs", "2"], "ray": ["--engine", "ray", "--jobs", "2"]}
VARYING = re.compile(
    r"(?<=pid=)\d+|(?<=\()\d{3,6}(?=\))|(?<=\.)\d\d(?= ?(?:GiB|GB|MiB|seconds|s\b))|(?<=:)[0-5]\d(?=\b)"
)
"""Figures that differ from one start to the next: process ids, sizes, seconds."""


def main() -> None:
    """Run the engines in turns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--logs", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["one", "two"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        write_logs(Path(folder, "logs"), options.logs)
        for turn in range(options.turns):
            # Each engine goes first as often as last: what warms up or slows down hits all alike.
            for name in options.engines[:: -1 if turn % 2 else 1]:
                print(json.dumps({"engine": name, "logs": options.logs, **measured(name, folder, turn)}), flush=True)


def write_logs(folder: Path, number: int) -> None:
    """Write so many logs, each a recorded one with other figures; the same ones each time."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(RECORDED.rglob("*.log"))]
    for index in range(number):
        seed = random.Random(index)
        text = VARYING.sub(
            lambda found, seed=seed: f"{seed.randrange(10 ** len(found[0])):0{len(found[0])}}",
            texts[index % len(texts)],
        )
        path = folder / f"node-{index % 40:02}" / f"start-{index:06}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def measured(name: str, folder: str, turn: int) -> dict[str, object]:
    """Have an engine read the logs into rows of its own; return what it took."""
    out = f"{folder}/{name}-{turn}"
    command = [sys.executable, "-m", "vllm_triage.service", "batch", f"{folder}/logs", "--out", out, *ENGINES[name]]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rows = sorted(json.dumps(row, sort_keys=True, default=str) for row in read_rows(out))
    digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]
    return {"seconds": round(seconds, 1), "processor_seconds": round(processor, 1), "rows": len(rows), "digest": digest}


if __name__ == "__main__":
    main()
