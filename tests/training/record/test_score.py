"""The figures of the recorded logs: what counts as right, and what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.training.record.__main__ import main
from vllm_triage.training.record.forms import FORMS
from vllm_triage.training.record.score import ask, read_examples

FAILING = b"""INFO 11-21 10:00:00 [api_server.py:1] vLLM API server version 0.19.1
usage: vllm serve
vllm: error: unrecognized arguments: --harbour-depth 3
"""
HEALTHY = b"""INFO 11-21 10:00:00 [api_server.py:1] vLLM API server version 0.23.0
INFO:     Application startup complete.
INFO:     127.0.0.1:41950 - "POST /v1/completions HTTP/1.1" 200 OK
"""


def entry(name: str, bucket: str, lines: list[int], **more: object) -> dict[str, object]:
    """Return a line of the index."""
    release, fault = name.split("/")
    return {"file": f"{name}.log", "release": release, "fault": fault, "bucket": bucket, "also": [], "evidence_lines": lines, **more}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two recordings of two releases."""
    for name, log in (("0.19.1/flag-unknown", FAILING), ("0.23.0/healthy-serve", HEALTHY)):
        path = tmp_path / f"{name}.log"
        path.parent.mkdir()
        path.write_bytes(log)
        path.with_suffix(".times").write_text("5\n0*2\n")
    write(tmp_path, entry("0.19.1/flag-unknown", "invalid_argument", [3]), entry("0.23.0/healthy-serve", "no_failure", []))  # fmt: skip
    return tmp_path


def write(folder: Path, *entries: dict[str, object]) -> None:
    """Write the index."""
    (folder / "index.jsonl").write_text("".join(json.dumps(item) + "\n" for item in entries))


def test_all_right_ends_with_zero(folder, capsys):
    """Each release has its line, and all of them together one."""
    assert main(["score", "--folder", str(folder), "--form", "as recorded", "docker"]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]

    assert ["0.19.1", "1", "1", "=", "1.000", "1", "=", "1.000", "0", "0"] in printed
    assert ["0.23.0", "0", "-", "-", "1", "0"] in printed
    assert [["as", "recorded"], ["docker"]] == [line for line in printed if line in (["as", "recorded"], ["docker"])]


def test_another_line_is_not_the_evidence(folder, capsys):
    """The bucket alone is half of an answer."""
    write(folder, entry("0.19.1/flag-unknown", "invalid_argument", [1]))

    assert main(["score", "--folder", str(folder), "--form", "as recorded", "--misses"]) == 1
    assert "0.19.1/flag-unknown.log: invalid_argument -> invalid_argument/unknown_option, but not the line" in (
        capsys.readouterr().out
    )


def test_an_alarm_on_a_healthy_log_is_counted(folder, capsys):
    """The failing log, entered as a healthy one."""
    write(folder, entry("0.19.1/flag-unknown", "no_failure", []))

    assert main(["score", "--folder", str(folder), "--form", "as recorded"]) == 1
    assert "0.19.1            0              -              -        1       1" in capsys.readouterr().out


def test_a_bucket_that_is_true_as_well_is_accepted(folder):
    """`also` holds those."""
    write(folder, entry("0.19.1/flag-unknown", "engine_bug", [3], also=["invalid_argument"]))
    example = next(read_examples(folder))
    answer = ask(shared(), example, "as recorded", FORMS["as recorded"], [example])

    assert answer is not None
    assert (answer.accepted, answer.right) == (True, True)


def test_a_form_without_any_evidence_is_not_asked(folder):
    """Nobody can name what is not in the log."""
    write(folder, entry("0.19.1/flag-unknown", "invalid_argument", [3]))
    example = next(read_examples(folder))

    assert ask(shared(), example, "cut", lambda lines, _other: lines[:2], [example]) is None


def test_a_release_can_be_chosen(folder, capsys):
    """The others are neighbours only."""
    main(["score", "--folder", str(folder), "--release", "0.23.0", "--form", "interleaved"])

    assert "0.19.1" not in capsys.readouterr().out
