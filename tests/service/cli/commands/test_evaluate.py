"""``vllm-triage evaluate``: figures, comparison, pictures, exit codes, and one clear line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_triage.classifier.extras import install
from vllm_triage.classifier.text_model.ask import FOLDER

CASES = (
    ("kv", "ValueError: No available memory for the cache blocks.\n", "kv_cache_oom"),
    ("port", "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use\n", "port_in_use"),
    ("fine", "INFO:     Application startup complete.\n", "no_failure"),
    ("odd", 'Traceback (most recent call last):\n  File "/srv/a.py", line 1, in f\nZeroDivisionError: division by zero\n', "lora"),
)  # fmt: skip


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """Four labelled logs, the last of which nobody can answer."""
    file = tmp_path / "cases.jsonl"
    rows = [{"id": name, "text": text, "bucket": bucket} for name, text, bucket in CASES]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_figures_are_printed(run, cases: Path) -> None:
    """Counts, buckets, confusion, and misses with their places."""
    done = run("evaluate", cases, "--engine", "rules")
    assert (done.code, done.err) == (0, "")
    assert "accepted                         0.667  (2/3, 95 %: 0.208–0.939)" in done.out
    assert "macro F1" in done.out
    assert f"{cases}:4  lora -> unknown/unrecognised_failure" in done.out


def test_ci_may_ask_for_a_share(run, cases: Path) -> None:
    """Three of four: 0.75 is reached, 0.9 is not."""
    assert run("evaluate", cases, "--engine", "rules", "--at-least", "0.75").code == 0
    done = run("evaluate", cases, "--engine", "rules", "--at-least", "0.9")
    assert done.code == 1
    assert "3 of 4 logs are answered as they should be: 0.750, below 0.9" in done.err


def test_json_holds_the_figures(run, cases: Path, tmp_path: Path) -> None:
    """To a file beside the text, or to standard output instead of it."""
    done = run("evaluate", cases, "--engine", "rules", "--json", "-")
    data = json.loads(done.out)
    assert data["result"]["accepted"]["count"] == 2
    run("evaluate", cases, "--engine", "rules", "--json", tmp_path / "figures.json")
    assert json.loads((tmp_path / "figures.json").read_text()) == data


@pytest.mark.parametrize("other", ["model", FOLDER])
def test_two_engines_are_compared(run, cases: Path, other: str) -> None:
    """By name, or by the folder of a model."""
    done = run("evaluate", cases, "--engine", "rules", "--against", other, "--json", "-")
    found = json.loads(done.out)["against"]["comparison"]
    assert found["both"] + found["first_alone"] + found["second_alone"] + found["neither"] == 4
    assert "McNemar" in run("evaluate", cases, "--engine", "rules", "--against", other).out


def test_baselines_stand_beside(run, cases: Path, tmp_path: Path) -> None:
    """All four, trained on rows of your choice."""
    pytest.importorskip("sklearn")
    from vllm_triage.training.examples.row import Row, write_rows

    rows = [Row(text, bucket, name, "rule") for name, text, bucket in CASES]
    write_rows(tmp_path / "rows.jsonl", rows)
    done = run("evaluate", cases, "--engine", "rules", "--baselines", "--rows", tmp_path / "rows.jsonl")
    for name in ("last error line", "keyword vote", "TF-IDF + logistic regression", "nearest neighbour"):
        assert f"| {name} |" in done.out


@pytest.mark.slow
def test_a_folder_gets_report_and_pictures(run, cases: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    done = run("evaluate", cases, "--engine", "rules", "--out", out)
    assert sorted(path.name for path in out.iterdir()) == [
        "confusion.png",
        "reliability.png",
        "report.json",
        "report.txt",
    ]
    assert (out / "report.txt").read_text() == done.out


def test_missing_matplotlib_is_told_before_the_work(run, cases: Path, tmp_path: Path, monkeypatch) -> None:
    """With what to install; figures alone need none."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.backends.backend_agg", None)
    done = run("evaluate", cases, "--out", tmp_path / "out")
    assert done.code == 2
    assert done.err == f"vllm-triage: this needs matplotlib: {install('model')}\n"
    assert not (tmp_path / "out").exists()
    assert run("evaluate", cases, "--engine", "rules").code == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "cases.jsonl:1: no JSON: "),
        ('{"text": "x"}', "cases.jsonl:1: no bucket"),
        ('{"text": "  ", "bucket": "lora"}', "cases.jsonl:1: the log is empty"),
        ("", "cases.jsonl: no labelled log in it"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(run, tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "cases.jsonl").write_text(line)
    done = run("evaluate", tmp_path / "cases.jsonl")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gone.jsonl"], "gone.jsonl: No such file"),
        (["CASES", "--model", "gone"], "model gone: No such file"),
        (["CASES", "--against", "gone"], "model gone: No such file"),
        (["CASES", "--rules", "gone"], "gone: no such rule file or folder"),
        (["CASES", "--at-least", "2"], "not a number from 0 to 1"),
        (["CASES", "--engine", "oracle"], "not one of its values"),
        (["CASES", "--rows", "gone", "--baselines", "--engine", "rules"], "gone"),
        ([], "required"),
    ],
)
def test_wrong_usage_is_told(run, cases: Path, words: list[str], said: str) -> None:
    done = run("evaluate", *(cases if word == "CASES" else word for word in words))
    assert done.code == 2
    assert said in done.err


def test_help_names_the_forms_of_cases(run) -> None:
    assert "labels.csv" in run("evaluate", "--help").out


def test_a_label_that_is_no_bucket_is_told(run, tmp_path: Path) -> None:
    """It may be a kind that a model is yet to learn: the figures before that are of interest."""
    (tmp_path / "cases.jsonl").write_text('{"text": "acme.AcmeError: lease lost", "bucket": "acme_license"}\n')
    done = run("evaluate", tmp_path / "cases.jsonl")
    assert (0, 1) == (done.code, done.err.count("\n"))
    assert "cases.jsonl:1: 'acme_license' is not a bucket, so no answer can be right" in done.err
