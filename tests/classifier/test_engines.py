"""What decides: rules first, rules alone, the model alone; and what an answer of the model says of itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vllm_triage.classifier.advice.sources.cause import generic_cause
from vllm_triage.classifier.api import Triage, shared
from vllm_triage.classifier.decides import Decides
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.question import Question
from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.text_model import ask as text_model
from vllm_triage.classifier.text_model.guess import mixed, spoken
from vllm_triage.classifier.verdict.conclude import GENERIC
from vllm_triage.classifier.verdict.likely_cause import likely_cause
from vllm_triage.corpus.store import load

RULED = "ValueError: No available memory for the cache blocks.\n"
FRAME = '  File "/opt/venv/lib/python3.12/site-packages/vllm/lora/peft_helper.py", line 90, in validate_legal\n'
REWORDED = (
    "Traceback (most recent call last):\n" + FRAME + "    check(rank)\n"
    "ValueError: adapter harbor asks for LoRA rank 512, which is more than max_lora_rank allows here\n"
)
UNRULED = (
    'Traceback (most recent call last):\n  File "/opt/venv/lib/python3.12/site-packages/vllm/lora/harbor.py", line 90, in moor\n'
    "    moor(adapter)\nValueError: adapter harbor cannot be moored beside that LoRA adapter\n"
)
FOREIGN = (
    'Traceback (most recent call last):\n  File "/srv/shop/cart.py", line 9, in total\n    return a / b\n'
    "ZeroDivisionError: division by zero\n"
)
HEALTHY = (
    "INFO:     Application startup complete.\n" + 'INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'
)


@pytest.fixture(scope="module")
def model() -> Triage:
    """The model alone."""
    return Triage(engine="model")


def test_rules_decide_first() -> None:
    """The model is not read where a rule speaks."""
    code = (
        "import sys; from vllm_triage.classifier.api import Triage; "
        f"print(Triage().report({RULED!r}).decided_by); "
        "names = ('numpy', 'sklearn', 'scipy', 'pydantic', 'vllm_triage.classifier.text_model.guess', 'vllm_triage.classifier.advice.guess'); "
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["rule", "[]"]


def test_rules_alone_never_ask_the_model() -> None:
    """What no rule knows is unknown then."""
    assert Triage(engine="rules").report(FOREIGN).bucket == "unknown"
    code = (
        "import sys; from vllm_triage.classifier.api import Triage; "
        f"Triage(engine='rules').report({FOREIGN!r}); print('vllm_triage.classifier.text_model.ask' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_model_alone_answers_what_rules_know_too(model: Triage) -> None:
    """Rules are silent: the same log is decided otherwise, and evidence are lines of the log."""
    answer = model.report(REWORDED)
    assert (answer.bucket, answer.decided_by) == ("lora", "model")
    assert answer.confidence >= text_model.THRESHOLD
    assert {item.text for item in answer.evidence} <= set(REWORDED.splitlines())
    assert answer.evidence
    assert answer.fixes or answer.withheld
    assert answer.symptoms == ()


def test_beside_rules_the_policy_says_how_sure_the_model_must_be(tmp_path: Path) -> None:
    """The threshold in the model's file is for the model asked alone; where rules went first, the verdict has its own."""
    for file in Path(text_model.FOLDER).iterdir():
        shutil.copy(file, tmp_path)
    about = json.loads((tmp_path / "text.json").read_text())
    (tmp_path / "text.json").write_text(json.dumps({**about, "threshold": 1.1}))
    hidden = {rule.id for rule in load().rules if rule.bucket == "lora"}
    answers = {
        engine: Triage(without=hidden, engine=engine, model=tmp_path).report(UNRULED) for engine in ("auto", "model")
    }
    assert {engine: (answer.bucket, answer.decided_by) for engine, answer in answers.items()} == {
        "auto": ("lora", "model"),
        "model": ("unknown", "none"),
    }


@pytest.mark.parametrize("text", ["ValueError: the harbor has no window for that", "harbor.errors.TideError: too low"])
def test_an_exception_alone_is_a_failure(text: str) -> None:
    """An excerpt that is the last line of a traceback and no more shows no healthy server."""
    assert Triage(engine="rules").report(f"{text}\n").bucket == "unknown"


def test_an_answer_of_the_model_says_so(model: Triage) -> None:
    """In title and summary, which every format shows."""
    report = model.report(REWORDED)
    assert report.title.startswith("Probably: ")
    assert "The text model puts it nearest to lora, with " in report.summary
    assert f"{round(100 * report.confidence)} %" in report.summary
    assert report.cause.startswith("lora/")
    assert report.alternatives[0].confidence <= report.confidence


def test_what_decided_is_told_on_request(model: Triage) -> None:
    """Terms in words, with their lines."""
    (told,) = model.report(REWORDED).explanation
    assert told.startswith("text model: lora ")
    assert "(line " in told


def test_facts_and_stages_stay(model: Triage) -> None:
    """Only what decides is silent."""
    answer = model.report("INFO 11-21 09:00:00 [api_server.py:1500] vLLM API server version 0.19.1\n" + REWORDED)
    assert answer.facts["vllm_version"] == "0.19.1"


