"""``vllm-triage train LOGS --out FOLDER``: a text model of your own labelled logs, on top of the shipped one. Offline."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..answered import answered
from ..arguments import add_rules
from ..messages import complain, warn
from ..parser import Parser

if TYPE_CHECKING:
    from ....training.user_model.training import Trained

LOGS = """\
LOGS is one of
  a folder with a sub-folder of logs for each bucket
  a folder of logs with labels.jsonl or labels.csv (columns file, bucket)
  a file of JSON lines, each with text (or file) and bucket
  what vllm-triage history export-feedback prints
A bucket that does not exist yet is made: use the ids of vllm-triage rules where one fits.

Secrets are masked before anything is read. The model holds checksums of words, no text of your logs; its buckets,
titles and counts stand there as they are. Nothing is sent anywhere.
"""
EXIT_GOOD = 0


def run(words: Sequence[str]) -> int:
    """Train, say how good it is, and write the model."""
    return answered(_parser(), words, _trained)


def _trained(options: argparse.Namespace) -> int:
    try:
        return _train(options)
    except OSError as error:
        return complain(f"{options.out}: {error.strerror}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("sklearn", "numpy", "scipy"):
            raise
        from ....classifier.extras import install

        return complain(f"training needs scikit-learn: {install('model')}")


def _parser() -> argparse.ArgumentParser:
    about = "Train a text model on logs of your own; it is asked where no rule decides, before the shipped model."
    parser = Parser(
        prog="vllm-triage train",
        description=about,
        epilog=f"{LOGS}\nexit codes: 0 done, 2 usage or input error",
    )
    add = parser.add_argument
    add("logs", nargs="+", type=Path, metavar="LOGS", help="labelled logs, see below")
    add("--out", type=Path, required=True, metavar="FOLDER", help="where the model goes: what --model names afterwards")
    add_rules(parser)
    add("--json", type=Path, metavar="FILE", help="write the figures and warnings as JSON")
    return parser


def _train(options: argparse.Namespace) -> int:
    from ....training.user_model.training import train_model

    done = train_model(options.logs, options.out, options.rules)
    for problem in done.problems:
        warn(f"rule file left out: {problem}")
    _tell(done)
    if options.json is not None:
        options.json.write_text(json.dumps(done.as_data(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return EXIT_GOOD


def _tell(done: Trained) -> None:
    from ....training.evaluate.statistics import interval
    from ....training.user_model.card import CARD

    made, checked, path = done.made, done.validation, done.path
    for warning in made.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    failures = len({row.group for row in made.rows})
    print(f"{len(made.rows)} logs of {failures} different failures ({made.copies} are copies of another)")
    right, otherwise = done.decided
    if right or otherwise:
        told = f"rules decide {right + otherwise} of them without asking a model, {otherwise} otherwise than labelled"
        print(f"{told}{' (a rule of your own, or --ignore, changes that)' if otherwise else ''}")
    # Where a rule decides the model is not asked: a low figure here is no loss there.
    print(
        "\nthe model alone, without rules, on failures that it was not trained on (copies of one failure stand on one side):"
    )
    width = max(len(bucket) for bucket in [*checked.per_bucket, "none of these"])
    for bucket, (good, named, logs) in checked.per_bucket.items():
        low, high = interval(good, logs)
        print(f"  {bucket:<{width}}  {good} of {logs} named ({low:.2f}–{high:.2f}), {named - good} others named so")
    print(f"  {'none of these':<{width}}  {checked.alarms} of {checked.beside} named as one of yours")
    print(f"\n{path}: answers from {done.threshold:.2f} on, and leaves all else to the shipped model")
    print(f"card: {path.with_name(CARD)}")
    print(f"use it: vllm-triage --model {path.parent} LOG, or set VLLM_TRIAGE_MODEL={path.parent}")
