"""All figures of speed in one table: ``python benchmarks/table.py [--json FILE] [--draw]``.

Run it with the Python of an environment where vllm-triage is installed from a wheel. Every figure is processor time, the
least of several turns, and where it can be a ratio against something run in the same turns. Peers that are not installed
(``pip install drain3``; ripgrep) are left out. ``--draw`` draws the files below ``figures/`` over the releases.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from serving_log import RELEASES, write

from vllm_triage.corpus.types import Rule

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "figures"
DRAWING = HERE.parent / "docs" / "images" / "speed.svg"
TURNS, FEW = 15, 5
FLOOD = 93
"""Stacks in a flood."""
SERVING = 64
"""MiB of each log of a server at work."""
FIRST = "import vllm_triage, sys; vllm_triage.triage(open(sys.argv[1], 'rb').read())"
GOALS = {
    "cold json / pass": 8.0, "version / pass": 2.5, "help / pass": 2.5, "json / diagnosis": 0.1, "rules x 2": 1.05,
    "drain3 / flood of stacks": 3.0, "drain3 / flood of woven stacks": 3.0, "drain3 / flood of errors": 3.0,
    "drain3 / flood of other stacks": 3.0, "scan / rg": 0.5,
    **{f"serving {release}, MB/s": 100.0 for release in RELEASES}, "serving, access lines alone, MB/s": 100.0,
}  # fmt: skip

Figures = dict[str, float]


def main() -> None:
    """Measure, print, write and draw what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file (figures/VERSION.json)")
    parser.add_argument("--draw", action="store_true", help=f"draw {FIGURES} into {DRAWING}")
    parser.add_argument(
        "--literals", type=Path, help="what ripgrep looks for, a line each (default: the product's literals)"
    )
    parser.add_argument("--big", type=Path, help="the log of the scan (default: one of 128 MiB is made)")
    parser.add_argument(
        "--only", choices=("commands", "library", "floods", "serving", "scan"), help="measure these figures alone"
    )
    options = parser.parse_args()
    if options.draw:
        DRAWING.write_text(drawn([json.loads(path.read_text()) for path in sorted(FIGURES.glob("*.json"))]))
        return
    kinds = {
        "commands": commands,
        "library": library,
        "floods": floods,
        "serving": serving,
        "scan": lambda: scan(options),
    }
    figures: Figures = {}
    for kind, measure in kinds.items():
        if options.only in (None, kind):
            figures |= measure()
    for name, figure in figures.items():
        goal = f"   to reach {GOALS[name]:g}" if name in GOALS else ""
        print(f"{name:32}{figure:10.2f}{goal}")
    if options.json:
        from vllm_triage import __version__

        told = {"version": __version__, "date": time.strftime("%Y-%m-%d"), "figures": figures}
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def commands() -> Figures:
    """Whole commands against ``python -c pass``."""
    log = str(sample())
    asked = {
        "pass": [sys.executable, "-c", "pass"],
        "version": [command(), "--version"],
        "help": [command(), "--help"],
        "cold json": [command(), "--format", "json", log],
        "cold text": [command(), log],
        "import and first call": [sys.executable, "-c", FIRST, log],
    }
    least: Figures = {}
    for _ in range(TURNS):
        for name, words in asked.items():
            least[name] = min(least.get(name, 1e9), spent(words))
    return {f"{name} / pass": least[name] / least["pass"] for name in asked if name != "pass"}


def sample() -> Path:
    """Return a log of this repository."""
    return Path(__file__).parent.parent / "corpus" / "logs" / "written" / "kv-cache-too-small.log"


def command() -> str:
    """Return the installed command of the interpreter that runs this."""
    beside = Path(sys.executable).with_name("vllm-triage")
    return str(beside) if beside.exists() else shutil.which("vllm-triage") or "vllm-triage"