def test_a_foreign_failure_is_unknown_to_the_model(model: Triage) -> None:
    """The nearest buckets stand beside it, each with its probability."""
    answer = model.report(FOREIGN)
    assert answer.bucket in ("unknown", "no_failure")
    assert all(other.bucket != answer.bucket for other in answer.alternatives)


def test_a_healthy_log_is_none_for_the_model(model: Triage) -> None:
    """Where there is nothing to judge, the stage speaks."""
    answer = model.report(HEALTHY)
    assert answer.bucket == "no_failure"
    assert answer.decided_by in ("stage", "none", "model")


@pytest.mark.parametrize("engine", ["auto", "model"])
def test_filters_hold_for_answers_of_the_model(engine: Decides) -> None:
    """As they do for those of rules: the answer stays, and does not count."""
    questions = (
        Question(ignore=["lora"], engine=engine),
        Question(only=["no_gpu"], engine=engine),
        Question(only=["lora"], engine=engine),
    )
    ignored, outside, counted = (shared().report(REWORDED, question) for question in questions)
    assert ["lora"] * 3 == [answer.bucket for answer in (ignored, outside, counted)]
    assert [False, False, True] == [answer.failed for answer in (ignored, outside, counted)]


def test_another_engine_is_refused() -> None:
    with pytest.raises(InputError, match="none of auto, rules, model"):
        Triage(engine="oracle")  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["auto", "model"])
def test_a_model_that_is_not_there_is_told_at_once(engine: Decides, tmp_path: Path) -> None:
    """Not in the middle of a log; rules alone do not ask for it."""
    with pytest.raises(InputError, match="vllm-triage train"):
        Triage(engine=engine, model=tmp_path / "gone")
    assert Triage(engine="rules", model=tmp_path / "gone").report(RULED).bucket == "kv_cache_oom"


def test_a_damaged_model_is_told(tmp_path: Path) -> None:
    """By its own file, and by the shipped one's."""
    (tmp_path / "own.json").write_text("{}")
    with pytest.raises(InputError, match="train it anew"):
        Triage(model=tmp_path)
    whole = tmp_path / "whole"
    shutil.copytree(text_model.FOLDER, whole)
    (whole / "text.bin").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be read"):
        Triage(model=whole)


def test_a_whole_model_stands_in_for_the_shipped_one(tmp_path: Path, model: Triage) -> None:
    """A copy of it gives its answers."""
    whole = tmp_path / "whole"
    shutil.copytree(text_model.FOLDER, whole)
    copy = Triage(engine="model", model=whole).report(REWORDED)
    shipped = model.report(REWORDED)
    assert (copy.cause, copy.confidence, copy.alternatives) == (shipped.cause, shipped.confidence, shipped.alternatives)
    assert [item.line for item in copy.evidence] == [item.line for item in shipped.evidence]


def test_the_environment_names_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the caller names goes before it."""
    monkeypatch.setenv("VLLM_TRIAGE_MODEL", os.fspath(tmp_path / "gone"))
    with pytest.raises(InputError, match="gone"):
        Triage()
    Triage(model=text_model.FOLDER)


def test_probabilities_of_two_models_sum_to_one() -> None:
    """What the user's leaves is shared out as the shipped one says; likeliest first."""
    both = mixed([("lora", 0.75), ("no_gpu", 0.25)], {"acme": 0.5, "lora": 0.1}, 0.4)
    assert both == [("acme", 0.5), ("lora", pytest.approx(0.4)), ("no_gpu", pytest.approx(0.1))]
    assert mixed([], {"acme": 0.9}, 0.1) == [("acme", 0.9), ("unknown", 0.1)]


def test_a_cause_is_named_only_where_it_stands_out() -> None:
    """By the words of its rules."""
    corpus = load()
    terms = {
        f"w:{word}"
        for word in [
            "at",
            "least",
            "one",
            "request",
            "max",
            "seq",
            "len",
            "needed",
            "kv",
            "cache",
            "memory",
            "larger",
            "than",
            "available",
        ]
    }
    assert likely_cause("kv_cache_oom", terms, corpus) in ("context_exceeds_cache", "")
    assert likely_cause("kv_cache_oom", {"w:the"}, corpus) == ""


@pytest.mark.parametrize("bucket", [name for name in load().buckets() if name not in ("unknown", "no_failure")])
def test_fixes_without_a_cause_harm_nothing(bucket: str) -> None:
    """Of every bucket there are some, none of which destroys."""
    fixes = generic_cause(load().bucket(bucket)).fixes
    assert 0 < len(fixes) <= 2
    assert all(fix.safety != "destructive" for fix in fixes)


def test_terms_are_spoken_as_people_read_them() -> None:
    assert spoken("w:rank") == "word 'rank'"
    assert spoken("k:ValueError") == "exception 'ValueError'"
    assert spoken("zz:x") == "zz 'x'"
    assert GENERIC == "unspecified"


def test_a_model_answer_is_whole_in_json(model: Triage) -> None:
    """Also by the typed contract."""
    report = model.report(REWORDED)
    assert report.decided_by == "model"
    assert Report.from_json(report.to_json()) == report
