"""What is seen of a log before a cause is looked for, and quoted messages, measured: writes the tables of docs/lab/situation.md.

``python benchmarks/situation.py`` takes minutes. Labelled logs of one's own (``--cases``, rows as for ``damage.py``), references
(``--references``, rows with ``set``, ``id``, ``whose``) and sentences about vLLM (``--prose``, rows with ``text``) add their tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.damage import cases
from tests import situations
from tests.damaged import answer, count
from tests.quoted import DRAWN, NAMES_NOTHING
from tests.quoted import count as quoted

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "lab" / "situation.md"
PASTE = 50_000
"""Characters of the longest log that is damaged."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    for name in ("cases", "references", "prose"):
        parser.add_argument(f"--{name}", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--surroundings", type=int, default=1, help="into how many of the ten each half is put")
    parser.add_argument("--drawn", type=int, default=DRAWN, help="messages of the catalogue")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of the cases is damaged")
    parser.add_argument("--only", action="append", default=[], metavar="TABLE", help="by its title")
    parser.add_argument("--write", action="store_true", help="into docs/lab/situation.md")
    options = parser.parse_args(argv)
    logs = [(path, log) for path in options.cases for log in cases(path)]
    texts = {(path.name.partition(".")[0], log.name): log.text for path, log in logs}
    pastes = [log for _, log in logs if len(log.text) < PASTE][:: options.every]
    tables: dict[str, Callable[[], situations.Rates]] = {
        "Attempts": situations.attempts,
        "Release": lambda: situations.releases(log for _, log in logs),
        "Complaints": lambda: situations.complaints(ROOT / "tests" / "classifier" / "situation" / "cases"),
        "Whose program": lambda: situations.programs(options.references, texts),
        "Slow, stalled, hanging": lambda: situations.standing(log for _, log in logs),
        "Halves of messages": lambda: _halves(options.drawn, options.surroundings),
        "Plain sentences about vLLM": lambda: _sentences(options.prose),
        "Damaged pastes": lambda: {
            item.form.name: (item.asked - len(item.moved), item.asked) for item in count(pastes)
        },
    }
    for title in options.only or tables:
        text = _table(title, tables[title]())
        sys.stdout.write(text)
        if options.write:
            page = PAGE.read_text(encoding="utf-8")
            before, _, after = page.partition(f"### {title}\n")
            PAGE.write_text(
                f"{before.rstrip()}\n\n{text}{after[after.find('###') :] if '###' in after else ''}", encoding="utf-8"
            )
    return 0


def _sentences(paths: Sequence[Path]) -> situations.Rates:
    said = [
        answer(json.loads(line)["text"]) for path in paths for line in path.read_text(encoding="utf-8").splitlines()
    ]
    named = sum(report is not None and report.bucket not in NAMES_NOTHING for report in said)
    return {"named a failure": (named, len(said))}


def _halves(drawn: int, surroundings: int) -> situations.Rates:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for (which, name), fared in sorted(quoted(Random(2411), drawn, surroundings).items()):
        for key in (f"{which} half", f"{which} half: {name}"):
            sums[key][0] += fared.right
            sums[key][1] += fared.asked
    return {name: (right, asked) for name, (right, asked) in sorted(sums.items())}


def _table(title: str, rates: situations.Rates) -> str:
    rows = [
        f"| {name} | {right / asked if asked else 0:.3f} | {right} of {asked} |"
        for name, (right, asked) in rates.items()
    ]
    return "\n".join((f"### {title}", "", "| | share | n |", "|---|---|---|", *rows, "", ""))


if __name__ == "__main__":
    sys.exit(main())
