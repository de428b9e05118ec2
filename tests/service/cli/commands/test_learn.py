"""``vllm-triage learn``: groups, proposals, what is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.service.batch.logs import BANNER
from vllm_triage.service.batch.store.reader import read_rows
from vllm_triage.service.cli.commands.batch import run as batch
from vllm_triage.service.cli.commands.learn import run

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
LINE = "(EngineCore_DP0 pid={0}) ERROR 11-02 10:00:30 [core.py:708] RuntimeError: harbor plugin refused berth {0}: the tide is {0} m too low\n"


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Give the rows of four logs that fail with words that nobody knows."""
    for number in range(4):
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / f"{number}.log").write_text(BANNER.format(minute=1) + LINE.format(number + 7))
    assert batch([str(tmp_path / "logs"), "--out", str(tmp_path / "out"), "--format", "jsonl", "-j", "1"]) == 0
    return tmp_path / "out"


def test_groups_are_shown(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With examples and the pattern; nothing is written."""
    capsys.readouterr()
    assert run([str(reports)]) == 0
    out = capsys.readouterr().out
    assert "4 logs, 4 starts · 2026-11-02" in out or "4 logs, 4 starts" in out
    assert re.search(r"RuntimeError: harbor plugin refused berth \d: the tide is \d m too low", out)
    assert "pattern = '''RuntimeError: harbor plugin refused berth" in out
    assert "fits 4 of 4 starts" in out


def test_an_accepted_rule_names_them(reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the logs to the rule to the logs."""
    capsys.readouterr()
    assert run([str(reports), "--format", "json", "--least", "4"]) == 0
    (group,) = json.loads(capsys.readouterr().out)
    rules = tmp_path / "rules"
    assert run([str(reports), "--accept", group["id"], "--rules-out", str(rules)]) == 0
    words = [tmp_path / "logs", "--out", reports, "--format", "jsonl", "-j", 1, "--again", "all", "--rules", rules]
    assert batch([str(word) for word in words]) == 0
    assert {row["bucket"] for row in read_rows(str(reports))} == {f"found_{group['id']}"}
    capsys.readouterr()
    assert run([str(reports), "--rules", str(rules)]) == 0
    assert capsys.readouterr().out.startswith("nothing: no 3 logs")


def test_on_a_terminal_it_asks(
    reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another title is written with it."""
    answers = iter(["t", "The harbor is closed"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert run([str(reports), "--rules-out", str(tmp_path / "rules")]) == 0
    (path,) = (tmp_path / "rules").iterdir()
    assert 'title = "The harbor is closed"' in path.read_text()


def test_misuse_is_told(reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A group that is not there, a folder that cannot be written."""
    assert run([str(reports), "--accept", "nonsense"]) == 2
    assert "nonsense: no such group" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert run([str(reports), "--accept", "all", "--rules-out", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err
