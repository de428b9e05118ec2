"""``--lines`` and ``--find`` of the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.classifier.pack.logs import FAILURE, failing
from vllm_triage.service.cli.main import main


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Return the name of a log."""
    path = tmp_path / "server.log"
    path.write_text("\n".join(failing()) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (["--lines", "1-2"], 0, "1 APIServer 11-02 09:14:01 INFO api_server.py:1351| vLLM API server version 0.13.0"),
        (["--find", "free MEMORY"], 0, FAILURE),
        (["--find", "free memory", "--process", "EngineCore"], 2, ""),
        (["--lines", "9-3"], 2, ""),
        (["--find", "x", "--budget", "7"], 2, ""),
    ],
)
def test_lines_are_shown_instead_of_an_answer(log, capsys, words, code, shown):
    """0 where there are some, 2 where there are none or the question makes no sense."""
    assert code == main([log, *words])
    assert shown in capsys.readouterr().out


def test_lines_as_json(log, capsys):
    assert 0 == main([log, "--find", "free memory", "--format", "json"])
    assert [FAILURE] == [line["text"] for line in json.loads(capsys.readouterr().out)["lines"]]


def test_a_pack_and_a_prompt_of_any_size(log, capsys):
    """As JSON, and to paste; with and without what rules propose."""
    assert 1 == main([log, "--format", "pack", "--budget", "2000"])
    pack = json.loads(capsys.readouterr().out)
    assert 2000 == pack["budget"]
    assert FAILURE in [line["text"] for line in pack["lines"]]
    assert 1 == main([log, "--format", "prompt", "--no-candidates"])
    assert "unchecked" not in capsys.readouterr().out.partition("Answer in this form")[0]
