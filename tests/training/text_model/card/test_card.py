"""The model card is made of a model's description and an evaluation; progress is told to whoever watches."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_triage.training import progress
from vllm_triage.training.evaluate.comparison import compare
from vllm_triage.training.evaluate.score import Answer, Score
from vllm_triage.training.examples.labelled import Case

ABOUT = {
    "training": {"rows": 7, "groups": 3, "sha256": "ab12", "releases": ["0.9.2"], "origins": {"rule": 4, "other": 3}},
    "versions": {"scikit-learn": "1.7", "numpy": "2.2"},
    "terms": 99, "buckets": ["lora", "no_gpu"], "sha256": "cd34", "threshold": 0.6,
    "held_out": {"faults left out": {"rows": 5, "accuracy": 0.8, "coverage": 0.5, "precision": 0.9, "silent": 0.4}},
}  # fmt: skip


def test_a_card_has_figures_intervals_and_pictures(tmp_path: Path) -> None:
    """And is the same each time."""
    pytest.importorskip("matplotlib")
    from vllm_triage.training.text_model.card.card import Card, write_card
    from vllm_triage.training.text_model.card.comparisons import Table

    cases = [Case(str(n), "lora", f"x:{n}") for n in range(4)]
    ways = {
        "text model": ["lora", "lora", "no_gpu", "unknown"],
        "rules alone": ["lora", "unknown", "unknown", "unknown"],
        "rules, then model": ["lora", "lora", "unknown", "unknown"],
    }
    scores = {
        name: Score(name, [(case, Answer(bucket, 0.9)) for case, bucket in zip(cases, buckets, strict=True)])
        for name, buckets in ways.items()
    }
    table = Table("some-logs", list(scores.values()), compare(scores["rules, then model"], scores["rules alone"]))
    later = Table("later-logs", [scores["text model"]])
    hidden = Table("half of the rules hidden", table.scores, table.against_rules)
    told = Card(ABOUT, scores["text model"], [table], [later], [hidden])
    for name in "ab":
        (tmp_path / name).mkdir()
        write_card(tmp_path / name / "card.md", told)
    text = (tmp_path / "a" / "card.md").read_text()
    assert "### some-logs\n" in text
    assert "### Half of the rules hidden\n" in text
    assert "| threshold | 0.6; beside the rules those of the verdict (classifier/verdict/policy.py) |" in text
    assert text.count("| text model | 0.500 (2/4) |") == 2
    assert "| text model | 0.500 (2/4) | 0.15–0.85 | 1 | 1 |" in text
    assert "rules, then model has 1 fewer misses" in text
    assert "| faults left out | 5 | 0.800 | 0.500 | 0.900 | 0.400 | – | – |" in text
    assert "| lora | 4 | 1.00 | 0.34–1.00 | 0.50 | 0.15–0.85 | 0.67 |" in text
    for image in ("model-confusion.png", "model-reliability.png"):
        assert f"(images/{image})" in text
        assert (tmp_path / "a" / "images" / image).read_bytes() == (tmp_path / "b" / "images" / image).read_bytes()
    assert text == (tmp_path / "b" / "card.md").read_text()


def test_progress_is_silent_in_a_pipe(capsys) -> None:
    """What is not watched gets no bar; steps are lines."""
    assert list(progress.track(range(20), "reading")) == list(range(20))
    assert capsys.readouterr().err == ""
    with progress.steps() as say:
        say("first")
        say("second")
    assert [line.split("s  ")[1] for line in capsys.readouterr().err.splitlines()] == ["first", "second"]


def test_progress_is_shown_on_a_terminal(capsys, monkeypatch) -> None:
    """On standard error alone."""
    monkeypatch.setattr(progress, "_on_terminal", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(progress.track(range(20), "reading")) == list(range(20))
    with progress.steps() as say:
        say("first")
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "reading" in seen.err
    assert "first" in seen.err
