"""``python -m vllm_triage.training.text_model build|train``: from vLLM's sources to the shipped text model.

For those who develop vllm-triage; ``vllm-triage train`` and ``vllm-triage evaluate`` are for all (docs/model.md).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...classifier.text_model.ask import FOLDER
from ..examples.row import digest_of, read_rows, write_rows
from ..progress import steps


def main() -> int:
    """Run one of the two steps."""
    about = "Build the training set of the shipped text model, and train it."
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.text_model", description=about)
    names = parser.add_subparsers(dest="step", required=True)
    step = names.add_parser("build", help="make the training set")
    what = "sources of releases, each named by it: folders (…/0.33.0), or archives that training.tables caches"
    step.add_argument("folders", nargs="+", type=Path, help=what)
    step.add_argument("--out", type=Path, required=True, metavar="ROWS.jsonl")
    step.set_defaults(run=_build)
    step = names.add_parser("train", help="fit, calibrate and export the model")
    step.add_argument("rows", type=Path, metavar="ROWS.jsonl")
    step.add_argument("--out", type=Path, default=Path(FOLDER), help="folder of the exported model")
    step.add_argument(
        "--folds", type=Path, metavar="FOLDER", help="keep the models of the folds here (benchmarks/unseen.py --folds)"
    )
    step.add_argument("--joblib", type=Path, metavar="FILE", help="keep scikit-learn's model here, too")
    step.set_defaults(run=_train)
    options = parser.parse_args()
    return int(options.run(options) or 0)


def _build(options: argparse.Namespace) -> None:
    from .rows.dataset import build

    with steps() as say:
        rows = build(options.folders, say)
        write_rows(options.out, rows)
        say(f"{len(rows)} rows, SHA-256 {digest_of(rows)}")


def _train(options: argparse.Namespace) -> None:
    from .fit.export import export, keep
    from .fit.fitted import Settings
    from .fit.train import train

    rows = read_rows(options.rows)
    with steps() as say:
        model, about = train(rows, Settings(), say, options.folds)
        digest = export(model, options.out, about)
        for name, figures in about["held_out"].items():
            say(f"{name}: {figures}")
        say(f"{len(model.keys)} terms, {len(model.buckets)} buckets, threshold {model.threshold}, SHA-256 {digest}")
        if options.joblib:
            say(f"joblib: SHA-256 {keep(model, options.joblib)}")


if __name__ == "__main__":
    sys.exit(main())
