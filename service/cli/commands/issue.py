"""``vllm-triage issue LOG``: a bug report for vLLM, masked, ready to paste."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..arguments import add_rules
from ..messages import complain, warn
from ..parser import Parser

if TYPE_CHECKING:
    from ....classifier.log_source import Source
    from ....classifier.report.model import Report

OURS = frozenset({"unknown", "engine_bug", "gpu_fault", "compile_failure", "cuda_graph_crash", "numerical_error"})
"""Buckets in which the fault is likely to be vLLM's, or is not known to be the user's."""
SURE = 0.8
"""Confidence from which on somebody is told to try the fix first."""


def run(words: Sequence[str]) -> int:
    """Print the report; exit code 0 where there is one, 2 where there is not (no failure, an input that cannot be read)."""
    try:
        options = _parser().parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    from ....classifier.errors import InputError

    if options.file == "-" and sys.stdin.isatty():
        return complain("standard input is a terminal: pipe a log in or name a file")
    try:
        return _report(options)
    except InputError as error:
        return complain(str(error))
    except OSError as error:
        return complain(f"{options.output}: {error.strerror or error}")


def _parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="vllm-triage issue",
        description="Write a bug report for vLLM: release, environment, minimal command, the lines that matter. Secrets are masked.",
        epilog="Read it before you send it. Exit codes: 0 written, 2 none (no failure found, or a problem).",
    )
    add = made.add_argument
    add(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="the log, plain, gzip or zstd; - reads standard input (default)",
    )
    start = "the start command, where the log does not have it"
    add("--command", default="", metavar="TEXT", help=start)
    add("--vllm-version", default="", metavar="X.Y.Z", help="the release, where the log does not have it")
    add("-o", "--output", default="", metavar="FILE", help="write it there instead of to standard output")
    add_rules(made)
    return made


def _report(options: argparse.Namespace) -> int:
    from ....classifier.api import Triage
    from ....classifier.input.read import LogFile
    from ....classifier.question import Question
    from ...bug_report import TRACKER, bug_report

    question = Question(command=options.command, vllm_version=options.vllm_version)
    source = sys.stdin.buffer if options.file == "-" else LogFile(options.file)
    report = Triage(options.rules).report(cast("Source", source), question)
    if not report.failed:
        return complain("no failure found in this log: there is nothing to report")
    made = bug_report(report)
    text = f"{made.title}\n\n{made.body}"
    if options.output:
        Path(options.output).write_text(text, encoding="utf-8")
    else:
        from ...render.encoding import encodable

        sys.stdout.write(encodable(text, sys.stdout.encoding or "utf-8"))
    _advise(report)
    warn(f"read it, add what is missing, and paste it at {TRACKER} (the first line is the title)")
    return 0


def _advise(report: Report) -> None:
    if report.bucket not in OURS and report.confidence >= SURE and report.fixes:
        fix = report.fixes[0]
        warn(f"this may be no bug of vLLM; try first: {fix.change or fix.title}")
