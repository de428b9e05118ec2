"""Trains a text model of a user's own logs: what ``vllm-triage train`` does, as a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...classifier.api import Triage
from ...classifier.errors import InputError
from ..examples.labelled import read_cases
from ..progress import track
from .card import CARD, card
from .export import write
from .fit import fit_user_model
from .negatives import background, negatives
from .training_set import OwnSet, own_set
from .validate import Validation, validate


@dataclass(slots=True, frozen=True)
class Trained:
    """A model that was trained and written."""

    path: Path
    """The file; ``--model`` and ``Triage(model=…)`` take it, or its folder."""
    made: OwnSet
    """What it was trained on, with the warnings about that."""
    validation: Validation
    """How models did on failures that they were not trained on."""
    threshold: float
    """Probability from which on it answers."""
    temperature: float
    decided: tuple[int, int]
    """Logs that rules decide, as labelled and otherwise: there the model is not asked."""
    problems: tuple[str, ...]
    """Rule files that were left out."""

    def as_data(self) -> dict[str, Any]:
        """Return the figures and warnings as plain data."""
        return {
            "logs": len(self.made.rows), "copies": self.made.copies, "warnings": self.made.warnings,
            "validation": self.validation.as_data(), "threshold": self.threshold, "temperature": self.temperature,
            "rules": {"right": self.decided[0], "otherwise": self.decided[1]},
        }  # fmt: skip


def train_model(logs: Sequence[Path], out: Path, rules: Sequence[str] = ()) -> Trained:
    """Train a model, say how good it is, and write it with its card. Reads no network; the same logs give the same model.

    Args:
        logs: Labelled logs, in the forms that docs/model.md lists.
        out: Folder that the model goes to.
        rules: Folders with your own rule files.

    Raises:
        InputError: The logs cannot be read, or hold nothing to learn.
        OSError: The folder cannot be written.
        ModuleNotFoundError: scikit-learn is not installed (extra ``model``).
    """
    # Fails before the work where it is missing.
    import sklearn.linear_model  # noqa: F401

    cases = read_cases(list(logs))
    # The rules alone: what the model is not asked about.
    ruled = Triage(tuple(rules), engine="rules")
    made = own_set(cases, ruled.corpus.buckets())
    if not made.rows:
        raise InputError("; ".join(["nothing to train on", *made.warnings]))
    if not any(bucket not in ("no_failure", "unknown") for bucket in made.buckets):
        raise InputError("nothing to train on: no log is labelled with a failure")
    against = negatives(background(), made.buckets)
    checked, temperature, threshold = validate(made.rows, against)
    model = fit_user_model(made.rows, against)
    model.temperature, model.threshold = temperature, threshold
    path = write(model, out, made, checked)
    done = Trained(
        path, made, checked, threshold, temperature, _decided(made, ruled), tuple(map(str, ruled.corpus.problems))
    )
    path.with_name(CARD).write_text(card(made, checked, threshold, temperature, done.decided), encoding="utf-8")
    return done


def _decided(made: OwnSet, rules: Triage) -> tuple[int, int]:
    right = otherwise = 0
    for row in track(made.rows, "asking the rules"):
        found = rules.report(row.case.source)
        if found.decided_by == "rule":
            right += found.bucket in (row.bucket, *row.case.also)
            otherwise += found.bucket not in (row.bucket, *row.case.also)
    return right, otherwise
