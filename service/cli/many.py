"""Many logs on the command line: folders, patterns, archives and URLs, answered by several processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .messages import EXIT_CLEAN, EXIT_FAILURE, EXIT_USAGE, complain

if TYPE_CHECKING:
    from argparse import Namespace

    from ...classifier.question import Question
    from ..batch.log import Log
    from ..batch.work import Answered
    from ..render.interface import Result

FEW = 48
"""Logs up to which processes of their own would take longer to start than the logs to read."""
CHUNK = 16
"""Logs handed over at a time."""


def answer_many(files: list[str], question: Question, options: Namespace) -> int:
    """Answer every log that the sources hold, in their order; return the exit code.

    Raises:
        InputError: A source is not there.
    """
    from ..batch.asking import Asking, triage_of
    from ..batch.chunks import chunked
    from ..batch.engines.local import Here, Processes
    from ..batch.sources import count, find
    from ..batch.work import Answer
    from .messages import warn
    from .progress import bar

    if "-" in files:
        return complain("standard input (-) is one log: it cannot be read beside folders, patterns and archives")
    if options.only_command:
        return complain(
            "--only-command takes single logs: a folder's failures have a command each (--format json has them)"
        )
    asking = Asking(question, tuple(options.rules), options.model)
    triage = triage_of(asking)
    triage.check(question)
    for problem in triage.corpus.problems:
        warn(f"rule file left out: {problem}")
    total, jobs = count(files), options.jobs or os.cpu_count() or 1
    engine = Here() if jobs == 1 or (total is not None and total <= FEW) else Processes(jobs)
    places: dict[str, int] = {}
    with bar("reading logs", total) as show:
        chunks = chunked(_noted(find(files), places), CHUNK)
        answers = _in_order(engine.run(Answer(asking), chunks), places)
        return _shown(_counted(answers, show), options)


def _noted(logs: Iterable[Log], places: dict[str, int]) -> Iterator[Log]:
    """Yield the logs, each once, and note the place of each."""
    for log in logs:
        if log.name not in places:
            places[log.name] = len(places)
            yield log


def _in_order(answers: Iterable[tuple[Answered, ...]], places: dict[str, int]) -> Iterator[Answered]:
    """Yield the answers in the order in which the logs were listed, as soon as those before them are there."""
    early: dict[int, Answered] = {}
    turn = 0
    for some in answers:
        early |= {places[answer.name]: answer for answer in some}
        while turn in early:
            yield early.pop(turn)
            turn += 1


def _counted(answers: Iterable[Answered], show: object) -> Iterator[Answered]:
    from ..render.words import is_foreign

    failed = 0
    for number, answer in enumerate(answers, 1):
        failed += answer.report is not None and answer.report.failed and not is_foreign(answer.report)
        if callable(show):
            show(number, f"{failed:,} failed")
        yield answer


def _shown(answers: Iterable[Answered], options: Namespace) -> int:
    from ..render.encoding import encodable
    from ..render.interface import Options, Result, render
    from ..render.words import is_foreign
    from .messages import warn

    def write(results: list[Result], unread: list[tuple[str, str]]) -> None:
        shape = Options(
            options.verbose, options.explain, options.color, height=0, form=options.form, unread=tuple(unread)
        )  # fmt: skip
        if options.format == "text" and not options.verbose and len(results) + len(unread) != 1:
            from ..render.overview import overview

            text = overview(results, shape)
        else:
            text = render(options.format, results, shape)
        sys.stdout.write(encodable(text, sys.stdout.encoding or "utf-8"))
        sys.stdout.flush()

    results: list[Result] = []
    unread: list[tuple[str, str]] = []
    failed, foreign, logs = False, 0, 0
    for answer in answers:
        logs += 1
        if answer.report is None:
            unread.append((answer.name, answer.problem))
            continue
        foreign += is_foreign(answer.report)
        failed = failed or (answer.report.failed and not is_foreign(answer.report))
        results.append(Result(answer.name, answer.report))
        if options.format == "jsonl":
            # A line for each log as it comes: there may be more of them than memory holds.
            write(results, [])
            results = []
    for name, problem in unread:
        warn(f"{name}: {problem}")
    if results or unread or (not logs and options.format != "text"):
        write(results, unread)
    if foreign + len(unread) == logs and (foreign or not logs):
        where = (
            f"none of the {logs:,} files is a vLLM log" if logs else "no logs (hidden files, .md, .yaml … are left out)"
        )
        return complain(f"{' '.join(options.files)}: {where}")
    if unread:
        return EXIT_USAGE
    return EXIT_FAILURE if failed and not options.exit_zero else EXIT_CLEAN
