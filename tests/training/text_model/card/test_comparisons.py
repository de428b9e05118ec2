"""Ways side by side, and what a model adds where rules are hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_triage.training.evaluate.score import Answer
from vllm_triage.training.examples.labelled import Case
from vllm_triage.training.examples.row import Row
from vllm_triage.training.text_model.card.comparisons import BOTH, Table, hidden, table, together
from vllm_triage.training.text_model.fit.threshold_after_rules import PRECISION, asked, figures, hidden_rules, threshold
from vllm_triage.training.text_model.rows.recorded import LabelledLog

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


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([(0.9, True), (0.7, True)], 0.7),
        ([(0.9, True), (0.8, False), (0.7, True)], 0.9),
        ([(0.9, False)], 0.99),
        ([], 0.99),
        ([(0.8, True), (0.8, False)], 0.99),
    ],
)
def test_the_threshold_after_rules_adds_no_wrong_answers(found: list[tuple[float, bool]], expected: float) -> None:
    """It is the least confidence from which on answers are right often enough; of equal ones the wrong count first."""
    assert threshold(found, 0.5) == expected
    assert threshold(found, 0.95) == max(expected, 0.95)


def test_one_wrong_answer_among_many_is_borne() -> None:
    """As often as the precision allows."""
    many = [(0.99 - number / 1000, True) for number in range(round(1 / (1 - PRECISION)) + 1)]
    assert threshold([*many, (0.6, False), (0.55, True)], 0.5) == 0.55


def test_figures_after_rules_are_of_what_is_answered() -> None:
    """All that was asked is counted, and what is given from the threshold on."""
    told = figures([(0.9, True), (0.8, False), (0.3, True), (0.2, False)], 0.5)
    assert told == {"rows": 4, "accuracy": 0.5, "coverage": 0.5, "precision": 0.5}
    assert figures([], 0.5) == {"rows": 0, "accuracy": 0.0, "coverage": 0.0, "precision": 0.0}


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
    log = LabelledLog(
        f"Traceback (most recent call last):\n{FRAME}ValueError: a LoRA rank too high for harbor\n", "lora", "x"
    )
    rules = hidden_rules(0, 2) | hidden_rules(1, 2)
    answers = asked(model, rules, [log], [])
    assert [told for _, told in answers] == [True]
