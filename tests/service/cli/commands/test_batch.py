"""``vllm-triage batch``: rows on disk, what is told at the end, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.batch.logs import fleet
from vllm_triage.service.batch.store.reader import read_rows
from vllm_triage.service.cli.commands.batch import run


def batch(*words: object) -> int:
    """Run the command in one process."""
    return run([str(word) for word in (*words, "--format", "jsonl", "-j", 1)])


def test_rows_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second run has nothing to do and says so."""
    logs, out = fleet(tmp_path / "logs", 3), tmp_path / "out"
    assert batch(logs, "--out", out, "--from-path", r"/(?P<node>node-\d)/") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("3 logs read, 4 starts, 4 failed\n         3  kv_cache_oom\n         1  port_in_use\n")
    assert {row["node"] for row in read_rows(str(out))} == {"node-0", "node-1"}
    assert batch(logs, "--out", out) == 0
    assert capsys.readouterr().out.startswith("0 logs read, 0 starts, 0 failed; 3 were done before\n")


def test_a_log_that_cannot_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are read; the exit code says that something is missing."""
    logs = fleet(tmp_path / "logs", 1)
    (logs / "empty.log").write_text("")
    assert batch(logs, "--out", tmp_path / "out") == 1
    printed = capsys.readouterr()
    assert "1 not read" in printed.out
    assert f"not read: {logs}/empty.log: the log is empty" in printed.err


def test_a_folder_without_logs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody waits for the report of nothing."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "notes.md").write_text("no log")
    assert batch(tmp_path / "logs", "--out", tmp_path / "out") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{tmp_path}/logs: no logs there" in printed.err


def test_a_disk_that_fills_up_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever file is the last that fits, the next run goes on there."""
    from vllm_triage.service.batch.store.folder import Local

    logs, write, left = fleet(tmp_path / "logs", 6), Local.write, [0]

    def full(folder: Local, name: str, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        write(folder, name, data)

    assert batch(logs, "--out", tmp_path / "whole") == 0
    monkeypatch.setattr(Local, "write", full)
    for fits in range(20):
        left[0] = fits
        if batch(logs, "--out", tmp_path / "out") == 0:
            break
    assert fits > 2
    wanted = sorted(row["id"] for row in read_rows(str(tmp_path / "whole")))
    assert sorted(row["id"] for row in read_rows(str(tmp_path / "out"))) == wanted


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file where the folder should be, a full disk."""
    (tmp_path / "out").write_text("")
    assert batch(fleet(tmp_path / "logs", 1), "--out", tmp_path / "out") == 2
    assert "the rows cannot be written (" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gone", "--out", "out"], "gone: no such file or folder"),
        ([".", "--out", "out", "--from-path", "("], "--from-path '('"),
        ([".", "--out", "out", "--from-path", "a"], "name what it finds"),
        ([".", "--out", "out", "--from-path", "(?P<who>a)"], "'who' is none of node, release, model, gpu, day"),
        ([".", "--out", "out", "--without", "nonsense"], "nonsense: no bucket, cause or rule"),
        ([".", "--out", "out", "--rules", "gone"], "gone: no such rule file"),
        ([".", "--out", "out", "-j", "0"], "'0' is not a number of processes"),
        ([".", "--out", "nowhere://x"], "nowhere"),
    ],
)
def test_misuse_is_told(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is read."""
    monkeypatch.chdir(tmp_path)
    assert batch(*words) == 2
    assert says in capsys.readouterr().err


def test_without_pyarrow_the_rows_are_json_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The smallest installation answers a fleet, too, and says how Parquet is had."""
    from vllm_triage.service.cli.commands import batch

    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("ValueError: No available memory for the cache blocks.\n")
    monkeypatch.setattr(batch, "find_spec", lambda _name: None)
    assert batch.run([str(tmp_path / "logs"), "--out", str(tmp_path / "out")]) == 0
    assert "rows as JSON lines" in capsys.readouterr().err
    assert list((tmp_path / "out").rglob("*.jsonl*"))
