"""``python -m vllm_triage.training.text_model build|train|evaluate``: from vLLM's sources to the shipped text model.

For those who develop vllm-triage; ``vllm-triage train`` and ``vllm-triage evaluate`` are for all (docs/model.md).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...classifier.api import Triage
from ...classifier.text_model.ask import FOLDER
from ..examples.row import digest_of, later, read_rows, through, write_rows
from ..progress import steps
from .fit.train import EARLIER, LATER


def main() -> int:
    """Run one of the three steps."""
    about = "Build the training set of the shipped text model, train it, and write its card."
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.text_model", description=about)
    names = parser.add_subparsers(dest="step", required=True)
    step = names.add_parser("build", help="make the training set")
    what = "sources of releases, each named by it: folders (…/0.33.0), or archives that training.options caches"
    step.add_argument("folders", nargs="+", type=Path, help=what)
    step.add_argument("--out", type=Path, required=True, metavar="ROWS.jsonl")
    step.set_defaults(run=_build)
    step = names.add_parser("train", help="fit, calibrate and export the model")
    step.add_argument("rows", type=Path, metavar="ROWS.jsonl")
    step.add_argument("--out", type=Path, default=Path(FOLDER), help="folder of the exported model")
    step.add_argument("--through", default="", metavar="RELEASE", help="leave out what came after this release")
    step.add_argument("--all-rules", action="store_true", help="of what came later, keep what rule files say")
    step.add_argument(
        "--folds", type=Path, metavar="FOLDER", help="keep the models of the folds here (evaluate --folds)"
    )
    step.set_defaults(run=_train)
    step = names.add_parser("evaluate", help="score a model on labelled logs, beside other ways; write the card")
    step.add_argument("cases", nargs="+", type=Path, metavar="CASES", help="as vllm-triage evaluate takes them")
    step.add_argument("--model", type=Path, default=Path(FOLDER))
    step.add_argument(
        "--later", nargs="*", default=[], type=Path, metavar="CASES", help=f"of these, score {LATER} and later"
    )
    step.add_argument("--through", nargs="*", default=[], metavar="NAME=FOLDER", help="models to score them by")
    step.add_argument(
        "--folds", type=Path, metavar="FOLDER", help="models of train --folds: asked with half the rules hidden"
    )
    step.add_argument("--rows", type=Path, metavar="ROWS.jsonl", help="training set, for the baselines")
    step.add_argument("--misses", type=int, default=0, metavar="N", help="misses to list")
    step.add_argument(
        "--card", type=Path, metavar="FILE", help="write the model card (docs/model-card.md), with its pictures"
    )
    step.set_defaults(run=_evaluate)
    options = parser.parse_args()
    return int(options.run(options) or 0)


def _build(options: argparse.Namespace) -> None:
    from .rows.dataset import build

    with steps() as say:
        rows = build(options.folders, say)
        write_rows(options.out, rows)
        say(f"{len(rows)} rows, SHA-256 {digest_of(rows)}")


def _train(options: argparse.Namespace) -> None:
    from .fit.export import export
    from .fit.fitted import Settings
    from .fit.train import train

    rows = read_rows(options.rows)
    if options.through:
        rows = list(through(rows, options.through, options.all_rules))
    with steps() as say:
        model, about = train(rows, Settings(), say, options.through, options.folds)
        digest = export(model, options.out, about)
        for name, figures in about["held_out"].items():
            say(f"{name}: {figures}")
        say(f"{len(model.keys)} terms, {len(model.buckets)} buckets, threshold {model.threshold}, SHA-256 {digest}")


def _evaluate(options: argparse.Namespace) -> None:
    from ..evaluate.baselines import baselines
    from ..evaluate.report_text import beside, misses, versus
    from ..evaluate.score import Score, by_engine
    from ..examples.labelled import read_cases
    from .card.card import Card, write_card
    from .card.comparisons import BOTH, hidden, table

    folder = str(options.model)
    about: dict[str, Any] = json.loads((options.model / "text.json").read_text(encoding="utf-8"))
    card = Card(about, Score("text model"))
    with steps() as say:
        ways = {
            "text model": by_engine(Triage(engine="model", model=folder)),
            BOTH[1]: by_engine(Triage(engine="rules")),
            BOTH[0]: by_engine(Triage(engine="auto", model=folder)),
        }
        rows = read_rows(options.rows) if options.rows else []
        if rows and options.cases:
            say("baselines")
            ways.update(baselines(rows))
        for path in options.cases:
            say(path.stem)
            card.sets.append(table(path.stem, read_cases([path]), ways))
            card.every.pairs += card.sets[-1].scores[0].pairs
        if options.later:
            say(f"{LATER} and later")
            ways = {name: by_engine(Triage(engine="model", model=other)) for name, other in _named(options.through)}
            ways.update(baselines(list(through(rows, EARLIER, all_rules=True))) if rows else {})
            cases = [case for case in read_cases(options.later) if case.release and not later(LATER, case.release)]
            card.later.append(table(f"recorded, {LATER} and later", cases, ways))
        cases = read_cases(options.cases) if options.folds else []
        if cases:
            card.hidden.append(hidden("half of the rules hidden", cases, options.folds, say))
            card.hidden.append(hidden("whole causes hidden", cases, options.folds, say, whole_causes=True))
    for item in (*card.sets, *card.later, *card.hidden):
        print(f"\n{item.name}\n{beside(item.scores)}")
        if item.against_rules:
            print(versus(*item.pair(), item.against_rules))
    if options.misses:
        print(misses(card.every, options.misses))
    if options.card:
        write_card(options.card, card)


def _named(items: Iterable[str]) -> Iterable[tuple[str, str]]:
    for item in items:
        name, _, folder = item.rpartition("=")
        yield name or folder, folder


if __name__ == "__main__":
    sys.exit(main())
