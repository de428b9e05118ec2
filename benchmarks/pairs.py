"""How fast two checkouts answer, side by side: ``python benchmarks/pairs.py BEFORE [AFTER] [--logs FILE …] [--turns N]``.

BEFORE and AFTER are interpreters in whose environments the checkouts are installed (AFTER: the one that runs this), best both from a
wheel. Cold is a whole command that answers as JSON, or the library's import and first answer; warm is an answer of a process that has answered the same log before. Both are processor time,
taken in turns, so that what else the machine does meets both; told is the median of each pair's ratio.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ANSWERS = "--answer"
FIRST = "import vllm_triage, sys; vllm_triage.triage(open(sys.argv[1], 'rb').read()).to_json()"
WAYS = {"command": ("-m", "vllm_triage.service", "--format", "json"), "library": ("-c", FIRST)}
COLD = ("written/kv-cache-too-small.log", "recorded/0.32.0/attention-head-size.log")
Pair = tuple[float, float]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("before", help="Python of the checkout as it was")
    parser.add_argument("after", nargs="?", default=sys.executable, help="Python of the checkout as it is")
    parser.add_argument("--logs", type=Path, nargs="+", help="answered warm (default: each twentieth of corpus/logs)")
    parser.add_argument("--turns", type=int, default=21, metavar="N", help="of each cold start; a third of them warm")
    options = parser.parse_args(argv)
    sides = (options.before, options.after)
    for way, words in WAYS.items():
        for name in COLD:
            measure = _cold(words, ROOT / "corpus/logs" / name)
            _tell(f"{way}, cold, {name}", [_turn(turn, sides, measure) for turn in range(options.turns)])
    logs = options.logs or sorted((ROOT / "corpus/logs").rglob("*.log"))[::20]
    servers = {side: _start(side) for side in sides}

    def warm(path: Path) -> Callable[[str], float]:
        return lambda side: _ask(servers[side], path)

    pairs = []
    for path in logs:
        _turn(0, sides, warm(path))  # The first answer loads what this log needs.
        turns = [_turn(turn, sides, warm(path)) for turn in range(max(options.turns // 3, 3))]
        pairs.append((min(before for before, _ in turns), min(after for _, after in turns)))
    _tell(f"warm, {len(logs)} logs", pairs)
    for server in servers.values():
        server.communicate()


def _turn(turn: int, sides: Sequence[str], measure: Callable[[str], float]) -> Pair:
    """Measure both sides, the first one in turns."""
    if turn % 2:
        after, before = measure(sides[1]), measure(sides[0])
    else:
        before, after = measure(sides[0]), measure(sides[1])
    return before, after


def _cold(words: Sequence[str], log: Path) -> Callable[[str], float]:
    def measure(side: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [side, "-P", *words, str(log)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd="/"
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return measure


def _start(side: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [side, "-P", __file__, ANSWERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
    )


def _ask(server: subprocess.Popen[str], log: Path) -> float:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{log.resolve()}\n")
    server.stdin.flush()
    return float(server.stdout.readline())


def answer() -> None:
    """Answer logs by their names on standard input with the processor time of each."""
    from vllm_triage import triage

    for line in sys.stdin:
        data = Path(line.rstrip("\n")).read_bytes()
        began = time.process_time()
        triage(data)
        print(time.process_time() - began, flush=True)


def _tell(name: str, pairs: list[Pair]) -> None:
    before, after = (statistics.median(pair[side] for pair in pairs) * 1e3 for side in (0, 1))
    whole = sum(pair[1] for pair in pairs) / sum(pair[0] for pair in pairs)
    ratio = statistics.median(new / old for old, new in pairs)
    print(f"{name:58} {before:7.1f} ms {after:7.1f} ms   of pairs {ratio:.3f}, of sums {whole:.3f}, n {len(pairs)}")


if __name__ == "__main__":
    if ANSWERS in sys.argv:
        answer()
    else:
        main()
