"""Folders, patterns and archives given to the command itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.service.batch.logs import BANNER, fleet, no_cache
from vllm_triage.service.cli.main import main


def answer(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Run the command; return exit code, output and complaints."""
    code = main([str(word) for word in words])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_folder_is_told_on_one_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each cause with its change, and each log that failed, its name uncut."""
    fleet(tmp_path, 4)
    code, out, _ = answer(capsys, tmp_path)
    assert code == 1
    assert out.startswith("4 logs · 4 failed\n")
    assert "2  port_in_use/http_port_taken 96 %" in out
    assert "   --port 8001\n" in out
    assert f"   {tmp_path}/node-1/server-3.log\n" in out
    assert f"vllm-triage {tmp_path}/node-0/server-2.log shows all of one" in out, "of the most frequent cause"


def test_many_failures_are_told_by_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """More than a screen of them is counted."""
    fleet(tmp_path, 30)
    _, out, _ = answer(capsys, tmp_path)
    assert out.startswith("30 logs · 30 failed\n")
    assert "20  kv_cache_oom/no_cache_blocks" in out
    assert "10  port_in_use/http_port_taken" in out


def test_formats_for_programs_hold_every_log_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As if each had been named."""
    fleet(tmp_path, 3)
    names = [str(tmp_path / "node-0" / f"server-{index}.log") for index in (0, 2)]
    names.append(str(tmp_path / "node-1" / "server-1.log"))
    for form in ("json", "jsonl", "sarif", "markdown"):
        assert answer(capsys, tmp_path, "--format", form) == answer(capsys, *names, "--format", form)


def test_one_log_in_a_folder_is_shown_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to sum up."""
    (tmp_path / "only.log").write_text(no_cache())
    assert "ValueError: No available memory for the cache blocks." in answer(capsys, tmp_path)[1]


def test_what_cannot_be_read_is_told_and_the_others_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where several files are named."""
    fleet(tmp_path, 2)
    (tmp_path / "empty.log").write_text("")
    code, out, err = answer(capsys, tmp_path, "--format", "jsonl")
    assert code == 2
    assert [json.loads(line).get("error", "") != "" for line in out.splitlines()] == [False, False, True]
    assert f"{tmp_path}/empty.log: the log is empty" in err


def test_healthy_logs_end_with_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing failed, nothing is listed."""
    ready = "INFO:     Application startup complete.\n"
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(BANNER.format(minute=1) + ready)
    assert answer(capsys, tmp_path)[:2] == (0, "2 logs · 2 without a failure\n")


@pytest.mark.parametrize(("form", "empty"), [("text", ""), ("json", "[]\n"), ("jsonl", ""), ("sarif", '"results": []')])
def test_a_folder_without_logs_is_a_mistake(
    form: str, empty: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong path in CI is not green; programs get an empty answer of the right form all the same."""
    code, out, err = answer(capsys, tmp_path, "--format", form)
    assert (code, empty in out, bool(out)) == (2, True, bool(empty))
    assert f"{tmp_path}: no logs" in err


def test_what_is_no_log_of_vllm_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside logs it is counted apart; alone it is a mistake."""
    (tmp_path / "config.json").write_text('{"hidden_size": 64}\n')
    (tmp_path / "passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    code, out, err = answer(capsys, tmp_path)
    assert (code, out) == (2, "2 logs · 2 not from vLLM\n")
    assert "none of the 2 files is a vLLM log" in err
    (tmp_path / "server.log").write_text(no_cache())
    code, out, _ = answer(capsys, tmp_path)
    assert (code, out.splitlines()[0]) == (1, "3 logs · 1 failed · 2 not from vLLM")


def test_concise_is_a_line_for_each_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As linters write: file, line, what, and the change."""
    fleet(tmp_path, 4)
    _, out, _ = answer(capsys, tmp_path, "-f", "concise")
    lines = out.splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith(f"{tmp_path}/node-1/server-3.log:")
    assert "port_in_use/http_port_taken 96 %: --port 8001" in lines[-1]


def test_misuse_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard input is one log; a pattern that fits nothing is a mistake."""
    assert "standard input (-) is one log" in answer(capsys, tmp_path, "-", "--format", "json")[2]
    code, _, err = answer(capsys, tmp_path / "*.log")
    assert code == 2
    assert "nothing has a name like this" in err


@pytest.mark.slow
def test_processes_answer_as_one_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the same order, to the byte."""
    fleet(tmp_path, 60)
    one = answer(capsys, tmp_path, "--format", "jsonl", "-j", 1)
    assert answer(capsys, tmp_path, "--format", "jsonl", "-j", 2) == one
    assert len(one[1].splitlines()) == 60
