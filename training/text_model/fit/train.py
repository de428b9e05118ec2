"""From the training set to the released model: confidence by cross-validation on whole logs, final fit, and its tests."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ....classifier.facts.versions import version_key
from ...examples.row import OF_RULES, Row, digest_of, later
from ..rows.dataset import CORPUS, SEED, Grown, with_terms
from ..rows.other_software import other_logs
from ..rows.recorded import LabelledLog, recorded_logs
from . import confidence
from .composed_logs import around, compose, of_logs, verdicts
from .confidence import ABSTAINS, Verdict
from .export import export
from .fit import fit_grown
from .fitted import Fitted, Settings
from .folds import fold_of

FOLDS, FAULT_FOLDS = 2, 3
"""Parts by message, each of which is left out once; parts by fault, of which :data:`LEFT_OUT` are left out."""
LEFT_OUT = 1
COMPOSED, KNOWN = 1500, 1500
"""Logs composed for each fold of messages that its model has not seen, and of such that it has."""
KNOWN_WEIGHT, RECORDED_WEIGHT = 2.0, 3.0
"""Most failures of life are known ones in other words; recorded logs are whole. Chosen on logs that calibrate nothing."""
LATER = "0.23.0"
"""Recorded logs of this release and later ones test what was known at 0.19."""
EARLIER = "0.19.99"
"""Releases up to this one are trained on where later ones are the test."""
OTHERS = 4
"""Whole logs of each program that vLLM is not."""
Progress = Callable[[str], None]


@dataclass(slots=True)
class Book:
    """Verdicts of models on logs that they were not trained on, by fold and by kind of log."""

    folds: list[dict[str, list[Verdict]]] = field(default_factory=list)
    models: list[Fitted] = field(default_factory=list)
    """The models of the folds of messages."""

    def all(self, without: int = -1) -> list[Verdict]:
        """Return the verdicts of all folds, or of all but one."""
        return [
            item
            for number, kinds in enumerate(self.folds)
            if number != without
            for part in kinds.values()
            for item in part
        ]

    def figures(self) -> dict[str, dict[str, float]]:
        """Return the figures of each kind: a fold's verdicts are held against a confidence learnt from the others."""
        table: dict[str, list[tuple[dict[str, float], int]]] = {}
        for number, kinds in enumerate(self.folds):
            learnt = confidence.learn(self.all(without=number))
            for kind, items in kinds.items():
                if items:
                    table.setdefault(kind, []).append((confidence.figures(learnt, items), len(items)))
        return {kind: _mean(parts) for kind, parts in table.items()}


def train(
    rows: Sequence[Row], settings: Settings, progress: Progress, folds: Path | None = None
) -> tuple[Fitted, dict[str, Any]]:
    """Train on rows.

    Args:
        rows: The training set.
        settings: What validation chose.
        progress: Told about each step.
        folds: Folder to export the models of the folds into, which have not seen half of the messages and rules.

    Returns:
        The model, and its description: training set, versions, figures on what was held out, the settings.
    """
    progress("reading terms")
    grown = with_terms(rows)
    logs = recorded_logs(CORPUS / "logs") if (CORPUS / "logs" / "recorded").is_dir() else []
    book = cross_judged(rows, grown, logs, settings, progress)
    learnt = confidence.learn(book.all())
    held_out = book.figures()
    for name, known in earlier(grown).items():
        progress(f"{LATER} and later: {name}")
        before = fit_grown(known, settings)
        held_out[f"recorded, {LATER} and later: {name}"] = confidence.figures(
            learnt, verdicts(before, of_logs(later_logs(logs)))
        )
    for part, other in enumerate(book.models if folds is not None else ()):
        other.confidence = confidence.learn(book.all(without=part))
        export(other, (folds or Path()) / str(part), {})
    progress("final fit")
    model = fit_grown(grown, settings)
    model.confidence = learnt
    about = {"training": describe(rows), "versions": versions(), "held_out": held_out, "settings": asdict(settings)}
    return model, about


