"""``python -m vllm_triage.training.model build|train|evaluate``: from vLLM's sources to the exported text model."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from ...classifier.text_model import FOLDER, read_model
from .rows import Row, digest_of, read_rows, through, write_rows

EARLIER, LATER = "0.19.99", "0.23.0"
"""Releases up to the first are trained on where the model is tested on those from the second on."""


def main() -> int:
    """Run one of the three steps."""
    parser = argparse.ArgumentParser(prog="vllm_triage.training.model", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("build", help="make the training set")
    step.add_argument("folders", nargs="+", type=Path, help="unpacked sources of releases, each named by it (…/0.33.0)")
    step.add_argument("--out", type=Path, required=True, metavar="ROWS.jsonl")
    step.set_defaults(run=_build)
    step = steps.add_parser("train", help="fit, calibrate and export the model")
    step.add_argument("rows", type=Path, metavar="ROWS.jsonl")
    step.add_argument("--out", type=Path, default=Path(FOLDER), help="folder of the exported model")
    step.add_argument("--through", default="", metavar="RELEASE", help="leave out what came after this release")
    step.add_argument("--without-rules", action="store_true", help="leave out what rule files say: sources alone")
    step.add_argument("--joblib", type=Path, help="keep scikit-learn's model here, too")
    step.set_defaults(run=_train)
    step = steps.add_parser("evaluate", help="score the exported model on labelled logs, rules silent")
    step.add_argument("cases", nargs="+", type=Path, metavar="CASES.jsonl")
    step.add_argument("--model", type=Path, default=Path(FOLDER))
    step.add_argument("--beside", nargs="*", default=[], metavar="NAME=FOLDER", help="other models to score beside it")
    step.add_argument("--rows", type=Path, help="training set, for the baselines")
    step.add_argument("--misses", type=int, default=0, help="misses to list")
    step.add_argument("--card", type=Path, help="write the model card")
    step.set_defaults(run=_evaluate)
    options = parser.parse_args()
    return int(options.run(options) or 0)


def _build(options: argparse.Namespace) -> None:
    from .dataset import build

    rows = build(options.folders, _say)
    write_rows(options.out, rows)
    _say(f"{len(rows)} rows, SHA-256 {digest_of(rows)}")


def _train(options: argparse.Namespace) -> None:
    from .export import export
    from .fit import Settings, calibrate, fit, split
    from .fit import judge as score_rows

    rows = read_rows(options.rows)
    if options.through:
        rows = list(through(rows, options.through))
    if options.without_rules:
        rows = [row for row in rows if row.origin not in ("rule", "reject")]
    settings = Settings()
    held: dict[str, Any] = {}
    earlier = list(through(rows, EARLIER))
    names = {id(row) for row in earlier}
    later = [row for row in rows if id(row) not in names]
    train, judge = split(rows)
    _say(f"fitting on {len(train)} rows, judging by {len(judge)}")
    part = fit(train, settings)
    held["messages, by rule or place"] = calibrate(part, judge)
    sure = score_rows(part, [row for row in judge if row.weight >= 1.0 and row.origin != "other"])
    held["messages that a rule answers surely"] = sure
    held["other software"] = score_rows(part, [row for row in judge if row.origin == "other"])
    if later:
        before = fit(earlier, settings)
        before.temperature, before.threshold = part.temperature, part.threshold
        held[f"new in releases from {LATER} (trained through 0.19)"] = score_rows(before, later)
    for name, figures in held.items():
        _say(f"{name}: {figures}")
    model = fit(rows, settings)
    model.temperature, model.threshold = part.temperature, part.threshold
    digest = export(model, options.out, {"training": _about(rows), "versions": _versions(), "held_out": held})
    _say(f"{len(model.keys)} terms, {len(model.buckets)} buckets, threshold {model.threshold}, SHA-256 {digest}")
    if options.joblib:
        import joblib

        joblib.dump(model, options.joblib)


def _about(rows: list[Row]) -> dict[str, Any]:
    return {
        "rows": len(rows),
        "groups": len({row.group for row in rows}),
        "sha256": digest_of(rows),
        "origins": dict(Counter(row.origin for row in rows)),
        "releases": sorted({row.release for row in rows if row.origin == "release"}, key=_order),
    }


def _order(release: str) -> Any:
    from ...classifier.versions import version_key

    return version_key(release) or (0, 0, 0, 0, 0)


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("scikit-learn", "numpy", "scipy")}


def _evaluate(options: argparse.Namespace) -> None:
    from .baselines import keywords, nearest, plain_text
    from .card import write_card
    from .evaluate import by_model, confusions, read_cases, report, score

    model = read_model(str(options.model))
    ways = [("text model", by_model(model), model.threshold)]
    for item in options.beside:
        name, _, folder = item.rpartition("=")
        other = read_model(folder)
        ways.append((name or folder, by_model(other), other.threshold))
    if options.rows:
        rows = read_rows(options.rows)
        ways += [("nearest last error line", nearest(rows), 0.5), ("TF-IDF on raw text", plain_text(rows), 0.5)]
    ways.append(("keyword vote", keywords(), 0.5))
    tables = []
    for path in options.cases:
        cases = read_cases(path)
        scores = [score(name, cases, guess, threshold) for name, guess, threshold in ways]
        tables.append(report(path.stem, scores))
        _say("\n".join(tables[-1]))
        if options.misses:
            _say("\n".join([*confusions(scores[0]), *scores[0].misses[: options.misses]]))
    if options.card:
        about = json.loads((options.model / "text.json").read_text(encoding="utf-8"))
        options.card.write_text(write_card(about, tables), encoding="utf-8")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
