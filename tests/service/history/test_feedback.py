"""Feedback, and the training rows that come of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.history.reports import report
from vllm_triage.classifier.api import shared
from vllm_triage.training.examples.row import Row
from vllm_triage.training.examples.terms import read_units

RECORDED = Path(__file__).parents[3] / "corpus" / "logs" / "recorded" / "0.32.0"
OURS = ("kv_cache_oom", "kv_cache_oom/context_exceeds_cache")


def test_right(history, clock):
    """The row to train on has the answer."""
    got = history.record(report())
    said = history.feedback(got.id, "right", note=" thanks ", source="slack:U1")

    assert (got.id, "right", *OURS, "thanks", "slack:U1", clock.now) == (
        said.incident, said.verdict, said.bucket, said.cause, said.note, said.source, said.at,
    )  # fmt: skip
    stored = history.incident(got.id)
    assert ("right", (said,)) == (stored.incident.feedback, stored.feedback)


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({}, ("", "")),
        ({"bucket": "runtime_oom"}, ("runtime_oom", "")),
        ({"cause": "runtime_oom/activations"}, ("runtime_oom", "runtime_oom/activations")),
        ({"bucket": "kv_cache_oom", "cause": "kv_cache_oom/no_cache_blocks"}, ("kv_cache_oom", "kv_cache_oom/no_cache_blocks")),
    ],
)  # fmt: skip
def test_wrong(history, told, kept):
    got = history.record(report())
    said = history.feedback(got.id, "wrong", **told)

    assert kept == (said.bucket, said.cause)
    assert "wrong" == history.incident(got.id).incident.feedback


def test_what_makes_no_sense_is_refused(history):
    got = history.record(report())
    for said in (
        {"verdict": "maybe"},
        {"verdict": "wrong", "bucket": "kv_cache_oom"},
        {"verdict": "wrong", "cause": "kv_cache_oom/context_exceeds_cache"},
        {"verdict": "wrong", "bucket": "../etc"},
        {"verdict": "wrong", "cause": "no slash"},
        {"verdict": "wrong", "bucket": "runtime_oom", "cause": "kv_cache_oom/no_cache_blocks"},
        {"verdict": "right", "bucket": "runtime_oom"},
        {"verdict": "right", "cause": "kv_cache_oom/no_cache_blocks"},
    ):
        with pytest.raises(ValueError, match=r"."):
            history.feedback(got.id, **said)
    assert () == history.incident(got.id).feedback


def test_an_incident_that_is_not_there(history):
    with pytest.raises(KeyError):
        history.feedback("inc_nothing", "right")


def test_who_speaks_again_takes_back_what_was_said(history, clock):
    """A button that is pressed twice counts once; the incident shows what was said last."""
    got = history.record(report())
    history.feedback(got.id, "right", source="a")
    clock.forward(seconds=1)
    history.feedback(got.id, "wrong", bucket="runtime_oom", source="b")
    clock.forward(seconds=1)
    history.feedback(got.id, "wrong", source="a")

    assert [("a", "wrong"), ("b", "wrong")] == [
        (said.source, said.verdict) for said in history.incident(got.id).feedback
    ]
    assert "wrong" == history.record(report()).feedback


def test_secrets_in_a_note_are_masked(history):
    got = history.record(report())
    said = history.feedback(got.id, "wrong", note="the key was hf_" + "a" * 30 + " \0" + "x" * 5000)

    assert said.note.startswith("the key was <hf-token>")
    assert 2000 == len(said.note)


def test_rows(history, clock):
    """In the order of the log, without wrappers: those are about the failure, and are not it."""
    got = history.record(report(), service="chat")
    history.feedback(got.id, "wrong", bucket="runtime_oom", source="U1")
    history.record(report("ValueError: something newer by now"), service="chat")
    made = report()

    assert [
        {
            "id": got.id, "digest": "\n".join(line.text for line in made.context), "stage": "profile",
            "release": "0.32.0", "group": f"feedback/{got.fingerprint}", "bucket": "runtime_oom", "cause": "",
            "verdict": "wrong", "answered": {"bucket": OURS[0], "cause": OURS[1]}, "source": "feedback",
            "at": "2026-03-01T10:30:00.000Z",
        }
    ] == list(history.export())  # fmt: skip


def test_many_rows(opened, monkeypatch):
    """More than are read in one go, each once."""
    monkeypatch.setattr("vllm_triage.service.history.feedback.AT_ONCE", 3)
    history = opened()
    got = history.record(report())
    for number in range(8):
        history.feedback(got.id, "right", note=str(number), source=str(number))

    assert 8 == len(list(history.export()))


@pytest.mark.parametrize(
    "name", ["kv-context-exceeds-cache", "weights-wrong-shape", "lscpu-missing", "tokenizer-cut-off"]
)
def test_a_row_is_read_by_the_text_model(opened, name):
    """The training reads the same exception out of a row as the classifier out of the whole log."""
    path = RECORDED / f"{name}.log"
    history = opened()
    made = shared().report(path)
    history.feedback(history.record(made).id, "right")
    (row,) = history.export()
    trained = Row(row["digest"], row["bucket"], row["group"], row["source"], row["release"], row["stage"])
    first = read_units(trained.text, trained.stage)[0]
    kinds = {
        term for unit in read_units(path.read_text(errors="replace")) for term in unit.terms if term.startswith("k:")
    }

    assert made.startup.reached == trained.stage
    assert {term for term in first.terms if term.startswith("k:")} <= kinds
    assert {"w:error", f"s:{trained.stage}"} & set(first.terms)
