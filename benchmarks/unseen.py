"""What is answered where a log's message is one that nobody has read: its rules hidden, or the words of its exceptions replaced.

``python benchmarks/unseen.py`` takes half a minute for the logs of the repository; ``--cases FILE`` the rows of a JSONL file with
``id``, ``text``, ``bucket`` and perhaps ``also`` instead; ``--folds FOLDER`` models that have not seen the hidden rules
(``python -m vllm_triage.training.text_model train … --folds FOLDER``): the shipped model learnt from them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.damage import cases
from tests.damaged import recorded, written
from tests.hidden import Hidden, Hider, Outcome, Way


def main(argv: Sequence[str] | None = None) -> int:
    """Print the shares of each way, then how sure and how often right the answers are by who decided."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of the recorded logs")
    parser.add_argument("--cases", type=Path, action="append", default=[], metavar="FILE", help="labelled logs instead")
    parser.add_argument("--folds", type=Path, metavar="FOLDER", help="models that have not seen the hidden rules")
    parser.add_argument("--misses", action="store_true", help="name what is not answered rightly")
    options = parser.parse_args(argv)
    logs = [log for path in options.cases for log in cases(path)] or [*written(), *recorded(options.every)]
    hider = Hider(str(folder) for folder in sorted(options.folds.iterdir())) if options.folds else Hider()
    for way in get_args(Way):
        found = list(hider.answers(logs, way))
        shares = Counter(item.outcome for item in found)
        print(
            f"{way} hidden: {len(found)} logs",
            *(f"{name} {shares[name] / max(1, len(found)):.3f}" for name in get_args(Outcome)),
        )
        _by_decider(found)
        for item in found if options.misses else ():
            if item.outcome != "right":
                print(f"    {item.name}: {item.before} -> {item.answer.cause} {item.answer.confidence}")
    return 0


def _by_decider(found: Sequence[Hidden]) -> None:
    groups: dict[str, list[Hidden]] = defaultdict(list)
    for item in found:
        answer = item.answer
        if item.outcome in ("right", "wrong"):
            groups["catalogue" if answer.decided_by == "rule" and not answer.rule else answer.decided_by].append(item)
    for name, items in sorted(groups.items()):
        right = sum(item.outcome == "right" for item in items) / len(items)
        sure = sum(item.answer.confidence for item in items) / len(items)
        print(f"    by {name:10} {len(items):4} answers, right {right:.2f}, confidence {sure:.2f}")


if __name__ == "__main__":
    sys.exit(main())
