"""``python -m vllm_triage.training.model build|train|evaluate``: from vLLM's sources to the shipped text model.

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
from ...classifier.text_model import FOLDER
from .progress import steps
from .rows import digest_of, read_rows, through, write_rows

DOCS = Path(__file__).parents[2] / "docs"


def main() -> int:
    """Run one of the three steps."""
    about = "Build the training set of the shipped text model, train it, and write its card."
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.model", description=about)
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
    step.add_argument("--without-rules", action="store_true", help="leave out what rule files say: sources alone")
    step.add_argument("--joblib", type=Path, metavar="FILE", help="keep scikit-learn's model here, too")
    step.set_defaults(run=_train)
    step = names.add_parser("evaluate", help="score a model on labelled logs, beside other ways; write the card")
    step.add_argument("cases", nargs="+", type=Path, metavar="CASES", help="as vllm-triage evaluate takes them")
    step.add_argument("--model", type=Path, default=Path(FOLDER))
    step.add_argument("--beside", nargs="*", default=[], metavar="NAME=FOLDER", help="other models to score beside it")
    step.add_argument("--rows", type=Path, metavar="ROWS.jsonl", help="training set, for the baselines")
    step.add_argument("--misses", type=int, default=0, metavar="N", help="misses to list")
    step.add_argument(
        "--card", type=Path, help=f"write the model card (say {DOCS / 'model-card.md'}), with its pictures"
    )
    step.set_defaults(run=_evaluate)
    options = parser.parse_args()
    return int(options.run(options) or 0)


def _build(options: argparse.Namespace) -> None:
    from .dataset import build

    with steps() as say:
        rows = build(options.folders, say)
        write_rows(options.out, rows)
        say(f"{len(rows)} rows, SHA-256 {digest_of(rows)}")


def _train(options: argparse.Namespace) -> None:
    from .export import export
    from .fit import Settings
    from .train import train

    rows = read_rows(options.rows)
    if options.through:
        rows = list(through(rows, options.through))
    if options.without_rules:
        rows = [row for row in rows if row.origin not in ("rule", "reject")]
    with steps() as say:
        model, about = train(rows, Settings(), say)
        digest = export(model, options.out, about)
        for name, figures in about["held_out"].items():
            say(f"{name}: {figures}")
        say(f"{len(model.keys)} terms, {len(model.buckets)} buckets, threshold {model.threshold}, SHA-256 {digest}")
    if options.joblib:
        import joblib

        joblib.dump(model, options.joblib)


def _evaluate(options: argparse.Namespace) -> None:
    from .baselines import baselines
    from .card import Table, write_card
    from .evaluate import Score, by_engine, compare, score
    from .labelled import read_cases
    from .tables import beside, misses, versus

    folder = str(options.model)
    ways = {
        "text model": by_engine(Triage(engine="model", model=folder)),
        **{name: by_engine(Triage(engine="model", model=other)) for name, other in _named(options.beside)},
        "rules alone": by_engine(Triage(engine="rules")),
        "rules, then model": by_engine(Triage(engine="auto", model=folder)),
    }
    with steps() as say:
        if options.rows:
            say("baselines")
            ways.update(baselines(read_rows(options.rows)))
        tables: list[Table] = []
        every = Score("text model")
        for path in options.cases:
            cases = read_cases([path])
            scores = {}
            for name, way in ways.items():
                say(f"{path.stem}: {name}")
                scores[name] = score(name, cases, way)
            both, alone = scores["rules, then model"], scores["rules alone"]
            tables.append(Table(path.stem, list(scores.values()), compare(both, alone)))
            every.pairs += scores["text model"].pairs
            print(f"\n{path.stem}\n{beside(list(scores.values()))}\n{versus(both, alone, tables[-1].against_rules)}")
            if options.misses:
                print(misses(scores["text model"], options.misses))
    if options.card:
        about: dict[str, Any] = json.loads((options.model / "text.json").read_text(encoding="utf-8"))
        write_card(options.card, about, tables, every)


def _named(items: Iterable[str]) -> Iterable[tuple[str, str]]:
    for item in items:
        name, _, folder = item.rpartition("=")
        yield name or folder, folder


if __name__ == "__main__":
    sys.exit(main())
