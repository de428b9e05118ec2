"""``python -m vllm_triage.training.ask``: what a language model's answers are worth, before and after they were checked.

``--write-requests DIR LOGS`` writes what an endpoint would be sent for each log into ``DIR/NAME.txt``, and ``DIR/index.jsonl`` with what
rules answer. Whoever reads a request puts the JSON object that it asks for into ``NAME.json``. ``--answers DIR --references FILE LOGS``
then prints by the references how often first fixes are right and refuted, what the checks killed, and which options do not exist;
``--fit`` writes the record by which it is decided whose fix stands first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ...classifier.api import shared
from ...classifier.report.pack.model import BUDGET
from ...classifier.report.pack.request import is_unsure, request_of
from .logs import Log, logs_of, sample

INDEX = "index.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write requests, or score answers; return the exit code."""
    options = _parser().parse_args(arguments)
    logs = list(logs_of(options.logs))
    if options.write_requests is not None:
        count = write_requests(options.write_requests, logs, options.budget, options.sample, options.unsure)
        print(f"{count} requests in {options.write_requests}")
        return 0
    if options.answers is None or options.references is None:
        print("ask: give --write-requests DIR, or --answers DIR with --references FILE", file=sys.stderr)
        return 2
    from .score import print_scores

    return print_scores(options, logs)


def write_requests(
    folder: Path, logs: Sequence[Log], budget: int = BUDGET, count: int = 0, unsure: bool = False
) -> int:
    """Write the request of each log, as an endpoint would get it; return how many.

    Args:
        folder: Made where it is not there.
        logs: To ask about.
        budget: Characters of a pack.
        count: Most logs; 0 for all.
        unsure: Whether only failures are taken that a model is asked about without being told to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = []
    for log in logs:
        report = shared().report(log.text.encode("utf-8", "surrogateescape"))
        if report.failed and (is_unsure(report) or not unsure):
            wanted.append((log, report))
    taken = {log.name for log in sample([log for log, _ in wanted], count or len(wanted))}
    with (folder / INDEX).open("w", encoding="utf-8") as index:
        for log, report in wanted:
            if log.name not in taken:
                continue
            (folder / f"{log.name}.txt").write_text(request_of(report, budget), encoding="utf-8")
            about = {
                "name": log.name, "set": log.group, "id": log.id, "cause": report.cause, "decided_by": report.decided_by,
                "share": report.fixes[0].confidence if report.fixes else None, "unsure": is_unsure(report),
            }  # fmt: skip
            index.write(json.dumps(about, ensure_ascii=False) + "\n")
    return len(taken)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vllm_triage.training.ask", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("logs", type=Path, nargs="+", metavar="FILE", help="logs as JSON lines (.jsonl, .jsonl.xz), or files")
    add("--write-requests", type=Path, metavar="DIR", help="write what an endpoint would be sent")
    add("--unsure", action="store_true", help="only logs that a model is asked about without --ask always")
    add("--sample", type=int, default=0, metavar="N", help="only so many logs, always the same ones")
    add("--budget", type=int, default=BUDGET, metavar="N", help=f"characters of a pack (default: {BUDGET})")
    add("--answers", type=Path, metavar="DIR", help="the folder with the answers")
    add("--references", type=Path, metavar="FILE", help="readers' references, as vllm_triage.training.advice has them")
    add("--model", default="reader", metavar="NAME", help="who answered")
    add("--list", action="store_true", help="list what was killed, and what was first")
    add("--fit", action="store_true", help="write the record of proposals")
    return parser


if __name__ == "__main__":
    sys.exit(main())
