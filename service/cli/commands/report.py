"""``vllm-triage report REPORTS``: what fails in a fleet, since when, where, and what an upgrade changed."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..answered import answered
from ..messages import complain
from ..parser import Parser

EPILOG = """\
examples:
  vllm-triage report reports
  vllm-triage report reports --since 2026-11-01 --html fleet.html
  vllm-triage report s3://fleet/reports --model meta-llama/Llama-3.1-8B --format json

exit codes: 0 done, 2 usage or input error
"""
FILTERS = ("bucket", "cause", "release", "model", "gpu", "node")


def run(words: Sequence[str]) -> int:
    """Print the report, or write it as a page; return the exit code."""
    return answered(_parser(), words, _report)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="vllm-triage report",
        description="Show what the rows of vllm-triage batch say: what fails, since when, where; what is new; what an upgrade changed.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("reports", metavar="REPORTS", help="folder or URL that batch wrote")
    add("-f", "--format", choices=("text", "json"), default="text", help="output format (default: text)")
    add("--html", type=Path, metavar="FILE", help="write one static page with charts, instead of printing")
    add(
        "--service", default="", metavar="URL", help="with --html: a vllm-triage serve whose history the causes link to"
    )
    add("--title", default="What fails in our fleet", help="heading of the page")
    add(
        "--since",
        default="",
        metavar="DAY",
        help="what is new since then, YYYY-MM-DD (default: the last week of the logs)",
    )
    add("--from", dest="first", default="", metavar="DAY", help="leave out starts before this day")
    add("--until", dest="last", default="", metavar="DAY", help="leave out starts after this day")
    for name in FILTERS:
        add(f"--{name}", action="append", default=[], metavar="NAME", help=f"only starts of this {name} (repeatable)")
    add("-v", "--verbose", action="store_true", help="show all rows of all tables")
    return parser


def _report(options: argparse.Namespace) -> int:
    from ...batch.store.reader import read_rows
    from ...fleet.counts import COLUMNS, count, several
    from ...fleet.summary import summarise

    # Of a fleet's logs few have several starts: these alone are kept in memory, at the price of reading two columns first.
    again = several(read_rows(options.reports, ("log", "start")))
    rows = (row for row in read_rows(options.reports, COLUMNS) if _wanted(row, options))
    summary = summarise(count(rows, again), options.since)
    if options.html is not None:
        from ...fleet.page import page

        try:
            options.html.write_text(page(summary, options.title, options.service), encoding="utf-8")
        except OSError as error:
            return complain(f"{options.html}: cannot be written ({error.strerror})")
        print(f"{options.html} written")
    elif options.format == "json":
        print(json.dumps(summary.to_dict(), ensure_ascii=False, indent=2))
    else:
        _print(summary, options.verbose)
    return 0


def _wanted(row: dict[str, Any], options: argparse.Namespace) -> bool:
    day = row["day"] or ""
    if (options.first and day < options.first) or (options.last and day > options.last):
        return False
    return all(not (asked := getattr(options, name)) or row[name] in asked for name in FILTERS)


def _print(summary: Any, verbose: bool) -> None:
    from rich.console import Console

    from ...fleet.text import print_summary

    width = max(100, min(160, shutil.get_terminal_size((120, 24)).columns))
    console = Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)
    print_summary(summary, console, verbose)
