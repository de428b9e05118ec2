"""The command ``vllm-triage``: wires arguments to the library and to the output formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

EXIT_CLEAN, EXIT_FAILURE, EXIT_USAGE = 0, 1, 2

COMMANDS = {
    "explain": ("explain", "say what a bucket or a cause is, and how it is fixed"),
    "rules": ("rules", "list the rules"),
    "completion": ("completion", "print a completion script for a shell"),
}
"""Sub-command to its module in service/commands and its help line."""

GRACE = 5.0
"""Seconds that the log may still go on after the first Ctrl-C: the server at the other end of the pipe is stopping too."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code (0 no failure found, 1 a failure found, 2 usage or input error)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words and words[0] in COMMANDS:
            command: Any = import_module(f".commands.{COMMANDS[words[0]][0]}", __package__)
            code = int(command.run(words[1:]))
        else:
            code = _triage(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CLEAN
    except KeyboardInterrupt:
        return 130
    return code


def parser() -> Any:
    """Return the argument parser of the main command."""
    import argparse

    def formatter(prog: str) -> argparse.HelpFormatter:
        # argparse makes one for every argument; left to itself it asks for the terminal's width each time, which costs 3 ms.
        return argparse.RawDescriptionHelpFormatter(prog, width=int(os.environ.get("COLUMNS") or 100))

    names = "\n".join(f"  vllm-triage {name:<12} {text}" for name, (_, text) in COMMANDS.items())
    made = argparse.ArgumentParser(
        prog="vllm-triage",
        formatter_class=formatter,
        description="Read a vLLM log; name the root cause, the lines that prove it, and what to change.",
        epilog=f"examples:\n  vllm serve MODEL 2>&1 | vllm-triage -\n  vllm-triage server.log --format json\n  kubectl logs POD --previous | vllm-triage -\n\n"
        f"further commands (-h after each):\n{names}\n\nexit codes: 0 no failure found, 1 a failure found, 2 usage or input error",
    )
    made.add_argument("files", nargs="*", metavar="FILE", help="log files, plain, gzip or zstd; - reads standard input")
    made.add_argument(
        "-f",
        "--format",
        choices=("text", "json", "jsonl", "markdown"),
        default="text",
        help="output format (default: text)",
    )
    made.add_argument("-v", "--verbose", action="store_true", help="show all evidence, facts and fixes")
    made.add_argument("--explain", action="store_true", help="show which rules fired and what outranked what")
    made.add_argument(
        "--join",
        action="store_true",
        help="read several files as one log, in the order given (stdout and stderr apart)",
    )
    made.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="answer only with this bucket or bucket/cause (repeatable)",
    )
    made.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="ID",
        help="never answer with this bucket, bucket/cause or rule (repeatable)",
    )
    made.add_argument(
        "--min-confidence",
        type=_share,
        default=0.0,
        metavar="P",
        help="answer 'unknown' below this confidence (0 to 1)",
    )
    made.add_argument(
        "--rules", action="append", default=[], metavar="FOLDER", help="add the rule files of a folder (repeatable)"
    )
    made.add_argument("--exit-zero", action="store_true", help="exit with 0 when a failure was found, too")
    made.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours (default: on a terminal; NO_COLOR, FORCE_COLOR)",
    )
    made.add_argument("--version", action="store_true", help="print the version and exit")
    return made


def _share(text: str) -> float:
    import argparse

    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return value


def _triage(words: list[str]) -> int:
    made = parser()
    try:
        options = made.parse_args(words)
    except SystemExit as stop:  # argparse ends the process itself: 0 after --help, 2 on misuse
        return int(stop.code or 0)
    if options.version:
        print(f"vllm-triage {version()}")
        return EXIT_CLEAN
    files = options.files
    if not files:
        if sys.stdin is None or sys.stdin.isatty():
            made.print_help()
            return EXIT_USAGE
        files = ["-"]
    if files.count("-") and sys.stdin is not None and sys.stdin.isatty():
        return _complain(
            "standard input is a terminal: pipe a log in (vllm serve … 2>&1 | vllm-triage -) or name a file"
        )
    from ..classifier.errors import InputError

    try:
        return _run(files, options)
    except InputError as error:
        return _complain(str(error))


