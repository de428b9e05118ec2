"""What the main command takes: its argument parser, which help, completion scripts and docs are made from."""

from __future__ import annotations

import argparse

from ...classifier.command import FORMS
from ...classifier.question import ENGINES
from ...classifier.report.pack.model import LARGEST, LEAST
from ..render.interface import names
from .commands import COMMANDS
from .parser import Parser

__all__ = ["COMMANDS", "parser"]

EXAMPLES = """\
examples:
  vllm-triage run -- vllm serve MODEL
  vllm serve MODEL 2>&1 | vllm-triage -
  docker logs -f CONTAINER 2>&1 | vllm-triage - --follow
  vllm-triage server.log --format json
  kubectl logs POD --previous | vllm-triage -
"""
LOGS = "logs, plain or packed (gzip, zstd, xz, bzip2); folders, patterns and archives (tar, zip) of them; - reads standard input"
EXIT_CODES = "exit codes: 0 no failure found, 1 a failure found, 2 usage or input error"


def parser() -> argparse.ArgumentParser:
    """Return the argument parser of the main command."""
    commands = "\n".join(f"  {name:<12}  {text}" for name, (_, text) in COMMANDS.items())
    made = Parser(
        prog="vllm-triage",
        description="Read a vLLM log; name the root cause, the lines that prove it, and what to change.",
        epilog=f"{EXAMPLES}\ncommands (-h after each):\n{commands}\n\n{EXIT_CODES}",
    )
    add = made.add_argument
    add("files", nargs="*", metavar="FILE", help=LOGS)
    add("-f", "--format", choices=names(), default="text", help="output format (default: text)")
    add("-v", "--verbose", action="store_true", help="show all evidence, facts and fixes")
    add("--explain", action="store_true", help="show which rules fired and what outranked what")
    add(
        "--join",
        action="store_true",
        help="read several files as one log, in the order given (stdout and stderr apart)",
    )
    only = "only this bucket or bucket/cause counts as a failure: others are reported, and end with 0"
    ignore = "this bucket, bucket/cause or rule is not a failure: it is reported as ignored, and ends with 0"
    add("--only", action="append", default=[], metavar="ID", help=f"{only} (repeatable)")
    add("--ignore", action="append", default=[], metavar="ID", help=f"{ignore} (repeatable)")
    below = "answer 'unknown' below this confidence (0 to 1)"
    add("--min-confidence", type=share, default=0.0, metavar="P", help=below)
    add_rules(made)
    add_engine(made)
    start = "the start command, where the log does not have it: vllm serve, docker run, a compose file or a manifest"
    add("--command", default="", metavar="TEXT", help=start)
    release = "the vLLM release to advise for (default: the log's; else the newest known)"
    add("--vllm-version", default="", metavar="X.Y.Z", help=release)
    add_live(made)
    add_ask(made)
    dry = "print what would be sent to the model, and end"
    add("--ask-dry-run", action="store_true", help=dry)
    shape = "form of the corrected start command in the text (default: shell)"
    add("--as", dest="form", choices=FORMS, default="shell", help=shape)
    only_command = (
        "print nothing but the corrected start command, in the form of --as (exit code 2 where there is none)"
    )
    add("--only-command", action="store_true", help=only_command)
    lines = "show these lines of the log instead of an answer: 100-180, 100 or 100- (masked, numbered)"
    add("--lines", default="", metavar="N-M", help=lines)
    add("--find", default="", metavar="TEXT", help="show the lines that hold a text instead of an answer")
    add("--process", default="", metavar="NAME", help="with --lines and --find: only those of this process")
    size = "characters of --lines, --find and --format prompt and pack, 500 to 60000 (default: 14000)"
    add("--budget", type=budget, default=14_000, metavar="N", help=size)
    add("--no-candidates", action="store_true", help="leave out of a prompt or pack what rules propose, unchecked")
    jobs = "processes for folders, patterns and archives (default: one for each processor)"
    add("-j", "--jobs", type=jobs_of, default=0, metavar="N", help=jobs)
    add("--exit-zero", action="store_true", help="exit with 0 when a failure was found, too")
    colors = "colours (default: on a terminal; NO_COLOR, FORCE_COLOR)"
    add("--color", choices=("auto", "always", "never"), default="auto", help=colors)
    add("--debug", action="store_true", help="show where an internal error came from")
    add("-V", "--version", action="store_true", help="print the version and exit")
    return made


def add_rules(made: argparse.ArgumentParser) -> None:
    """Add ``--rules``, which several commands have."""
    text = "add the rule files of a folder, or one rule file (repeatable)"
    made.add_argument("--rules", action="append", default=[], metavar="PATH", help=text)


def add_engine(made: argparse.ArgumentParser) -> None:
    """Add ``--engine`` and ``--model``, which several commands have."""
    decides = "what decides: rules, then the text model where none does (auto, default); rules alone; the model alone"
    made.add_argument("--engine", choices=ENGINES, default="auto", help=decides)
    folder = "a text model of your own, as vllm-triage train makes it (default: VLLM_TRIAGE_MODEL)"
    made.add_argument("--model", default="", metavar="FOLDER", help=folder)


def add_live(made: argparse.ArgumentParser) -> None:
    """Add the options of logs that are still being written."""
    add = made.add_argument
    add(
        "--follow",
        action="store_true",
        help="read on while the log is written; report a cause as soon as it is certain",
    )
    add("--tee", action="store_true", help="with --follow: show the log as well")
    add("--quiet", action="store_true", help="on a terminal: do not show the log that is piped in, only how far it is")
    add("--no-keep", action="store_true", help="on a terminal: do not keep the log that is piped in")
    add_patience(made)


def add_patience(made: argparse.ArgumentParser) -> None:
    """Add ``--patience``, which every way to read a log that is still being written has."""
    text = "how long a stage may be silent (weights=900, in seconds), or a factor for all of them (x2); repeatable"
    made.add_argument("--patience", action="append", default=[], metavar="WHAT", help=text)


def add_ask(made: argparse.ArgumentParser) -> None:
    """Add ``--ask`` and what goes with it."""
    add = made.add_argument
    text = "ask a model for a second opinion: the URL of an OpenAI-compatible endpoint (default: VLLM_TRIAGE_ASK), and when: auto, always, never (repeatable)"
    add("--ask", action="append", default=[], metavar="URL|WHEN", help=text)
    add(
        "--ask-model",
        default="",
        metavar="NAME",
        help="its name there (default: VLLM_TRIAGE_ASK_MODEL, else the first)",
    )


def jobs_of(text: str) -> int:
    """Return a number of processes.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)


def budget(text: str) -> int:
    """Return the characters of a pack.

    Raises:
        argparse.ArgumentTypeError: It is not a number, or out of bounds.
    """
    if not text.isdigit() or not LEAST <= int(text) <= LARGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of characters from {LEAST} to {LARGEST}")
    return int(text)


def share(text: str) -> float:
    """Return a number from 0 to 1.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return value
