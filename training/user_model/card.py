"""The card of a user's model: made when and with what, from what, and how good it is."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version

from ..evaluate.statistics import interval
from .training_set import OwnSet
from .validate import FOLDS, PRECISION, Validation

CARD = "card.md"


def card(made: OwnSet, checked: Validation, threshold: float, temperature: float, decided: tuple[int, int]) -> str:
    """Return the card as Markdown; it holds no text of a log."""
    lines = [
        "# A text model of our own logs", "",
        "| | |", "|---|---|",
        f"| made | {datetime.now(UTC):%Y-%m-%d}, by vllm-triage {version('vllm-triage')} with scikit-learn {version('scikit-learn')} |",
        f"| training set | {len(made.rows)} logs of {len({row.group for row in made.rows})} different failures, SHA-256 {made.sha256()} |",
        f"| threshold | {threshold:.3f}: the least from which on {PRECISION:.0%} of the answers were right in validation |",
        f"| temperature | {temperature:.4f} |",
        f"| rules | decide {decided[0]} of the logs as labelled, {decided[1]} otherwise: there the model is not asked |",
        f"| validation | at most {FOLDS} folds; copies of one failure stand on one side; the model alone, without rules |",
        f"| false alarms | {checked.alarms} of {checked.beside} pieces of other failures and software named as one of these |",
        "", "| bucket | different failures | logs | named | 95 % | others named so |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for bucket, (good, named, logs) in checked.per_bucket.items():
        low, high = interval(good, logs)
        lines.append(
            f"| `{bucket}` | {made.groups(bucket)} | {logs} | {good} | {low:.2f} to {high:.2f} | {named - good} |"
        )
    if made.warnings:
        lines += ["", "## Warnings", "", *(f"- {text}" for text in made.warnings)]
    return "\n".join(lines) + "\n"
