"""``vllm-triage evaluate CASES``: score the answers on labelled logs; compare two ways to answer; for people and for CI."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....classifier.question import ENGINES
from ..answered import answered
from ..arguments import add_engine, add_rules, share
from ..messages import complain, warn
from ..parser import Parser

if TYPE_CHECKING:
    from ....classifier.api import Triage
    from ....classifier.decides import Decides
    from ....training.evaluate.score import Score
    from ....training.examples.labelled import Case

EXIT_GOOD, EXIT_BELOW = 0, 1
CASES = """\
CASES is one of
  a file of JSON lines, each with text (or file), bucket, and where it applies also, evidence, id, url
  a folder of logs with index.jsonl, labels.jsonl or labels.csv (columns file, bucket)
  a folder with a sub-folder of logs for each bucket
"""
EXIT_CODES = "exit codes: 0 done, 1 below --at-least, 2 usage or input error"


def run(words: Sequence[str]) -> int:
    """Score the answers on all cases."""
    return answered(_parser(), words, _scored)


def _scored(options: argparse.Namespace) -> int:
    try:
        return _evaluate(options)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("sklearn", "matplotlib", "numpy", "scipy"):
            raise
        from ....classifier.extras import install

        return complain(f"this needs {package}: {install('model')}")


def _parser() -> argparse.ArgumentParser:
    about = "Score the answers on labelled logs: what is accepted, wrong, unknown; per bucket; confusions; calibration."
    parser = Parser(
        prog="vllm-triage evaluate",
        description=about,
        epilog=f"{CASES}\n{EXIT_CODES}",
    )
    add = parser.add_argument
    add("cases", nargs="+", type=Path, metavar="CASES", help="labelled logs, see below")
    add_engine(parser)
    add_rules(parser)
    against = "answer all again with auto, rules, model, or the model in a folder, and compare case by case"
    add("--against", default="", metavar="OTHER", help=against)
    add("--baselines", action="store_true", help="score simpler ways beside it (needs the extra `model`)")
    add("--rows", type=Path, metavar="ROWS.jsonl", help="training set for the baselines (default: the rules' examples)")
    add("--misses", type=int, default=30, metavar="N", help="misses to list (default: 30)")
    add("--out", type=Path, metavar="FOLDER", help="write report.txt, report.json, confusion.png, reliability.png")
    add("--json", type=Path, metavar="FILE", help="write all figures as JSON (- for standard output, instead of text)")
    least = "exit with 1 where a smaller share of the logs is answered as it should be"
    add("--at-least", type=share, default=0.0, metavar="P", help=least)
    return parser


def _evaluate(options: argparse.Namespace) -> int:
    from ....training.evaluate import report_text as tables
    from ....training.evaluate.comparison import compare
    from ....training.evaluate.score import by_engine
    from ....training.evaluate.score import score as answers_of
    from ....training.examples.labelled import read_cases, strange_buckets
    from ....training.progress import track

    if options.out is not None:
        # Said before the work rather than after it.
        from ....training.evaluate import plots

        plots.check()
    engine = _engine(options, options.engine, options.model)
    other = _engine(options, *_other(options)) if options.against else None
    cases = read_cases(options.cases)
    known = {*engine.corpus.buckets(), *engine.own_buckets, *(other.own_buckets if other else ())}
    for warning in strange_buckets(cases, known):
        warn(warning)
    name = _name(options.engine, options.model)
    score = answers_of(name, track(cases, "answering"), by_engine(engine))
    parts = [tables.summary(score, options.misses)]
    data: dict[str, Any] = {"result": tables.as_data(score)}
    if other is not None:
        second = answers_of(options.against, track(cases, "answering again"), by_engine(other))
        found = compare(score, second)
        parts.append(tables.versus(score, second, found))
        data["against"] = {**tables.as_data(second), "comparison": tables.as_comparison(found)}
    if options.baselines:
        beside = _baselines(options, cases)
        parts.append(tables.beside([score, *beside]))
        data["baselines"] = [tables.as_data(item) for item in beside]
    _tell(options, "\n\n".join(parts) + "\n", data, score)
    total = len(score.pairs)
    if options.at_least and score.right < options.at_least * total:
        told = f"{score.right} of {total} logs are answered as they should be: {score.right / total:.3f}"
        warn(f"{told}, below {options.at_least:g}")
        return EXIT_BELOW
    return EXIT_GOOD


def _engine(options: argparse.Namespace, engine: Decides, model: str) -> Triage:
    from ....classifier.api import Triage

    made = Triage(options.rules, engine=engine, model=model)
    for problem in made.corpus.problems:
        warn(f"rule file left out: {problem}")
    return made


def _other(options: argparse.Namespace) -> tuple[Decides, str]:
    """Return engine and model to compare with: that of an engine by name is the shipped one."""
    if options.against in ENGINES:
        return options.against, ""
    return options.engine, options.against


def _name(engine: str, model: str) -> str:
    return f"{engine} ({model})" if model else engine


def _baselines(options: argparse.Namespace, cases: list[Case]) -> list[Score]:
    from ....classifier.errors import InputError
    from ....training.evaluate.baselines import baselines
    from ....training.evaluate.score import score
    from ....training.examples.row import read_rows
    from ....training.progress import track
    from ....training.user_model.negatives import rows_of_rules

    try:
        rows = read_rows(options.rows) if options.rows else rows_of_rules()
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"--rows {options.rows}: {getattr(error, 'strerror', None) or 'no training set'}") from None
    return [score(name, track(cases, name), way) for name, way in baselines(rows).items()]


def _tell(options: argparse.Namespace, text: str, data: dict[str, Any], score: Score) -> None:
    written = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    if options.json is not None and str(options.json) == "-":
        print(written, end="")
    else:
        print(text, end="")
    if options.json is not None and str(options.json) != "-":
        _write(options.json, written)
    if options.out is None:
        return
    from ....training.evaluate import plots

    options.out.mkdir(parents=True, exist_ok=True)
    _write(options.out / "report.txt", text)
    _write(options.out / "report.json", written)
    plots.confusion(score, options.out / "confusion.png")
    if score.named:
        plots.reliability(score, options.out / "reliability.png")


def _write(path: Path, text: str) -> None:
    from ....classifier.errors import InputError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