def _run(files: list[str], options: Any) -> int:
    from ..classifier.api import Triage
    from ..classifier.errors import InputError
    from .render.interface import Options, Result, render

    for folder in options.rules:
        if not os.path.isdir(folder):
            return _complain(f"--rules {folder}: no such folder")
    engine = Triage(options.rules, options.only, options.ignore)
    known = {
        *engine.corpus.buckets(),
        *(rule.id for rule in engine.corpus.rules),
        *(f"{rule.bucket}/{rule.cause}" for rule in engine.corpus.rules),
    }
    for name in [*options.only, *options.ignore]:
        if name not in known:
            return _complain(f"{name!r} is no bucket, cause or rule (vllm-triage rules lists them)")
    for problem in engine.corpus.problems:
        print(f"vllm-triage: rule file left out: {problem}", file=sys.stderr)
    results, failed = [], False
    groups = [files] if options.join else [[name] for name in files]
    for group in groups:
        try:
            diagnosis = _diagnose(engine, group)
        except InputError as error:
            if len(groups) == 1:
                raise
            _complain(str(error))
            failed = True
            continue
        if options.min_confidence and diagnosis.failed and diagnosis.confidence < options.min_confidence:
            _withhold(diagnosis, options.min_confidence)
        results.append(Result(" + ".join(group), diagnosis))
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    if results:
        sys.stdout.write(render(options.format, results, Options(options.verbose, options.explain, options.color)))
    if failed:
        return EXIT_USAGE
    return EXIT_FAILURE if any(result.diagnosis.failed for result in results) and not options.exit_zero else EXIT_CLEAN


def _diagnose(engine: Any, names: list[str]) -> Any:
    from ..classifier.read import LogFile, join_sources

    if names == ["-"]:
        return _diagnose_pipe(engine)
    if len(names) == 1:
        return engine.diagnose(LogFile(names[0]))
    return engine.diagnose(join_sources([sys.stdin.buffer if name == "-" else LogFile(name) for name in names]))


def _diagnose_pipe(engine: Any) -> Any:
    """Read standard input to its end; Ctrl-C ends the reading, not the answer."""
    import time

    interrupted: list[float] = []

    def note(_signal: int, _frame: FrameType | None) -> None:
        if interrupted:
            raise KeyboardInterrupt
        interrupted.append(time.monotonic())

    def chunks() -> Iterator[bytes]:
        file = sys.stdin.buffer
        while True:
            try:
                data = file.read1(1 << 20)
            except KeyboardInterrupt:
                return
            if not data:
                return
            yield data
            if interrupted and time.monotonic() - interrupted[0] > GRACE:
                return

    with _on_interrupt(note):
        from ..classifier.read import Chunks

        answer = engine.diagnose(Chunks(chunks()))
    if interrupted:
        answer.notes.append("Reading was interrupted (Ctrl-C); the answer is for what had been read.")
    return answer


class _on_interrupt:  # noqa: N801 - used as a statement
    """Replaces the Ctrl-C handler for the length of a block (main thread only)."""

    def __init__(self, handler: Callable[[int, FrameType | None], None]) -> None:
        self._handler = handler
        self._previous: Any = None

    def __enter__(self) -> None:
        import signal

        try:
            self._previous = signal.signal(signal.SIGINT, self._handler)
        except ValueError:  # not in the main thread
            self._previous = None

    def __exit__(self, *_details: object) -> None:
        if self._previous is not None:
            import signal

            signal.signal(signal.SIGINT, self._previous)


def _withhold(diagnosis: Any, least: float) -> None:
    """Turn an answer that is less sure than asked for into «unknown», the guess kept as the nearest candidate."""
    diagnosis.alternatives.insert(0, (diagnosis.bucket, diagnosis.confidence))
    diagnosis.notes.append(f"The best guess, {diagnosis.cause}, is below the confidence asked for ({least:g}).")
    diagnosis.bucket, diagnosis.cause, diagnosis.decided_by = "unknown", "unknown/below_threshold", "none"
    diagnosis.title, diagnosis.fixes = "No answer with the confidence asked for", []


def version() -> str:
    """Return the installed version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("vllm-triage")
    except PackageNotFoundError:
        return "0 (not installed)"


def _complain(message: str) -> int:
    print(f"vllm-triage: {message}", file=sys.stderr)
    return EXIT_USAGE


def run() -> NoReturn:
    """Entry for ``python -m vllm_triage.service``."""
    sys.exit(main())
