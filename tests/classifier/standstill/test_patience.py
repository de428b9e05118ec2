"""Patience by stage: learnt, from the log itself, and as a user wants it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.standstill import limits
from vllm_triage.classifier.standstill.patience import LEARNT, Patience, learnt, parse
from vllm_triage.corpus.stages import STAGES


def test_every_stage_that_is_judged_is_a_stage():
    """And what was learnt is of such stages."""
    assert set(limits.FLOOR) < set(STAGES)
    assert set(learnt()) <= set(limits.FLOOR)


def test_no_recorded_healthy_start_was_silent_for_half_of_the_patience():
    """What was learnt leaves room."""
    patience = Patience()

    for stage, usual in learnt().items():
        assert usual.silence < patience.of(stage) / 2
        assert usual.starts
        assert usual.median <= usual.nine_of_ten <= usual.longest


def test_what_is_learnt_counts_above_the_floor(tmp_path, monkeypatch):
    """A stage that was silent for long in healthy starts gets several times as long."""
    monkeypatch.setattr("vllm_triage.classifier.standstill.patience.LEARNT", tmp_path / "learnt.json")
    (tmp_path / "learnt.json").write_text(LEARNT.read_text().replace('"silence": 70.4', '"silence": 200.0'))

    assert Patience().of("weights") == limits.ROOM * 200


def test_an_earlier_start_of_the_same_log_tells_more_than_other_machines():
    """What took 20 s here once may take a few times that, not five minutes."""
    patience = Patience()
    patience.took("weights", 20.0)

    assert patience.of("weights") == limits.OWN_ROOM * 20
    assert patience.usual("weights") == 20
    patience.took("weights", 1.0)
    assert patience.of("weights") == limits.OWN_ROOM * 20


def test_the_page_tells_it():
    """docs/live.md has a row for each stage that is judged."""
    text = (Path(__file__).parents[3] / "docs/live.md").read_text()
    rows = dict(re.findall(r"^\| ([a-z_, ]+?)(?:, with requests running)? \| (\d+)", text, re.MULTILINE))
    told = {stage: int(seconds) for stages, seconds in rows.items() for stage in stages.split(", ")}

    assert told == {stage: round(Patience().of(stage)) for stage in limits.FLOOR}


@pytest.mark.parametrize("stage", ["api_ready", "shutdown"])
def test_stages_that_wait_for_somebody_else_have_none(stage):
    """A server without requests is silent for days."""
    assert Patience().of(stage) == 0


@pytest.mark.parametrize(
    ("words", "stage", "seconds"),
    [
        (["weights=900"], "weights", 900),
        (["weights=900s"], "weights", 900),
        (["x2"], "distributed_init", 240),
        (["x0.5", "weights=7"], "weights", 7),
    ],
)
def test_it_can_be_adjusted(words, stage, seconds):
    """One stage in seconds, all others by a factor."""
    assert parse(words).of(stage) == seconds


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("wheights=3", "'wheights' is not a stage of a start"),
        ("weights=0", "give seconds above 0"),
        ("weights=nan", "give seconds above 0"),
        ("weights=", "give STAGE=SECONDS"),
        ("x", "give STAGE=SECONDS"),
        ("x0", "give a factor above 0"),
        ("2", "give STAGE=SECONDS"),
    ],
)
def test_what_cannot_be_is_refused(word, told):
    """With what can."""
    with pytest.raises(InputError, match=told.replace("(", r"\(")):
        parse([word])
