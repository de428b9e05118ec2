"""Logs that are still being written, from the command line: followed, or piped in on a terminal."""

from __future__ import annotations

import os
import sys

from .messages import EXIT_CLEAN, EXIT_FAILURE, EXIT_INTERRUPTED, complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import IO

LIVE_FORMATS = ("text", "json", "jsonl")
"""Formats of a followed log: text for people, or events."""


def wants_live(options: Namespace, files: list[str]) -> bool:
    """Return whether a log is to be read as it comes: where that was asked for, and where people watch it pass by.

    Off a terminal a pipe is read to its end and answered once.
    """
    if options.follow:
        return True
    piped = files == ["-"] and options.format == "text" and not options.join and not options.only_command
    return (
        piped
        and sys.platform != "win32"
        and _terminal(sys.stdout)
        and sys.stdin is not None
        and not _terminal(sys.stdin)
    )


def watch(options: Namespace, path: str) -> int:
    """Read a log as it comes; return the exit code."""
    from ...classifier.errors import InputError

    if problem := _misuse(options):
        return complain(problem)
    try:
        return _watch(options, path)
    except InputError as error:
        return complain(str(error))


def color(asked: str, file: IO[str]) -> str:
    """Return whether text for a file is coloured: ``always`` or ``never``, as was asked for or as the terminal takes it."""
    if asked != "auto":
        return asked
    if os.environ.get("NO_COLOR"):
        return "never"
    return "always" if os.environ.get("FORCE_COLOR") or _terminal(file) else "never"


def _misuse(options: Namespace) -> str:
    """Return what is wrong with the options; "" where nothing is."""
    many = options.join or len(options.files) > 1
    complaints = (
        (options.ask_dry_run, "--ask-dry-run takes a log that has ended"),
        (sys.platform == "win32", "--follow needs a POSIX system"),
        (options.follow and many, "--follow takes one log: a file, or - for standard input"),
        (
            options.format not in LIVE_FORMATS,
            f"--follow answers as {', '.join(LIVE_FORMATS)}, not as {options.format}",
        ),
        (
            options.tee and options.format != "text",
            "--tee writes the log where --format would write events: give one of the two",
        ),
    )
    return next((text for met, text in complaints if met), "")


def _watch(options: Namespace, path: str) -> int:
    from ...classifier.api import Triage
    from ...classifier.question import Question
    from ...classifier.standstill.patience import parse
    from ..live.analyser import Task
    from ..live.shape import Shape
    from ..live.stream import Stream, watch_stream

    question = Question(
        command=options.command,
        vllm_version=options.vllm_version,
        min_confidence=options.min_confidence,
        only=options.only,
        ignore=options.ignore,
        engine=options.engine,
    )
    # What cannot be answered is told before the log is read, not when it has ended.
    Triage(options.rules, engine=options.engine, model=options.model).check(question)
    parse(options.patience)
    shape = Shape(
        "follow" if options.follow else "pipe",
        color(options.color, sys.stdout),
        100,
        options.verbose,
        options.form,
        path,
        options.explain,
    )
    questions = None
    if options.ask or os.environ.get("VLLM_TRIAGE_ASK"):
        from .asking import questions_of

        questions = questions_of(options)
    task = Task(question, shape, tuple(options.rules), options.model, tuple(options.patience), questions=questions)
    keep = not options.follow and not options.no_keep
    passes = options.tee if options.follow else not options.quiet
    broken_off, end, problem = watch_stream(Stream(task, path, passes, keep, options.format != "text"))
    if broken_off:
        return EXIT_INTERRUPTED
    if end is None:
        return complain(f"no answer: {problem}")
    if end["report"] is None:
        return complain(end["problem"])
    return EXIT_FAILURE if end["failed"] and not options.exit_zero else EXIT_CLEAN


def _terminal(file: IO[str] | None) -> bool:
    try:
        return file is not None and file.isatty()
    except ValueError:  # closed
        return False
