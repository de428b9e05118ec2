"""``vllm-triage run -- COMMAND``: starts a server, passes its output through, explains its failure below it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....classifier.errors import InputError
from ..arguments import add_ask, add_engine, add_patience, add_rules
from ..live import color
from ..messages import complain
from ..parser import Parser

if TYPE_CHECKING:
    from ....classifier.question import Question
    from ...ask.questions import Questions

EPILOG = """\
examples:
  vllm-triage run -- vllm serve MODEL
  vllm-triage run --log-file server.log --on-failure ./page-me -- vllm serve MODEL
  ENTRYPOINT ["vllm-triage", "run", "--", "vllm", "serve"]

The exit code is the command's own. 126 and 127: it cannot be run, as in shells; 2: misuse of this command.
"""


def run(words: Sequence[str]) -> int:  # noqa: PLR0911 - each refusal has its own words
    """Run a command; return its exit code."""
    ours, command = _split(list(words))
    try:
        options = _parser().parse_args(ours)
    except SystemExit as stop:
        return int(stop.code or 0)
    if sys.platform == "win32":
        return complain("run needs a POSIX system; on Windows use: vllm serve … 2>&1 | vllm-triage -")
    if not command:
        return complain("nothing to run: vllm-triage run -- vllm serve MODEL")
    if options.retry < 0:
        return complain(f"--retry {options.retry} is not a number of attempts")
    from ....classifier.standstill.patience import parse
    from ...live.analyser import Task
    from ...live.run import Wanted
    from ...live.run import run as live
    from ...live.shape import Shape

    try:
        parse(options.patience)
        task = Task(
            _question(options, command),
            Shape("run", color(options.color, sys.stderr), 100, options.verbose, options.form),
            tuple(options.rules),
            options.model,
            tuple(options.patience),
            options.inspect,
            _questions(options),
        )
        _check(task.rules)
    except InputError as error:
        return complain(str(error))
    wanted = Wanted(
        tuple(command),
        task,
        log_file=options.log_file,
        json_events=options.json_events,
        on_failure=options.on_failure,
        termination_log=options.termination_log,
        prompt=options.prompt,
        retry=options.retry,
        yes=options.yes,
        status=not options.no_status,
    )
    try:
        return live(wanted)
    except OSError as error:
        return complain(f"{error.filename or options.json_events}: cannot be written ({error.strerror})")


def _parser() -> argparse.ArgumentParser:
    from ....classifier.command import FORMS

    made = Parser(
        prog="vllm-triage run",
        usage="vllm-triage run [options] -- COMMAND [ARGUMENT …]",
        description="Start a server through this command: its output, signals and exit code stay what they are; when it "
        "dies or stands still, the diagnosis follows below.",
        epilog=EPILOG,
    )
    add = made.add_argument
    add("--log-file", default="", metavar="FILE", help="also write the output to this file")
    add(
        "--json-events",
        default="",
        metavar="FILE",
        help="write what becomes known to FILE, a JSON object a line; - is stderr",
    )
    add("--on-failure", default="", metavar="COMMAND|URL", help="run this, or POST to it, with the report as JSON")
    add("--termination-log", default="", metavar="FILE", help="write the verdict here in short (/dev/termination-log)")
    told = "where it fails, write the evidence and the question here, to paste into an assistant (docs/pack.md)"
    add("--prompt", default="", metavar="FILE", help=told)
    add(
        "--retry",
        type=int,
        default=0,
        metavar="N",
        help="up to N times, offer to start again with the corrected command",
    )
    add("--yes", action="store_true", help="do so without asking")
    add("--inspect", action="store_true", help="where it stands still, look at stacks (py-spy) and GPUs (nvidia-smi)")
    add("--no-status", action="store_true", help="no status row on a terminal")
    add_patience(made)
    add("-v", "--verbose", action="store_true", help="show all evidence, facts and fixes")
    shape = "form of the corrected start command in the text (default: shell)"
    add("--as", dest="form", choices=FORMS, default="shell", help=shape)
    add("--color", choices=("auto", "always", "never"), default="auto", help="colours of the diagnosis")
    add("--vllm-version", default="", metavar="X.Y.Z", help="the vLLM release to advise for (default: the log's)")
    add_rules(made)
    add_engine(made)
    add_ask(made)
    return made


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Return our own options, and the command: what follows ``--``, or the first word that is no option of ours."""
    if "--" in words:
        at = words.index("--")
        return words[:at], words[at + 1 :]
    flags = {option: action.nargs for action in _parser()._actions for option in action.option_strings}  # noqa: SLF001
    at = 0
    while at < len(words) and words[at].startswith("-"):
        takes_value = "=" not in words[at] and flags.get(words[at], 0) is None
        at += 2 if takes_value else 1
    return words[:at], words[at:]


def _question(options: argparse.Namespace, command: Sequence[str]) -> Question:
    from ....classifier.question import Question

    told = shlex.join(command) if any("vllm" in word for word in command) else ""
    return Question(command=told, vllm_version=options.vllm_version, engine=options.engine)


def _questions(options: argparse.Namespace) -> Questions | None:
    if not options.ask and not os.environ.get("VLLM_TRIAGE_ASK"):
        return None
    from ..asking import questions_of

    return questions_of(options)


def _check(rules: Sequence[str]) -> None:
    from pathlib import Path

    for path in rules:
        if not Path(path).exists():
            raise InputError(f"{path}: no such rule file or folder")
