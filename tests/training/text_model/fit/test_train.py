"""How the released model is trained: what was known when, figures held against others' confidence, its description."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import pytest

from vllm_triage.classifier.text_model import ask as text_model
from vllm_triage.training.examples.row import Row, digest_of
from vllm_triage.training.text_model.fit.confidence import Verdict
from vllm_triage.training.text_model.fit.fitted import Settings
from vllm_triage.training.text_model.fit.train import Book, describe, earlier, later_logs
from vllm_triage.training.text_model.rows.recorded import LabelledLog

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")


def _row(origin: str, release: str) -> Row:
    return Row(f"{origin} {release}", "lora", f"{origin}/{release}", origin, release)


def test_what_was_known_at_0_19() -> None:
    """One person then had the rules of today, the other only those whose words a release of the time says."""
    rows = [
        _row("release", "0.19.1"),
        _row("release", "0.23.0"),
        _row("rule", "0.23.0"),
        _row("rule", ""),
        _row("recorded", "0.32.0"),
    ]
    sets = {name: [row.text for row, _ in part] for name, part in earlier([(row, []) for row in rows]).items()}
    assert sets == {
        "all rules": ["release 0.19.1", "rule 0.23.0", "rule "],
        "rules whose words a release through 0.19 has": ["release 0.19.1", "rule "],
    }


def test_later_logs_are_those_of_later_releases() -> None:
    """A log without a release tests nothing."""
    logs = [LabelledLog("", "lora", "g", release) for release in ("0.19.1", "0.23.0", "0.32.0", "")]
    assert [log.release for log in later_logs(logs)] == ["0.23.0", "0.32.0"]


def test_a_folds_figures_are_those_of_a_confidence_that_it_did_not_teach() -> None:
    """One fold is always right at these odds, the other never: each is held against what the other taught."""
    right = [Verdict("lora", (2.0,) + (0.0,) * 9, ("lora",)) for _ in range(20)]
    wrong = [Verdict("lora", (2.0,) + (0.0,) * 9, ("runtime_oom",)) for _ in range(20)]
    book = Book([{"logs": right}, {"logs": wrong}])
    assert len(book.all()) == 40
    assert book.all(without=0) == wrong
    assert book.figures()["logs"]["accuracy"] == pytest.approx(0.5)
    assert book.figures()["logs"]["ece"] > 0.4


def test_the_shipped_model_tells_what_made_it() -> None:
    """Training set, versions, thresholds, figures, and the settings."""
    about = json.loads((Path(text_model.FOLDER) / "text.json").read_text(encoding="utf-8"))
    assert len(about["training"]["sha256"]) == 64
    assert len(about["training"]["releases"]) > 40
    assert set(about["versions"]) == {"scikit-learn", "numpy", "scipy"}
    assert 0.4 <= about["threshold"] < 1
    assert all(figures["rows"] > 0 for figures in about["held_out"].values())
    assert about["settings"] == asdict(Settings())


def test_a_training_set_is_described_by_its_releases_and_digest() -> None:
    """Oldest first."""
    rows = [_row("release", "0.10.2"), _row("release", "0.9.2"), _row("recorded", "0.32.0")]
    told = describe(rows)
    assert (told["releases"], told["recorded"], told["rows"]) == (["0.9.2", "0.10.2"], ["0.32.0"], 3)
    assert told["sha256"] == digest_of(rows)
