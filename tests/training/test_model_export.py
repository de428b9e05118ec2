"""The exported file gives the same numbers as scikit-learn's model, and is the same file each time."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn")

from vllm_triage.classifier.text_model import read_model
from vllm_triage.training.model.dataset import read_units
from vllm_triage.training.model.export import export
from vllm_triage.training.model.fit import Fitted, Settings, calibrate, fit, split
from vllm_triage.training.model.rows import Row

ROWS = [
    Row(f"{kind}: {text} {word}", bucket, f"{bucket}/{word}", "rule", weight=1.5)
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


@pytest.fixture(scope="module")
def model() -> Fitted:
    """A small model of four buckets."""
    train, judge = split(ROWS, of=3)
    fitted = fit(train, Settings(least_groups=1))
    calibrate(fitted, judge)
    return fitted


def test_probabilities_equal_scikit_learns(model: Fitted, tmp_path) -> None:
    """To a millionth, for texts that were trained on and texts that were not."""
    export(model, tmp_path, {})
    exported = read_model(str(tmp_path))
    for text in [*SAMPLE, *(row.text for row in ROWS[::5])]:
        unit = read_units(text)[0]
        expected = model.probabilities([sorted(unit.terms)])[0]
        assert exported.probabilities(exported.logits(unit)) == pytest.approx(list(expected), abs=1e-6)


def test_the_same_rows_make_the_same_file(model: Fitted, tmp_path) -> None:
    """Its SHA-256 does not change from run to run."""
    train, judge = split(ROWS, of=3)
    again = fit(train, Settings(least_groups=1))
    calibrate(again, judge)
    assert export(again, tmp_path / "b", {}) == export(model, tmp_path / "a", {})
    assert (tmp_path / "b" / "text.json").read_bytes() == (tmp_path / "a" / "text.json").read_bytes()


def test_a_split_parts_no_group() -> None:
    """One message never stands on both sides."""
    train, judge = split(ROWS)
    assert judge
    assert not {row.group for row in train} & {row.group for row in judge}