def cross_judged(
    rows: Sequence[Row], grown: Grown, logs: Sequence[LabelledLog], settings: Settings, progress: Progress
) -> Book:
    """Return verdicts on logs of messages, and of faults, that the judging model had not seen, and of some it had."""
    book = Book()
    for part in range(FOLDS):
        progress(f"messages left out: part {part + 1} of {FOLDS}")
        inside = [item for item in grown if fold_of(item[0].group, FOLDS) != part]
        outside = [item for item in grown if fold_of(item[0].group, FOLDS) == part]
        model = fit_grown(inside, settings)
        book.models.append(model)
        seed = random.Random(f"{SEED}:{part}")  # noqa: S311 (nothing is secret here)
        seen = [row for row in rows if fold_of(row.group, FOLDS) != part and (row.cause or row.bucket in ABSTAINS)]
        again = with_terms(_drawn(seen, KNOWN // 4, seed), salt="again")
        out = [log for log in logs if fold_of(log.group, FOLDS) == part]
        programs = [log for log in other_logs(seed, OTHERS) if fold_of(log.group, FOLDS) == part]
        book.folds.append(
            {
                "messages not trained on": verdicts(model, _composed(outside, outside, COMPOSED, seed)),
                "messages trained on, other variants": _seen(verdicts(model, _composed(again, outside, KNOWN, seed))),
                "recorded logs, recordings of the fault left out": verdicts(model, of_logs(out, RECORDED_WEIGHT)),
                "other software, program left out": verdicts(model, of_logs(programs)),
            }
        )
    for part in range(LEFT_OUT):
        progress(f"faults left out: part {part + 1} of {FAULT_FOLDS}")
        inside = [item for item in grown if fold_of(item[0].fault, FAULT_FOLDS) != part]
        outside = [item for item in grown if fold_of(item[0].fault, FAULT_FOLDS) == part]
        model = fit_grown(inside, settings)
        seed = random.Random(f"{SEED}:fault {part}")  # noqa: S311
        out = [log for log in logs if log.cause and fold_of(f"{log.bucket}/{log.cause}", FAULT_FOLDS) == part]
        book.folds.append(
            {
                "faults not trained on": verdicts(model, _composed(outside, outside, COMPOSED // 2, seed)),
                "recorded logs, nothing of the fault known": verdicts(model, of_logs(out)),
            }
        )
    return book


def later_logs(logs: Iterable[LabelledLog]) -> list[LabelledLog]:
    """Return the recorded logs that test what was known at 0.19."""
    first = version_key(LATER)
    return [log for log in logs if (version_key(log.release) or (0, 0, 0, 0, 0)) >= (first or (0, 0, 0, 0, 0))]


def earlier(grown: Grown) -> dict[str, Grown]:
    """Return what two people could have trained on at the time of 0.19: one had the rules of today."""
    return {
        "all rules": [item for item in grown if not later(item[0].release, EARLIER) or item[0].origin in OF_RULES],
        "rules whose words a release through 0.19 has": [item for item in grown if not later(item[0].release, EARLIER)],
    }


def describe(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what a model's card says of its training set."""
    releases = {row.release for row in rows if row.origin == "release"}
    return {
        "rows": len(rows),
        "groups": len({row.group for row in rows}),
        "sha256": digest_of(rows),
        "origins": dict(sorted(Counter(row.origin for row in rows).items())),
        "releases": sorted(releases, key=lambda item: version_key(item) or (0, 0, 0, 0, 0)),
        "recorded": sorted({row.release for row in rows if row.origin == "recorded"}),
    }


def versions() -> dict[str, str]:
    """Return the versions of what trains."""
    return {name: version(name) for name in ("scikit-learn", "numpy", "scipy")}


def _composed(items: Grown, around_them: Grown, count: int, seed: random.Random) -> list[Any]:
    wrappers, calm = around(around_them)
    sure = [item for item in items if item[0].cause or item[0].bucket in ABSTAINS]
    return compose(_drawn(sure, count, seed), wrappers, calm, seed)


def _seen(found: Iterable[Verdict]) -> list[Verdict]:
    return [replace(item, weight=item.weight * KNOWN_WEIGHT, seen=True) for item in found]


def _drawn(items: Sequence[Any], count: int, seed: random.Random) -> list[Any]:
    return list(items) if len(items) <= count else seed.sample(list(items), count)


def _mean(parts: Sequence[tuple[dict[str, float], int]]) -> dict[str, float]:
    total = sum(count for _, count in parts)
    names = [name for name in parts[0][0] if name != "rows"]
    return {
        "rows": total,
        **{name: round(sum(found[name] * count for found, count in parts) / total, 4) for name in names},
    }
