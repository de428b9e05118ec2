"""Measures vllm-triage against something run beside it; see README.md in this folder."""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORDS = (
    "the of and to in is that for on with as be this have from or by word but what some we can out other were all there "
    "use how said each she which do their time if will way about many then them write would like so these long make thing "
    "see him two has look more day could go come number sound no most people over know water than call first who may down "
    "find error memory model cuda device token cache request failed value tensor traceback exception context length"
).split()


def main() -> None:
    """Run the benchmarks named (default: all but scan)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", default=["cold", "warm", "rules", "stress"], help="cold warm scan rules stress"
    )
    parser.add_argument("--log", type=Path, help="log for cold and warm (default: a sample of the corpus)")
    parser.add_argument("--big", type=Path, help="large log for scan (default: one of --mib is generated)")
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    for name in options.names:
        BENCHMARKS[name](options)


def cold(options: Any) -> None:
    """Whole commands on a 200-line log."""
    log = options.log or sample()
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "json": [command(), "--format", "json", str(log)],
        "text": [command(), str(log)],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, words in commands.items():
            times[name].append(clock(lambda words=words: subprocess.run(words, capture_output=True, check=False)))
    best = {name: statistics.median(values) for name, values in times.items()}
    for name in ("json", "text"):
        print(
            f"cold {name}: {best[name] * 1000:.0f} ms = {best[name] / best['python -c pass']:.1f} x python -c pass ({best['python -c pass'] * 1000:.0f} ms)"
        )


def warm(options: Any) -> None:
    """The library on 20 KB, against every pattern on every line."""
    import regex

    from vllm_triage.classifier.api import Triage
    from vllm_triage.classifier.lines.prefix import split_line

    engine = Triage()
    text = (options.log or sample()).read_text(encoding="utf-8", errors="replace")
    text = (text * (20480 // len(text) + 1))[:20480] if len(text) < 20480 else text[:20480]
    patterns = [regex.compile(rule.pattern) for rule in engine.corpus.rules if rule.pattern]
    data = text.encode()

    def naive() -> None:
        for number, line in enumerate(text.splitlines(), 1):
            message = split_line(number, line).text
            for pattern in patterns:
                pattern.search(message)

    engine.report(data)
    ours = statistics.median(clock(lambda: engine.report(data)) for _ in range(options.rounds))
    theirs = statistics.median(clock(naive) for _ in range(max(3, options.rounds // 3)))
    print(
        f"warm 20 KB: {ours * 1000:.2f} ms; {len(patterns)} patterns on every line {theirs * 1000:.1f} ms = {theirs / ours:.1f} x slower"
    )


def scan(options: Any) -> None:
    """A large server log, against ripgrep with the same literals."""
    from vllm_triage.classifier.api import Triage
    from vllm_triage.classifier.question import Question

    with tempfile.TemporaryDirectory() as folder:
        big = options.big or generate(Path(folder, "big.log"), options.mib)
        literals = Path(folder, "literals")
        words = Triage()._engine(Question()).scanner.words
        literals.write_bytes(b"\n".join(words) + b"\n")
        size = big.stat().st_size / 1e6
        times: dict[str, list[float]] = {"ours": [], "rg": []}
        for _ in range(3):
            times["rg"].append(
                clock(
                    lambda: subprocess.run(
                        ["rg", "-c", "-F", "-f", str(literals), str(big)], capture_output=True, check=False
                    )
                )
            )
            times["ours"].append(
                clock(lambda: subprocess.run([command(), "-f", "json", str(big)], capture_output=True, check=False))
            )
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        ours, theirs = (statistics.median(times[name]) for name in ("ours", "rg"))
        print(
            f"scan {size:.0f} MB: {size / ours:.0f} MB/s; rg with the same {len(words)} literals {size / theirs:.0f} MB/s: ratio {theirs / ours:.2f}; peak of both {peak:.0f} MiB"
        )


def rules(options: Any) -> None:
    """Twice the rules on one log."""
    from vllm_triage.classifier.api import Triage
    from vllm_triage.classifier.matching.engine import Engine

    with tempfile.TemporaryDirectory() as folder:
        log = generate(Path(folder, "log"), 64)
        single, double = Triage(), Triage()
        double._engines = {False: Engine([*double.corpus.rules, *(_other(rule) for rule in double.corpus.rules)])}
        times: dict[str, list[float]] = {"single": [], "double": []}
        for engine in (single, double):
            engine.report(log)
        for _ in range(max(5, options.rounds // 3)):
            times["single"].append(clock(lambda: single.report(log)))
            times["double"].append(clock(lambda: double.report(log)))
        ratio = statistics.median(times["double"]) / statistics.median(times["single"])
        print(
            f"rules: {len(single.corpus.rules)} → {2 * len(single.corpus.rules)} rules cost {ratio:.2f} x the time on 64 MiB"
        )


def _other(rule: Any, words: bool = False) -> Any:
    """Return a rule of the same shape with other literals; with ``words`` it waits for other exceptions, too.

    Without, each exception that a rule knows is tried, and hit, twice: that is not what new rules do.
    """
    import copy

    made = copy.copy(rule)
    made.literals = [literal[::-1] for literal in rule.literals]
    if words:
        made.needs = {name: [text[::-1] for text in texts] for name, texts in rule.needs.items()}
    made.compiled = {}
    return made


def stress(options: Any) -> None:
    """A flood of error lines around the cause."""
    from vllm_triage.classifier.api import Triage

    cause = ["(Worker_TP1 pid=77) ERROR 11-02 10:00:00 [multiproc_executor.py:1] Traceback (most recent call last):"]
    cause += [
        f'(Worker_TP1 pid=77) ERROR 11-02 10:00:00 [multiproc_executor.py:1]   File "/x/site-packages/vllm/v1/worker/gpu_model_runner.py", line {n}, in step'
        for n in range(30)
    ]
    cause += [
        "(Worker_TP1 pid=77) ERROR 11-02 10:00:00 [multiproc_executor.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.25 GiB of which 1.10 GiB is free."
    ]
    one = ["(APIServer pid=5) ERROR 11-02 10:00:01 [serving.py:9] Traceback (most recent call last):"]
    one += [
        f'(APIServer pid=5) ERROR 11-02 10:00:01 [serving.py:9]   File "/x/site-packages/vllm/v1/engine/async_llm.py", line {n}, in generate'
        for n in range(438)
    ]
    one += [
        "(APIServer pid=5) ERROR 11-02 10:00:01 [serving.py:9] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
    ]
    data = "\n".join([*cause * 9, *one * 93]).encode()
    engine = Triage()
    engine.report(data)
    ours = statistics.median(clock(lambda: engine.report(data)) for _ in range(5))
    loop = statistics.median(clock(lambda: [line.decode() for line in data.split(b"\n")]) for _ in range(5))
    answer = engine.report(data)
    print(
        f"stress {data.count(10)} lines, {len(data) / 1e6:.1f} MB: {ours * 1000:.0f} ms ({answer.cause}); decoding its lines alone {loop * 1000:.0f} ms = {ours / loop:.0f} x"
    )


def generate(path: Path, mib: int) -> Path:
    """Write a server log of ``mib`` MiB: requests with prompts, statistics, access lines; nothing fails."""
    chance = random.Random(7)
    sentences = [" ".join(chance.choice(WORDS) for _ in range(chance.randrange(6, 22))) + ". " for _ in range(3000)]
    with path.open("w", encoding="utf-8") as file:
        size = 0
        while size < mib << 20:
            lines = []
            for _ in range(500):
                stamp = f"{chance.randrange(10, 13)}-{chance.randrange(10, 29)} {chance.randrange(10, 24)}:{chance.randrange(10, 60)}:{chance.randrange(10, 60)}"
                kind = chance.random()
                if kind < 0.25:
                    prompt = "".join(chance.choice(sentences) for _ in range(chance.randrange(1, 24)))
                    lines.append(
                        f"(APIServer pid=41) INFO {stamp} [logger.py:41] Received request chatcmpl-{chance.getrandbits(64):x}: prompt: '{prompt}', params: SamplingParams(n=1, temperature=0.7), lora_request: None."
                    )
                elif kind < 0.4:
                    lines.append(
                        f"(APIServer pid=41) INFO {stamp} [loggers.py:127] Engine 000: Avg prompt throughput: {chance.random() * 900:.1f} tokens/s, Avg generation throughput: {chance.random() * 400:.1f} tokens/s, Running: {chance.randrange(90)} reqs, Waiting: 0 reqs, GPU KV cache usage: {chance.random() * 90:.1f}%, Prefix cache hit rate: 3.1%"
                    )
                else:
                    lines.append(
                        f'(APIServer pid=41) INFO:     10.0.{chance.randrange(250)}.{chance.randrange(250)}:{chance.randrange(2000, 60000)} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
                    )
            text = "\n".join(lines) + "\n"
            size += len(text)
            file.write(text)
    return path


def sample() -> Path:
    """Return a log of this repository."""
    return Path(__file__).parent.parent / "corpus" / "logs" / "written" / "kv-cache-too-small.log"


def command() -> str:
    """Return the installed command of the interpreter that runs this."""
    beside = Path(sys.executable).with_name("vllm-triage")
    return str(beside) if beside.exists() else shutil.which("vllm-triage") or "vllm-triage"


def clock(job: Callable[[], object]) -> float:
    """Return the seconds that ``job`` takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


BENCHMARKS = {"cold": cold, "warm": warm, "scan": scan, "rules": rules, "stress": stress}

if __name__ == "__main__":
    main()
