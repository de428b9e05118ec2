"""How often the verdict stays where a log is damaged in sixteen ways: all logs of the repository, or labelled ones of your own.

``python benchmarks/damage.py`` takes about five minutes; ``--every 8`` an eighth of the recorded logs; ``--cases FILE`` the rows of
a JSONL file with ``id``, ``text``, ``bucket`` and perhaps ``also``, instead of the repository's. Exit code 1 where a way falls short.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.damage import FORMS
from tests.damaged import Log, by_way, count, least, recorded, share, written


def cases(path: Path) -> Iterator[Log]:
    """Yield the labelled logs of a file, packed with xz where its name says so."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield Log(str(row["id"]), row["text"], frozenset((row["bucket"], *row.get("also", ()))))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a way falls short."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of the recorded logs")
    parser.add_argument("--cases", type=Path, action="append", default=[], metavar="FILE", help="labelled logs instead")
    parser.add_argument("--form", action="append", default=[], choices=[form.name for form in FORMS])
    parser.add_argument("--misses", action="store_true", help="name what moved")
    options = parser.parse_args(argv)
    logs = [log for path in options.cases for log in cases(path)] or [*written(), *recorded(options.every)]
    counts = count(logs, [form for form in FORMS if not options.form or form.name in options.form])
    short = 0
    for way, items in by_way(counts).items():
        enough = share(items) >= least(items)
        short += not enough
        print(f"{way:22} {share(items):.3f}  at least {least(items):.2f}{'' if enough else '  SHORT'}")
        for item in items:
            print(f"    {item.form.name:22} {item.share:.3f}  ({item.asked - len(item.moved)}/{item.asked})")
            if options.misses:
                for name, before, after in item.moved:
                    print(f"        {name}: {before} -> {after}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
