"""Measures the agents' server as a client reaches it: a large log in bounded memory, progress, cancelling, the size of answers."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from vllm_triage.service.agents.budget import compact, tokens

ROOT = Path(__file__).resolve().parent.parent
FAILURE = ROOT / "corpus/logs/written/kv-cache-too-small.log"
LINE = "INFO 11-02 09:10:{:02d} [loggers.py:127] Engine 000: Avg prompt throughput: {}.0 tokens/s, Running: 3 reqs, Waiting: 0 reqs\n"


def main() -> None:
    """Run what is named (default: all)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["large", "sizes"], help="large sizes")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--every", type=int, default=1, help="sizes: of the recorded logs every so many")
    options = parser.parse_args()
    for name in options.names:
        asyncio.run({"large": large, "sizes": sizes}[name](options))


async def large(options: Any) -> None:
    """Read a large log through a child process; then again, and cancel."""
    with tempfile.TemporaryDirectory() as folder:
        size = write(Path(folder, "large.log"), options.megabytes << 20)
        words = ["-m", "vllm_triage.service", "mcp", "--root", folder]
        async with Client(StdioServerParameters(command=sys.executable, args=words, cwd=str(ROOT))) as client:
            await client.call_tool("triage_log", {"text": FAILURE.read_text()})
            before, told = peak(folder), []

            async def note(progress: float, _total: float | None, _message: str | None) -> None:
                told.append(progress)

            begin = time.monotonic()
            result = await client.call_tool("triage_log", {"path": "large.log"}, progress_callback=note)
            took = time.monotonic() - begin
            begin = time.monotonic()
            with anyio.move_on_after(took / 4) as scope:
                await client.call_tool("triage_log", {"path": "large.log"})
            await client.call_tool("check_option", {"option": "--max-model-len"})
            again = time.monotonic() - begin - took / 4
            figures = {
                "bytes": size, "seconds": round(took, 2), "progress": len(told),
                "bucket": result.structured_content["bucket"], "peak_mib_small": before, "peak_mib_large": peak(folder),
                "cancelled": scope.cancelled_caught, "seconds_to_next_answer": round(again, 3),
            }  # fmt: skip
            print(json.dumps({"large": figures}))


async def sizes(options: Any) -> None:
    """Ask about every recorded log: how long are answers?"""
    from vllm_triage.classifier.api import shared
    from vllm_triage.service.agents.desk import Desk
    from vllm_triage.service.agents.tools.triage_log import Asked, call

    async def silent(_progress: float, _total: float) -> None:
        return

    logs = sorted((ROOT / "corpus/logs").rglob("*.log*"))[:: options.every]
    desk, found = Desk(shared(), [ROOT / "corpus/logs"]), []
    for path in logs:
        answer = await call(Asked(path=str(path)), desk, silent)
        found.append((tokens(answer.text), tokens(compact(answer.data))))
    texts, tables = (sorted(column) for column in zip(*found, strict=True))
    figures = {"logs": len(found)}
    for name, column in (("text", texts), ("json", tables)):
        figures |= {f"{name}_p50": column[len(column) // 2], f"{name}_max": column[-1]}
    print(json.dumps({"sizes": figures}))


def write(path: Path, size: int) -> int:
    """Write a log of a server that fails after it has said much; return its size."""
    head, *rest = FAILURE.read_text().partition("ERROR")
    block = "".join(LINE.format(number % 60, number) for number in range(8000))
    with path.open("w") as file:
        file.write(head)
        while file.tell() < size:
            file.write(block)
        file.write("\n" + "".join(rest))
    return path.stat().st_size


def peak(folder: str) -> int:
    """Return the most memory (MiB) that the child process had so far."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if folder.encode() in status.with_name("cmdline").read_bytes():
                return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) >> 10  # type: ignore[index]
        except OSError:
            continue
    return 0


if __name__ == "__main__":
    main()
