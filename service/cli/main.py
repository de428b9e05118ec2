"""The command ``vllm-triage``: wires arguments to the library and to the output formats."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from .arguments import COMMANDS, parser

EXIT_CLEAN, EXIT_FAILURE, EXIT_USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code (0 no failure found, 1 a failure found, 2 usage or input error)."""
    # A thousand rules are loaded and live to the end: looking through them for garbage again and again is all it would do.
    gc.set_threshold(200_000, 50, 50)
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
    if arguments is None:
        # The process ends here: looking through everything for garbage once more takes a tenth of all its time.
        gc.freeze()
    return code


def _triage(words: list[str]) -> int:
    made = parser()
    try:
        options = made.parse_args(words)
    except SystemExit as stop:  # argparse ends the process itself: 0 after --help, 2 on misuse
        return int(stop.code or 0)
    if options.version:
        print(f"vllm-triage {version()}")
        return EXIT_CLEAN
    files = options.files or ["-"]
    if sys.stdin is None or sys.stdin.isatty():
        if not options.files:
            made.print_help()
            return EXIT_USAGE
        if "-" in files:
            hint = "pipe a log in (vllm serve … 2>&1 | vllm-triage -) or name a file"
            return _complain(f"standard input is a terminal: {hint}")
    from ...classifier.errors import InputError

    try:
        return _run(files, options)
    except InputError as error:
        return _complain(str(error))


def _run(files: list[str], options: Any) -> int:
    from ...classifier.api import Triage
    from ...classifier.errors import InputError
    from ..render.interface import Options, Result, render

    if files.count("-") > 1:
        return _complain("standard input (-) can be read once")
    for path in options.rules:
        if not os.path.exists(path):  # noqa: PTH110 - pathlib takes longer to import than all this to run
            return _complain(f"--rules {path}: no such file or folder")
    engine = Triage(
        options.rules, options.only, options.ignore, options.vllm_version, engine=options.engine, model=options.model
    )
    asked = [*options.only, *options.ignore]
    if asked and (strange := [name for name in asked if name not in _names(engine.corpus)]):
        return _complain(f"{strange[0]!r} is no bucket, cause or rule (vllm-triage rules lists them)")
    for problem in engine.corpus.problems:
        print(f"vllm-triage: rule file left out: {problem}", file=sys.stderr)
    results, unread = [], False
    groups = [files] if options.join else [[name] for name in files]
    for group in groups:
        try:
            diagnosis = _diagnose(engine, group)
        except InputError as error:
            if len(groups) == 1:
                raise
            _complain(str(error))
            unread = True
            continue
        if options.min_confidence and diagnosis.failed and diagnosis.confidence < options.min_confidence:
            _withhold(diagnosis, options.min_confidence)
        _set_command(diagnosis, options)
        results.append(Result(" + ".join(group), diagnosis))
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    if results:
        sys.stdout.write(render(options.format, results, Options(options.verbose, options.explain, options.color)))
    if unread:
        return EXIT_USAGE
    failed = any(result.diagnosis.failed for result in results)
    return EXIT_FAILURE if failed and not options.exit_zero else EXIT_CLEAN


def _names(corpus: Any) -> set[str]:
    """Return everything that --only and --ignore may name."""
    return {*corpus.buckets(), *corpus.causes(), *(rule.id for rule in corpus.rules)}


def _diagnose(engine: Any, names: list[str]) -> Any:
    from ...classifier.input.read import LogFile, join_sources

    if names == ["-"]:
        return _diagnose_pipe(engine)
    if len(names) == 1:
        return engine.diagnose(LogFile(names[0]))
    return engine.diagnose(join_sources([sys.stdin.buffer if name == "-" else LogFile(name) for name in names]))


def _diagnose_pipe(engine: Any) -> Any:
    from ...classifier.input.read import Chunks
    from .pipe import Pipe

    with Pipe(sys.stdin.buffer) as pipe:
        answer = engine.diagnose(Chunks(pipe.chunks()))
    if pipe.interrupted:
        answer.notes.append("Reading was interrupted (Ctrl-C); the answer is for what had been read.")
    return answer


def _withhold(diagnosis: Any, least: float) -> None:
    """Turn an answer that is less sure than asked for into «unknown», the guess kept as the nearest candidate."""
    diagnosis.alternatives.insert(0, (diagnosis.bucket, diagnosis.confidence))
    diagnosis.notes.append(f"The best guess, {diagnosis.cause}, is below the confidence asked for ({least:g}).")
    diagnosis.bucket, diagnosis.cause, diagnosis.decided_by = "unknown", "unknown/below_threshold", "none"
    diagnosis.title, diagnosis.fixes, diagnosis.corrected_command = "No answer with the confidence asked for", [], ""
    diagnosis.summary = diagnosis.confirm = diagnosis.refute = ""


def _set_command(diagnosis: Any, options: Any) -> None:
    """Correct the start command that the user gave, where one was given; choose the form that the text shows."""
    from ...classifier.advice.start_command import corrected_form, given_command

    if options.command:
        given_command(diagnosis, options.command)
    if options.form != "shell" and options.format == "text":
        diagnosis.corrected_command = corrected_form(diagnosis, options.form)


def version() -> str:
    """Return the installed version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("vllm-triage")
    except PackageNotFoundError:
        return "0 (not installed)"


def _complain(message: str) -> int:
    # Names of files come from strangers, too: no control sequence reaches the terminal.
    print("".join(letter if letter.isprintable() else "?" for letter in f"vllm-triage: {message}"), file=sys.stderr)
    return EXIT_USAGE


def run() -> NoReturn:
    """Entry for ``python -m vllm_triage.service``."""
    sys.exit(main())
