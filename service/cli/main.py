"""The command ``vllm-triage``: wires arguments to the library and to the output formats."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from .messages import EXIT_CLEAN, EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_USAGE, complain, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from ...classifier.api import Triage
    from ...classifier.question import Question
    from ...classifier.report.model import Report
    from ..render.interface import Result
    from .asking import Second


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code (docs/output.md).

    Whatever goes wrong with ourselves or the output ends with 2 and one line: 1 always means that a failure was found.
    """
    # What is loaded now lives to the end: looking through it for garbage again and again is all that would be done.
    gc.set_threshold(200_000, 50, 50)
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    code = EXIT_CLEAN
    try:
        _have_streams(words)
        code = _command(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        _drop_output()
    except KeyboardInterrupt:
        if sys.stderr is not None and sys.stderr.isatty():
            warn("interrupted: no answer")
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - Python's own exit code would read as 'a failure was found'
        _drop_output()
        if debug:
            import traceback

            traceback.print_exc()
        return complain(_told(error))
    if arguments is None:
        # The process ends here: looking through everything for garbage once more takes a tenth of all its time.
        gc.freeze()
    return code


class OutputError(Exception):
    """Standard output cannot be written; the text says why."""


def _have_streams(words: list[str]) -> None:
    """Make sure that what is written goes where it should: a shell may have closed standard output or standard error."""
    if sys.stderr is None:
        # Else complaints would go to standard output.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - to the end of the process
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
        if words[:1] != ["serve"]:
            raise OutputError("standard output is closed: there is nowhere to write the answer")


def _command(words: list[str]) -> int:
    from .commands import COMMANDS

    if words[:1] in (["help"], ["version"]) and not os.path.exists(words[0]):  # noqa: PTH110 - it loads nothing
        words = [*words[1:2], "-h"] if words[0] == "help" else ["--version"]
    if not words or words[0] not in COMMANDS:
        return _triage(words)
    module: Any = import_module(f".commands.{COMMANDS[words[0]][0]}", __package__)
    return int(module.run([word for word in words[1:] if word != "--debug"]))


def _drop_output() -> None:
    """Have what is still to be written go nowhere: Python would complain once more when it flushes at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _told(error: Exception) -> str:
    if isinstance(error, OutputError):
        return str(error)
    if isinstance(error, OSError) and error.filename is None and error.strerror:
        # Files that are read have errors of their own: this is where the answer goes.
        return f"the answer cannot be written: {error.strerror}"
    from ...classifier.report.shown import shown

    return f"internal error, please report it: {type(error).__name__}: {shown(str(error))} (--debug shows where)"


def _triage(words: list[str]) -> int:  # noqa: PLR0911 - each way out has its own words
    from .arguments import parser

    try:
        options = parser().parse_args(words)
    except SystemExit as stop:  # argparse ends the process itself: 0 after --help, 2 on misuse
        return int(stop.code or 0)
    if options.version:
        from ...classifier.version import version

        print(f"vllm-triage {version()}")
        return EXIT_CLEAN
    files = options.files or ["-"]
    from .live import wants_live

    if wants_live(options, files):
        from .live import watch

        return watch(options, files[0])
    if sys.stdin is None or sys.stdin.isatty():
        if not options.files:
            parser().print_help()
            return EXIT_USAGE
        if "-" in files:
            hint = "pipe a log in (vllm serve … 2>&1 | vllm-triage -) or name a file"
            return complain(f"standard input is {'closed' if sys.stdin is None else 'a terminal'}: {hint}")
    from ...classifier.errors import InputError

    try:
        if options.lines or options.find:
            from .look import show_lines

            return show_lines(files, options)
        return _run(files, options)
    except InputError as error:
        return complain(str(error))


def _run(files: list[str], options: Namespace) -> int:
    from ...classifier.api import Triage
    from ...classifier.errors import InputError
    from ...classifier.question import Question
    from ..batch.many import is_many
    from ..render.interface import Options, Result, render

    if files.count("-") > 1:
        return complain("standard input (-) can be read once")
    question = Question(
        command=options.command,
        vllm_version=options.vllm_version,
        min_confidence=options.min_confidence,
        only=options.only,
        ignore=options.ignore,
        engine=options.engine,
    )
    if not options.join and any(map(is_many, files)):
        from .many import answer_many

        return answer_many(files, question, options)
    triage = Triage(options.rules, engine=options.engine, model=options.model)
    triage.check(question)
    for problem in triage.corpus.problems:
        warn(f"rule file left out: {problem}")
    second = _second(triage, options)
    results, unread = [], []
    groups = [files] if options.join else [[name] for name in files]
    for group in groups:
        name = " + ".join(group)
        try:
            results.append(Result(name, _report(second or triage, group, question)))
        except InputError as error:
            if len(groups) == 1:
                raise InputError(_with_hint(str(error), name)) from None
            warn(_with_hint(str(error), name))
            unread.append((name, str(error)))
    shape = Options(
        options.verbose,
        options.explain,
        options.color,
        # What goes into a file or a CI log need not fit on a screen.
        **({"links": os.environ.get("TERM") not in ("dumb", "linux")} if sys.stdout.isatty() else {"height": 0}),
        form=options.form,
        budget=options.budget,
        candidates=not options.no_candidates,
        unread=tuple(unread),
    )
    if options.ask_dry_run:
        from .asking import would_send

        _write(would_send(results, options))
    elif options.only_command:
        # What a script may run is the rules' alone.
        return _only_command(results, options)
    elif second is not None and options.format == "text":
        # The answer of the rules stands at once.
        _write(render("text", results, shape))
        from ..render.formats.text import added

        _write("".join(added(result.report, shape) for result in second.again(results, question)))
    else:
        results = second.again(results, question) if second else results
        _write(render(options.format, results, shape) if results or unread else "")
    if unread:
        return EXIT_USAGE
    failed = any(result.report.failed for result in results)
    return EXIT_FAILURE if failed and not options.exit_zero else EXIT_CLEAN


def _second(triage: Triage, options: Namespace) -> Second | None:
    """Return who asks for a second opinion; None where nobody does."""
    if options.ask_dry_run or not (options.ask or os.environ.get("VLLM_TRIAGE_ASK")):
        return None
    from .asking import Second, questions_of

    questions = questions_of(options)
    return Second(triage, questions) if questions is not None else None


def _only_command(results: list[Result], options: Namespace) -> int:
    commands = [result.report.command_as(options.form) for result in results]
    for result, command in zip(results, commands, strict=True):
        if not command:
            warn(f"{result.name}: no corrected command ({result.report.cause}); leave --only-command out")
    _write("".join(f"{command}\n" for command in commands if command))
    return EXIT_CLEAN if all(commands) else EXIT_USAGE


def _report(triage: Triage | Second, names: list[str], question: Question) -> Report:
    from ...classifier.input.read import LogFile, join_sources

    if names == ["-"]:
        return _report_of_pipe(triage, question)
    if len(names) == 1:
        from .progress import watched

        return triage.report(watched(names[0]), question)
    sources = [sys.stdin.buffer if name == "-" else LogFile(name) for name in names]
    return triage.report(join_sources(sources), question)


def _report_of_pipe(triage: Triage | Second, question: Question) -> Report:
    from ...classifier.errors import InputError
    from ...classifier.input.read import Chunks
    from .pipe import Pipe

    with Pipe(sys.stdin.buffer) as pipe:
        try:
            report = triage.report(Chunks(pipe.chunks()), question)
        except InputError:
            if pipe.interrupted and not pipe.received:
                raise KeyboardInterrupt from None
            raise
    if pipe.interrupted:
        return report.with_note("Reading was interrupted (Ctrl-C); the answer is for what had been read.")
    return report


def _write(text: str) -> None:
    """Write the answer. A reader that closes the pipe has seen enough: the exit code stays that of the answer."""
    from ..render.encoding import encodable

    try:
        sys.stdout.write(encodable(text, sys.stdout.encoding or "utf-8"))
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()


def _with_hint(problem: str, name: str) -> str:
    """Return what is wrong with an input, with its name; where that is all but a command's, with that command."""
    if "no such file" in problem and not any(sign in name for sign in "./\\"):
        from difflib import get_close_matches

        from .commands import COMMANDS

        if near := get_close_matches(name, COMMANDS, 1, 0.7):
            return f"{name}: no such file, and no such command; did you mean vllm-triage {near[0]}?"
    return problem if name in problem else f"{'standard input' if name == '-' else name}: {problem}"
