"""Ways side by side, and what a model adds where rules are hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_triage.training.evaluate.score import Answer
from vllm_triage.training.examples.labelled import Case
from vllm_triage.training.examples.row import Row
from vllm_triage.training.text_model.card.comparisons import BOTH, Table, hidden, table, together
from vllm_triage.training.text_model.fit.hidden_rules import hidden_rules

RULED = "ValueError: No available memory for the cache blocks.\n"
FRAME = '  File "/opt/venv/lib/python3.12/site-packages/vllm/lora/peft_helper.py", line 90, in validate_legal\n'
CASES = [Case("a", "kv_cache_oom", "x:1", text=RULED), Case("b", "lora", "x:2", text="all is well\n")]


def test_every_rule_is_hidden_once() -> None:
    """The parts are the folds by which rows are left out of a model."""
    parts = [hidden_rules(part, 2) for part in range(2)]
    assert not parts[0] & parts[1]
    assert all(len(part) > 100 for part in parts)
    assert all("/" in name for name in parts[0])
    causes = [hidden_rules(part, 2, whole_causes=True) for part in range(2)]
    assert causes[0] < parts[0]
    assert causes[1] < parts[1]


def test_several_sets_are_told_as_one() -> None:
    """The comparison is made anew over all pairs."""
    ways = {
        BOTH[0]: lambda case: Answer(case.bucket, 0.9),
        BOTH[1]: lambda case: Answer("kv_cache_oom", 0.9),
    }
    one, other = table("one", CASES[:1], ways), table("other", CASES[1:], ways)
    whole = together("both", [one, other])
    assert [len(item.pairs) for item in whole.scores] == [2, 2]
    assert whole.against_rules is not None
    assert (whole.against_rules.first_alone, whole.against_rules.second_wrong) == (1, 1)
    assert Table("x", one.scores[:1]).against_rules is None


def test_what_a_model_adds_is_told_of_logs_whose_rule_is_hidden(tmp_path: Path) -> None:
    """Each log is answered once with each half of the rules; a model is asked where none is left."""
    pytest.importorskip("sklearn")
    from tests.training.text_model.small_model import small_model
    from vllm_triage.training.text_model.fit.export import export
    from vllm_triage.training.text_model.fit.fitted import Settings

    rows = [
        Row(f"ValueError: {text} {word}", bucket, f"{bucket}/{word}", "rule", weight=1.5, cause=word)
        for text, bucket in (
            ("no memory left for cache blocks of", "kv_cache_oom"),
            ("a LoRA rank too high for", "lora"),
        )
        for word in ("harbor", "window", "engine", "tokens", "layer", "request", "scheduler", "worker")
    ]
    model = small_model(rows, Settings(least_groups=1))
    model.confidence.threshold = 0.4
    for part in "01":
        export(model, tmp_path / part, {})
    steps: list[str] = []
    found = hidden("logs", CASES, tmp_path, steps.append)
    assert len(steps) == 2
    assert [item.name for item in found.scores] == [BOTH[1], BOTH[0]]
    assert [len(item.pairs) for item in found.scores] == [4, 4]
