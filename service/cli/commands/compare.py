"""``vllm-triage compare GOOD BAD``: what is different between two logs, and whether a change cured."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence

from ..answered import answered
from ..arguments import add_rules
from ..parser import Parser


def run(words: Sequence[str]) -> int:
    """Print the comparison; exit code 1 where the second log shows a failure, 2 on misuse."""
    parser = Parser(
        prog="vllm-triage compare",
        description="Say what is different between two logs of a server (before and after a change, the good node and the bad "
        "one): the answers, how far each start got, and the options, facts and figures that differ.",
        epilog="exit codes: 0 the second log shows no failure, 1 it does, 2 usage or input error",
    )
    parser.add_argument("before", metavar="BEFORE", help="the first log; - reads standard input")
    parser.add_argument("after", metavar="AFTER", help="the second log")
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    add_rules(parser)
    return answered(parser, words, _compared)


def _compared(options: Namespace) -> int:
    from ....classifier.api import Triage
    from ....classifier.input.read import LogFile
    from ...comparison import compare

    triage = Triage(options.rules)
    before, after = (
        triage.report(sys.stdin.buffer if name == "-" else LogFile(name)) for name in (options.before, options.after)
    )
    found = compare(before, after)
    if options.format == "json":
        print(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
        return int(after.failed)
    from ...render.colors import painter
    from ...render.words import STAGE_NAMES
    from ..parser import columns, wrapped

    paint, width = painter(), columns()
    print(paint(f"{'✖' if after.failed else '✔'} {found.told}", "red" if after.failed else "green"), end="\n\n")
    for label, side in (("before", found.before), ("after", found.after)):
        print(
            wrapped(
                f"  {label:<6}  {side.cause} · reached {STAGE_NAMES.get(side.reached, side.reached)} · {side.title}",
                width,
            )
        )
        if side.line:
            print(wrapped(f"          line {side.line}  {side.text[:300]}{'…' * (len(side.text) > 300)}", width))
    if found.changes:
        print(f"\n{len(found.changes)} difference{'s' * (len(found.changes) != 1)}")
    column = max((len(change.name) for change in found.changes), default=0)
    for change in found.changes:
        told = f"{change.before or '–'} → {paint(change.after or '–', 'bold')}"
        print(wrapped(f"  {change.name:<{column}}  {told}", width))
    return int(after.failed)
