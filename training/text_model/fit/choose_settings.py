"""Chooses the settings by nested validation, grouped by fault and by release, never by row.

``python -m vllm_triage.training.text_model.fit.choose_settings ROWS.jsonl > choice.json`` (to be put beside this file) takes
half an hour of one core. What it found best are the defaults of :class:`fitted.Settings`; its table stands in the model's
description (``chosen_by``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ...examples.row import later, read_rows
from ..rows.dataset import Grown, with_terms
from .confidence import ABSTAINS
from .fit import fit_grown
from .fitted import Settings
from .folds import fold_of

OUTER, INNER = 2, 4
EARLIER = "0.19.99"
"""Releases up to this one are trained on where later ones are the test."""
CHOICE = Path(__file__).with_name("choice.json")
"""What the last run found."""
CANDIDATES = [
    Settings(),
    replace(Settings(), strength=3.0),
    replace(Settings(), strength=30.0),
    replace(Settings(), most_grams=0),
    replace(Settings(), most_terms=0, most_grams=30000, gram=1.0),
    replace(Settings(), gram=0.7),
    replace(Settings(), most_terms=36000, most_grams=20000),
    replace(Settings(), kind="svm", strength=0.3),
]
_grown: Grown = []
"""Shared with the worker processes, which are forked."""


def choose(
    grown: Grown, candidates: Sequence[Settings], progress: Callable[[str], None], jobs: int = 1
) -> dict[str, Any]:
    """Return the best settings with the figures of all, and what the choice is worth on faults that it never saw.

    Outer parts are whole faults (all messages and recordings of a cause). Within each, the candidates are compared on
    faults held out of the rest and on messages of releases later than those trained on; the winner is then tested on
    the outer part. The settings that are best over all parts are the choice.
    """
    global _grown  # noqa: PLW0603 - what forked workers inherit
    _grown = grown
    tasks = [
        (part, settings, test) for part in range(OUTER) for settings in candidates for test in ("faults", "releases")
    ]
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        found: list[float] = []
        for number, value in enumerate(pool.map(_inner, tasks), 1):
            found.append(value)
            progress(f"{number} of {len(tasks)}: {tasks[number - 1]} {value:.4f}")
        table = dict(zip(((part, settings, test) for part, settings, test in tasks), found, strict=True))
        best = [
            max(candidates, key=lambda settings, part=part: _sum(table, [part], settings))  # type: ignore[misc]
            for part in range(OUTER)
        ]
        outer = list(pool.map(_outer, enumerate(best)))
    chosen = max(candidates, key=lambda settings: _sum(table, range(OUTER), settings))
    return {
        "settings": asdict(chosen),
        "outer": [round(value, 4) for value in outer],
        "candidates": [
            {
                **asdict(settings),
                "new_faults": round(sum(table[part, settings, "faults"] for part in range(OUTER)) / OUTER, 4),
                "later_releases": round(sum(table[part, settings, "releases"] for part in range(OUTER)) / OUTER, 4),
                "won": best.count(settings),
            }
            for settings in candidates
        ],
    }


def _sum(table: dict[tuple[int, Settings, str], float], parts: Iterable[int], settings: Settings) -> float:
    return sum(table[part, settings, test] for part in parts for test in ("faults", "releases"))


def _inner(task: tuple[int, Settings, str]) -> float:
    part, settings, test = task
    rest = [item for item in _grown if fold_of(item[0].fault, OUTER) != part]
    if test == "faults":
        held = [fold_of(f"inner {item[0].fault}", INNER) == 0 for item in rest]
    else:
        held = [later(item[0].release, EARLIER) for item in rest]
    train = [item for item, out in zip(rest, held, strict=True) if not out]
    return _accuracy(train, [item for item, out in zip(rest, held, strict=True) if out], settings)


def _outer(task: tuple[int, Settings]) -> float:
    part, settings = task
    inside = [item for item in _grown if fold_of(item[0].fault, OUTER) != part]
    return _accuracy(inside, [item for item in _grown if fold_of(item[0].fault, OUTER) == part], settings)


def _accuracy(train: Grown, test: Grown, settings: Settings) -> float:
    """Return the share of failures with a known cause that are answered rightly, by weight."""
    import numpy as np

    model = fit_grown(train, settings)
    known = set(model.buckets)
    failing = [(row, found) for row, found in test if row.cause and row.bucket in known and row.bucket not in ABSTAINS]
    scores, *_ = model.scores([found for _, found in failing])
    right = np.array([model.buckets[index] for index in scores.argmax(axis=1)]) == [row.bucket for row, _ in failing]
    weight = np.array([row.weight for row, _ in failing])
    return float(weight[right].sum() / weight.sum())


def main() -> int:
    """Compare the candidates and print the choice as JSON."""
    parser = argparse.ArgumentParser(
        prog="vllm_triage.training.text_model.fit.choose_settings", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("rows", type=Path, metavar="ROWS.jsonl")
    parser.add_argument("--jobs", type=int, default=1, help="processes; each needs 2 GiB")
    parser.add_argument("--thin", type=int, default=6, help="one variant in so many is looked at")
    options = parser.parse_args()
    found = choose(with_terms(read_rows(options.rows))[:: options.thin], CANDIDATES, _say, options.jobs)
    print(json.dumps(found, indent=1))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
