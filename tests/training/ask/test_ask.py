"""Requests as an endpoint gets them, and answers by references: before and after they were checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.service.ask.double import ANSWER
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.report.pack.request import is_unsure, request_of
from vllm_triage.corpus import store
from vllm_triage.training.ask.__main__ import main

LOG = (Path(store.HERE) / "logs" / "written" / "kv-cache-too-small.log").read_text(encoding="utf-8")
HEALTHY = "INFO 11-21 12:00:01 [api_server.py:100] Starting vLLM API server on http://0.0.0.0:8000\n" * 3
REFERENCE = {
    "set": "logs", "id": "a#1", "right": [{"re": "max-model-len (\\d+)", "max": 41936}], "fair": [], "trap": [{"re": "kv-cache-mode"}],
}  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two logs, one of them without a failure."""
    rows = [{"id": "a#1", "text": LOG}, {"id": "b", "text": HEALTHY}]
    path = tmp_path / "logs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "references.jsonl").write_text(json.dumps(REFERENCE) + "\n", encoding="utf-8")
    return path


def test_a_request_is_what_an_endpoint_gets_to_the_letter(logs, tmp_path, capsys) -> None:
    """One for each failure, under a name that a file can have; the index says what rules answer."""
    assert 0 == main(["--write-requests", str(tmp_path / "out"), str(logs)])
    assert ["index.jsonl", "logs.a_1.txt"] == sorted(path.name for path in (tmp_path / "out").iterdir())
    report = shared().report(LOG)
    assert request_of(report) == (tmp_path / "out" / "logs.a_1.txt").read_text(encoding="utf-8")
    (row,) = map(json.loads, (tmp_path / "out" / "index.jsonl").read_text(encoding="utf-8").splitlines())
    assert ("logs.a_1", report.cause, is_unsure(report)) == (row["name"], row["cause"], row["unsure"])
    assert "1 requests" in capsys.readouterr().out


def test_scores_stand_before_and_after_the_checks(logs, tmp_path, capsys) -> None:
    """What was killed is held against the reference, and what no release has is counted."""
    answers = tmp_path / "answers"
    answers.mkdir()
    text = json.dumps({**ANSWER, "fixes": ANSWER["fixes"][::-1]})
    (answers / "logs.a_1.json").write_text(f"```json\n{text}\n```", encoding="utf-8")
    assert 0 == main(
        ["--answers", str(answers), "--references", str(tmp_path / "references.jsonl"), "--list", str(logs)]
    )
    told = capsys.readouterr().out
    assert "model, unchecked   first right 0.000" in told
    assert "model, checked     first right 1.000" in told
    assert "killed 1 of 2: refuted by the reference 1, right by it 0" in told
    assert "truly wrong of those that it decides 1.000" in told
    assert "proposed 1, shown 0" in told


def test_an_answer_of_another_form_is_named_and_counted(logs, tmp_path, capsys) -> None:
    """It is no reason to stop."""
    (tmp_path / "logs.a_1.json").write_text("certainly!", encoding="utf-8")
    assert 0 == main(["--answers", str(tmp_path), "--references", str(tmp_path / "references.jsonl"), str(logs)])
    assert "answers 0, of another form 1" in capsys.readouterr().out


def test_misuse_ends_with_two(logs) -> None:
    """Neither requests nor answers are asked for."""
    assert 2 == main([str(logs)])