def library() -> Figures:
    """One process: an answer, its JSON, twice the rules."""
    from vllm_triage.classifier.api import Triage

    engines = {"single": Triage(), "same": Triage(), "other": Triage()}
    _double(engines["same"], words=False)
    _double(engines["other"], words=True)
    data = sample().read_bytes()
    least: Figures = {}
    for _ in range(TURNS * 2):
        # In turns: what else the machine does meets all.
        for name, engine in engines.items():
            least[name] = min(least.get(name, 1e9), processor_time(lambda engine=engine: engine.report(data)))
    report = engines["single"].report(data)
    written = min(processor_time(report.to_json) for _ in range(TURNS))
    return {
        "diagnosis, ms": least["single"] * 1e3,
        "json / diagnosis": written / least["single"],
        "rules x 2": least["other"] / least["single"],
        "rules x 2, same exceptions": least["same"] / least["single"],
    }


def _double(engine: object, *, words: bool) -> None:
    """Give an engine each rule twice, the copy with other literals, and with other words of exceptions where asked for."""
    from vllm_triage.classifier.matching.engine import Engine
    from vllm_triage.classifier.question import Question

    rules = engine.corpus.rules  # type: ignore[attr-defined]
    engine._engine(Question())  # type: ignore[attr-defined]
    engine._engines = {False: Engine([*rules, *(_other(rule, words) for rule in rules)])}  # type: ignore[attr-defined]


def _other(rule: Rule, words: bool) -> Rule:
    """Return a rule of the same shape with other literals; with ``words`` it waits for other exceptions, too.

    Without, each exception that a rule knows is tried, and hit, twice: that is not what new rules do.
    """
    made = copy.copy(rule)
    made.literals = [literal[::-1] for literal in rule.literals]
    if words:
        made.needs = {name: [text[::-1] for text in texts] for name, texts in rule.needs.items()}
    made.compiled = {}
    return made


def floods() -> Figures:
    """Logs of errors by ten thousands, a line, against Drain3."""
    from vllm_triage.classifier.api import Triage

    engine = Triage()
    figures: Figures = {}
    for name, lines in (
        ("stacks", stacks()),
        ("woven stacks", woven()),
        ("errors", errors()),
        ("other stacks", others()),
    ):
        data = "\n".join(lines).encode()
        peer = _drain3(lines)
        ours, theirs = 1e9, 1e9
        for _ in range(FEW):
            ours = min(ours, processor_time(lambda data=data: engine.report(data)) / len(lines))
            theirs = min(theirs, peer()) if peer else theirs
        figures[f"flood of {name}, us a line"] = ours * 1e6
        figures[f"flood of {name}, MB/s"] = len(data) / 1e6 / (ours * len(lines))
        if peer:
            figures[f"drain3 / flood of {name}"] = theirs / ours
    return figures


def _drain3(lines: list[str], count: int = 8000) -> Callable[[], float] | None:
    try:
        from drain3 import TemplateMiner
    except ImportError:
        return None

    def mine() -> float:
        miner = TemplateMiner()
        return processor_time(lambda: [miner.add_log_message(line) for line in lines[:count]]) / count

    return mine


def stack(number: int, process: str = "APIServer pid=5", error: str = "EngineCore encountered an issue.") -> list[str]:
    """Return the lines of one dead request."""
    prefix = f"({process}) ERROR 11-02 10:00:{number % 60:02d} [serving.py:9] "
    frames = [
        f'  File "/usr/lib/python3.12/site-packages/vllm/v1/engine/async_llm.py", line {at // 2}, in generate'
        if at % 2 == 0
        else f"    out = await queue.get_{at}(request_id, sampling_params, priority)"
        for at in range(438)
    ]
    ends = ["Traceback (most recent call last):", *frames, f"vllm.v1.engine.exceptions.EngineDeadError: {error}"]
    return [prefix + line for line in ends]


def stacks() -> list[str]:
    """One dead engine, and the same stack for each request."""
    return [line for number in range(FLOOD) for line in stack(number)]


