"""``python -m vllm_triage.training.packs FILES``: what evidence packs hold, measured without a model (docs/pack.md).

FILES are labelled logs (JSON lines, folders: docs/model.md) or plain logs. Of the former the labelled line is looked for.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..classifier.api import shared
from ..classifier.errors import InputError
from ..classifier.input.read import LogFile
from ..classifier.report.model import Report
from ..classifier.report.pack.material import Material
from ..classifier.report.pack.model import LARGEST, LEAST, Pack
from .examples.labelled import Case, read_cases

BUDGETS = (2_000, 14_000, 60_000)
LABELLED = (".jsonl", ".xz", ".gz", ".csv")
"""How files of labelled logs end."""
SHORT = 20
"""Characters of a line from which on it may stand for a longer label that holds it."""


@dataclass(slots=True)
class Tally:
    """What was found at one budget: of how many packs that could hold something how many do."""

    held: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)

    def count(self, name: str, held: bool) -> None:
        """Count a pack that could hold something."""
        self.of[name] += 1
        self.held[name] += held


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the packs of all logs and print what they hold; return the exit code."""
    given = _parser().parse_args(arguments)
    tallies = {budget: Tally() for budget in given.budget or BUDGETS}
    misses: list[str] = []
    try:
        for case in _cases(given.files):
            report = shared().report(case.source)
            for budget, tally in tallies.items():
                if not measure(report, report.pack(budget), case, tally):
                    misses.append(f"{budget}: {case.id}")
    except InputError as error:
        print(f"packs: {error}", file=sys.stderr)
        return 2
    for budget, tally in tallies.items():
        print("\n".join(_told(budget, tally)))
    if given.misses:
        print("\n".join(["without the labelled line:", *misses]))
    return 0


def measure(report: Report, pack: Pack, case: Case, tally: Tally) -> bool:
    """Count what a pack holds; return whether the labelled line is in it (true where there is none)."""
    shown = {number for line in pack.lines for number in range(line.line, (line.last or line.line) + 1)}
    found = not case.evidence or any(holds(pack, label) for label in case.evidence)
    if case.evidence:
        tally.count("labelled line", found)
    material = report.kept
    frames = material.leads.items() if isinstance(material, Material) else ()
    innermost = max(((lead.worth, -number) for number, lead in frames if lead.kind == "frame"), default=None)
    if innermost is not None and isinstance(material, Material):
        tally.count("innermost frame", material.original(-innermost[1]) in shown)
    if report.facts.get("arguments"):
        tally.count("arguments", any(part.part == "arguments" for part in pack.told) and "arguments" not in pack.cut)
    if report.story is not None and report.story.died_first is not None:
        tally.count("first death", report.story.died_first.line in shown)
    tally.count("whole log", pack.whole)
    tally.sizes.append(len(pack.text()))
    tally.cut.update(pack.cut)
    return found


def holds(pack: Pack, label: str) -> bool:
    """Return whether a labelled line stands in a pack, white space and what was peeled off before it aside."""
    wanted = " ".join(label.split())
    lines = [
        " ".join(f"{line.process} {line.time} {line.level} {line.source} {line.text}".split()) for line in pack.lines
    ]
    texts = [" ".join(line.text.split()) for line in pack.lines]
    if any(wanted in line for line in (*lines, *texts)) or wanted in " ".join(texts):
        return True
    return any(text in wanted for text in texts if len(text) >= SHORT)


def _cases(paths: Iterable[Path]) -> Iterator[Case]:
    for path in paths:
        if path.is_dir() or path.suffix in LABELLED:
            yield from read_cases([path])
        else:
            yield Case(str(path), "", str(path), path=LogFile(str(path)))  # type: ignore[arg-type] # read like a path


def _told(budget: int, tally: Tally) -> Iterator[str]:
    sizes = sorted(tally.sizes)
    yield f"budget {budget:,}: {len(sizes)} packs"
    for name, count in tally.of.items():
        yield f"  {name:<18} {tally.held[name] / count:.3f}  ({tally.held[name]}/{count})"
    if sizes:
        yield f"  {'characters':<18} p50 {sizes[len(sizes) // 2]:,}, p99 {sizes[min(len(sizes) - 1, int(len(sizes) * 0.99))]:,}"
        yield f"  {'cut':<18} " + (", ".join(f"{name} {count}" for name, count in tally.cut.most_common()) or "nothing")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.packs", description=main.__doc__)
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="labelled logs (JSON lines, folders), or logs"
    )
    text = f"characters of a pack, {LEAST} to {LARGEST} (repeatable; default: {', '.join(map(str, BUDGETS))})"
    parser.add_argument(
        "--budget", type=int, action="append", choices=range(LEAST, LARGEST + 1), metavar="N", help=text
    )
    parser.add_argument("--misses", action="store_true", help="name the logs whose labelled line is not in the pack")
    return parser


if __name__ == "__main__":
    sys.exit(main())
