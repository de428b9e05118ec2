"""``vllm-triage train LOGS --out FOLDER``: a text model of one's own labelled logs, on top of the shipped one. Offline."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..answered import answered
from ..arguments import add_rules
from ..messages import complain, warn
from ..parser import Parser

if TYPE_CHECKING:
    from ....training.user_model.training_set import OwnSet
    from ....training.user_model.validate import Validation

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
    from ....classifier.api import Triage
    from ....classifier.errors import InputError
    from ....training.examples.labelled import read_cases
    from ....training.user_model.export import write
    from ....training.user_model.fit import fit_user_model
    from ....training.user_model.negatives import background, negatives
    from ....training.user_model.training_set import own_set
    from ....training.user_model.validate import validate

    import_needed()
    cases = read_cases(options.logs)
    # The rules alone: what the model is not asked about.
    rules = Triage(options.rules, engine="rules")
    for problem in rules.corpus.problems:
        warn(f"rule file left out: {problem}")
    made = own_set(cases, rules.corpus.buckets())
    if not made.rows:
        raise InputError("; ".join(["nothing to train on", *made.warnings]))
    if not any(bucket not in ("no_failure", "unknown") for bucket in made.buckets):
        raise InputError("nothing to train on: no log is labelled with a failure")
    against = negatives(background(), made.buckets)
    checked, temperature, threshold = validate(made.rows, against)
    model = fit_user_model(made.rows, against)
    model.temperature, model.threshold = temperature, threshold
    path = write(model, options.out, made, checked)
    decided = _decided(made, rules)
    _tell(made, checked, decided, path, threshold)
    if options.json is not None:
        data = {"logs": len(made.rows), "copies": made.copies, "warnings": made.warnings, "validation": checked.as_data(),
                "threshold": threshold, "rules": {"right": decided[0], "otherwise": decided[1]}}  # fmt: skip
        options.json.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return EXIT_GOOD


def import_needed() -> None:
    """Fail before the work where scikit-learn is not installed."""
    import sklearn.linear_model  # noqa: F401


def _decided(made: OwnSet, rules: Any) -> tuple[int, int]:
    """Return how many of the logs rules decide as labelled, and otherwise: there the model is never asked."""
    from ....training.progress import track

    right = otherwise = 0
    for row in track(made.rows, "asking the rules"):
        found = rules.report(row.case.source)
        if found.decided_by == "rule":
            right += found.bucket in (row.bucket, *row.case.also)
            otherwise += found.bucket not in (row.bucket, *row.case.also)
    return right, otherwise


def _tell(made: OwnSet, checked: Validation, decided: tuple[int, int], path: Path, threshold: float) -> None:
    from ....training.evaluate.statistics import interval

    for warning in made.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    failures = len({row.group for row in made.rows})
    print(f"{len(made.rows)} logs of {failures} different failures ({made.copies} are copies of another)")
    right, otherwise = decided
    if right or otherwise:
        told = f"rules decide {right + otherwise} of them without asking a model, {otherwise} otherwise than labelled"
        print(f"{told}{' (a rule of your own, or --ignore, changes that)' if otherwise else ''}")
    print("\non failures that it was not trained on (copies of one failure stand on one side):")
    width = max(len(bucket) for bucket in [*checked.per_bucket, "none of these"])
    for bucket, (good, named, logs) in checked.per_bucket.items():
        low, high = interval(good, logs)
        print(f"  {bucket:<{width}}  {good} of {logs} named ({low:.2f}–{high:.2f}), {named - good} others named so")
    print(f"  {'none of these':<{width}}  {checked.alarms} of {checked.beside} named as one of yours")
    print(f"\n{path}: answers from {threshold:.2f} on, and leaves all else to the shipped model")
    print(f"use it: vllm-triage --model {path.parent} LOG, or set VLLM_TRIAGE_MODEL={path.parent}")