def woven() -> list[str]:
    """Eight servers' stacks, a few lines of each at a time."""
    chance = random.Random(3)
    streams = [
        iter([line for at in range(FLOOD // 8) for line in stack(at, f"APIServer_{one} pid={one + 50}")])
        for one in range(8)
    ]
    lines: list[str] = []
    while streams:
        stream = chance.choice(streams)
        for _ in range(chance.randrange(1, 5)):
            line = next(stream, None)
            if line is None:
                streams.remove(stream)
                break
            lines.append(line)
    return lines


def errors() -> list[str]:
    """Errors of one line, each with numbers of its own."""
    return [
        f"(APIServer pid=5) ERROR 11-02 10:00:{at // 700 % 60:02d} [serving.py:9] Error in request cmpl-{at:08x}: the engine refused {at * 7} tokens"
        for at in range(440 * FLOOD)
    ]


def others() -> list[str]:
    """Stacks that end in an exception of their own each."""
    return [line for number in range(FLOOD) for line in stack(number, error=f"Request {number} encountered an issue.")]


def serving() -> Figures:
    """Servers at work as releases log them: whole commands, with the start of Python."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        logs = {f"serving {release}": write(Path(folder, release), release, SERVING) for release in RELEASES}
        logs["serving, access lines alone"] = write(Path(folder, "access"), RELEASES[-1], SERVING, requests=False)
        for name, log in logs.items():
            least = min(spent([command(), "--format", "json", str(log)]) for _ in range(FEW))
            figures[f"{name}, MB/s"] = log.stat().st_size / 1e6 / least
    return figures


def scan(options: argparse.Namespace) -> Figures:
    """A server at work, against ripgrep with the literals given, or the product's own."""
    with tempfile.TemporaryDirectory() as folder:
        big = options.big or write(Path(folder, "big.log"), "0.9.2", 128)
        rg, literals = shutil.which("rg"), options.literals or _own_literals(Path(folder))
        ours, theirs = 1e9, 1e9
        for _ in range(FEW):
            # In turns: what else the machine does meets both.
            ours = min(ours, spent([command(), "--format", "json", str(big)]))
            theirs = min(theirs, spent([rg, "-c", "-F", "-f", str(literals), str(big)])) if rg else theirs
        figures = {"scan, MB/s": big.stat().st_size / 1e6 / ours}
        return figures | ({"scan / rg": theirs / ours} if rg else {})


def _own_literals(folder: Path) -> Path:
    """Write what the product looks for into a file."""
    from vllm_triage.classifier.api import Triage
    from vllm_triage.classifier.question import Question

    path = folder / "literals"
    path.write_bytes(b"\n".join(Triage()._engine(Question()).scanner.words) + b"\n")
    return path


def spent(words: list[str]) -> float:
    """Return the processor seconds of a command."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime


def processor_time(job: Callable[[], object]) -> float:
    """Return the processor seconds that ``job`` takes in this process."""
    began = time.process_time()
    job()
    return time.process_time() - began


def drawn(releases: list[dict]) -> str:
    """Return the figures over the releases as SVG: a small chart each, the goal as a line."""
    names = [
        name
        for name in releases[-1]["figures"]
        if "/ pass" in name or "us a line" in name or (name.endswith(", MB/s") and not name.startswith("flood"))
    ]
    width, height, columns = 250, 120, 3
    rows = -(-len(names) // columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * width} {rows * height}" font-family="sans-serif" font-size="11">',
        "<style>text{fill:#555} .v{fill:#222} @media (prefers-color-scheme: dark){text{fill:#aaa} .v{fill:#eee}}</style>",
    ]
    for place, name in enumerate(names):
        left, top = place % columns * width + 12, place // columns * height + 16
        values = [(release["version"], release["figures"].get(name)) for release in releases]
        most = max([value for _, value in values if value is not None] + [GOALS.get(name, 0)])
        parts.append(f'<text x="{left}" y="{top}">{name}</text>')
        bar = min(60, (width - 30) // len(values))
        for at, (version, value) in enumerate(values):
            if value is None:
                continue
            size = 66 * value / most
            x, y = left + at * bar, top + 76 - size
            parts.append(f'<rect x="{x}" y="{y:.1f}" width="{bar - 8}" height="{size:.1f}" rx="2" fill="#4878a8"/>')
            parts.append(
                f'<text class="v" x="{x}" y="{y - 3:.1f}">{value:.3g}</text><text x="{x}" y="{top + 89}">{version}</text>'
            )
        if name in GOALS:
            y = top + 76 - 66 * GOALS[name] / most
            parts.append(f'<path d="M{left} {y:.1f}h{width - 40}" stroke="#c05030" stroke-dasharray="4 3"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
