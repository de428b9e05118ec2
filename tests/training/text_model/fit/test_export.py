"""The exported file gives the same numbers as scikit-learn's model, and is the same file each time."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.training.text_model.small_model import probabilities, small_model
from vllm_triage.classifier.text_model.ask import read_model
from vllm_triage.training.examples.row import Row
from vllm_triage.training.examples.terms import read_units
from vllm_triage.training.text_model.fit.composed_logs import compose, of_logs, verdicts
from vllm_triage.training.text_model.fit.confidence import Confidence, Verdict, figures, learn
from vllm_triage.training.text_model.fit.export import export, keep, restore
from vllm_triage.training.text_model.fit.fit import fit_grown
from vllm_triage.training.text_model.fit.fitted import Fitted, Settings
from vllm_triage.training.text_model.rows.dataset import with_terms
from vllm_triage.training.text_model.rows.recorded import LabelledLog

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")

ROWS = [
    Row(f"{kind}: {text} {word}", bucket, f"{bucket}/{word}", "rule", weight=1.5, cause=word)
    for kind, text, bucket in (
        ("torch.OutOfMemoryError", "CUDA out of memory while allocating the", "runtime_oom"),
        ("ValueError", "the LoRA adapter has a rank that is too high for", "lora"),
        ("RuntimeError", "NCCL error: unhandled system error in", "nccl_error"),
        ("KeyError", "an order of the shop has no", "unknown"),
    )
    for word in ("harbor", "window", "engine", "tokens", "layer", "request", "scheduler", "worker")
]
SAMPLE = [
    "ValueError: a LoRA rank of 64 is too high",
    "RuntimeError: NCCL error 5 in the worker",
    "torch.OutOfMemoryError: CUDA out of memory",
    "something else entirely",
    "KeyError: 'orders'",
]
SETTINGS = [Settings(least_groups=1), Settings(least_groups=1, most_grams=0)]


@pytest.fixture(scope="module")
def model() -> Fitted:
    """A small model of four buckets."""
    return small_model(ROWS, SETTINGS[0])


@pytest.mark.parametrize("settings", SETTINGS, ids=["grams", "words"])
def test_probabilities_equal_scikit_learns(settings: Settings, tmp_path: Path) -> None:
    """To a millionth, for texts that were trained on and texts that were not."""
    fitted = small_model(ROWS, settings)
    export(fitted, tmp_path, {})
    exported = read_model(str(tmp_path))
    for text in [*SAMPLE, *(row.text for row in ROWS[::5])]:
        unit = read_units(text)[0]
        expected = probabilities(fitted, [sorted(unit.terms)])[0]
        assert exported.probabilities(exported.logits(unit)) == pytest.approx(list(expected), abs=1e-6)


def test_whole_logs_are_answered_as_in_training(model: Fitted, tmp_path: Path) -> None:
    """The bucket and the confidence that calibration saw are those that the classifier computes from the file."""
    export(model, tmp_path, {})
    exported = read_model(str(tmp_path))
    for text in SAMPLE:
        log = f"{text}\nERROR 11-02 10:00:00 [core.py:1] the engine is dead\n"
        (verdict,) = verdicts(model, of_logs([LabelledLog(log, "unknown", "x")]))
        bucket, probability = exported.together(read_units(log))[0]
        assert bucket == verdict.bucket
        assert exported.sureness(verdict.signs) == pytest.approx(probability, abs=1e-6)


def test_the_same_rows_make_the_same_file(model: Fitted, tmp_path: Path) -> None:
    """Its SHA-256 does not change from run to run."""
    assert export(small_model(ROWS, SETTINGS[0]), tmp_path / "b", {}) == export(model, tmp_path / "a", {})
    for name in ("text.bin", "text.json"):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


def test_two_buckets_are_enough(tmp_path: Path) -> None:
    """scikit-learn keeps one row of weights for them; the file has one for each."""
    fitted = fit_grown(with_terms(row for row in ROWS if row.bucket in ("lora", "unknown")), Settings(least_groups=1))
    export(fitted, tmp_path, {})
    unit = read_units(SAMPLE[0])[0]
    exported = read_model(str(tmp_path))
    assert exported.together([unit])[0][0] == "lora"
    assert exported.probabilities(exported.logits(unit)) == pytest.approx(
        list(probabilities(fitted, [sorted(unit.terms)])[0]), abs=1e-6
    )


def test_kept_models_come_back(model: Fitted, tmp_path: Path) -> None:
    """With the estimator itself: the same numbers."""
    keep(model, tmp_path / "model.joblib")
    again = restore(tmp_path / "model.joblib")
    rows = [sorted(read_units(text)[0].terms) for text in SAMPLE]
    assert probabilities(again, rows).tolist() == probabilities(model, rows).tolist()


def test_another_scikit_learn_is_refused_before_anything_is_unpickled(model: Fitted, tmp_path: Path) -> None:
    """The message names both versions; nothing of the file was run."""
    path = tmp_path / "model.joblib"
    keep(model, path)
    head, _, data = path.read_bytes().partition(b"\n")
    told = {**json.loads(head), "scikit-learn": "0.9.1"}
    path.write_bytes(json.dumps(told).encode() + b"\n" + data)
    with pytest.raises(ValueError, match=r"scikit-learn 0\.9\.1; installed are"):
        restore(path)


@pytest.mark.parametrize("damage", ["", "no model\n", "flip"])
def test_a_kept_file_that_was_changed_is_refused(model: Fitted, tmp_path: Path, damage: str) -> None:
    """Its SHA-256 is checked before joblib reads it."""
    path = tmp_path / "model.joblib"
    keep(model, path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data) if damage == "flip" else damage.encode())
    with pytest.raises(ValueError, match=r"SHA-256|no model kept"):
        restore(path)


def test_composed_logs_hold_wrappers_after_their_root() -> None:
    """The root comes first or after healthy words; what shows no failure stays alone."""
    import random

    grown = with_terms(ROWS)
    cases = compose(grown, [["w:wrapper"]], [["w:calm"]], random.Random(1))
    assert len(cases) == len(grown)
    assert any(case.units[-1] == ("w:wrapper",) for case in cases)
    assert any(case.units[0] == ("w:calm",) for case in cases)
    assert {len(case.units) for case in cases if case.fair[0] == "unknown"} == {1}


def test_confidence_learns_how_often_signs_were_right() -> None:
    """Half of the answers with small odds are right, nearly all of those with large ones: so the probabilities say."""
    zeros = (0.0,) * 9
    found = [Verdict("lora", (-1.0, *zeros), ("lora" if number % 2 else "runtime_oom",)) for number in range(400)]
    found += [Verdict("lora", (3.0, *zeros), ("lora" if number % 20 else "runtime_oom",)) for number in range(400)]
    learnt = learn(found, precision=0.9)
    told = figures(learnt, found)
    assert told["ece"] < 0.02
    assert told["precision"] == pytest.approx(0.95)
    assert told["coverage"] == pytest.approx(0.5)


def test_without_anything_to_learn_from_nothing_is_answered() -> None:
    """No logs, or none that was answered rightly."""
    assert learn([]).threshold == 0.99
    assert learn([Verdict("lora", (1.0,) * 10, ("runtime_oom",))]).threshold == 0.99
    assert figures(Confidence(), []) == {"rows": 0}
