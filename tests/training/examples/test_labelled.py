"""Labelled logs in every form, and what is said where one is wrong: always the file, and the line."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.errors import InputError
from vllm_triage.training.examples.labelled import bucket_id, read_cases, strange_buckets

ROW = {"id": "a", "text": "ValueError: no", "bucket": "lora", "also": ["no_gpu"], "evidence": "no"}


def test_json_lines_are_read(tmp_path: Path) -> None:
    """Blank lines are passed over; what a line does not say is empty."""
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(ROW) + "\n\n" + '{"log": "x", "bucket": "no_gpu"}\n')
    first, second = read_cases([file])
    assert (first.id, first.bucket, first.also, first.evidence, first.whole()) == (
        "a", "lora", ("no_gpu",), ("no",), "ValueError: no",
    )  # fmt: skip
    assert (second.where, second.id, second.also) == (f"{file}:3", f"{file}:3", ())


@pytest.mark.parametrize(("suffix", "pack"), [(".xz", lzma.compress), (".gz", gzip.compress)])
def test_packed_json_lines_are_read(tmp_path: Path, suffix: str, pack) -> None:
    file = tmp_path / f"cases.jsonl{suffix}"
    file.write_bytes(pack(json.dumps(ROW).encode()))
    assert [case.id for case in read_cases([file])] == ["a"]


def test_sub_folders_are_buckets(tmp_path: Path) -> None:
    """What is empty, hidden, or no log is passed over."""
    for name in ("lora/b.log", "lora/deep/a.log", "no_gpu/c.txt", "no_gpu/notes.md", "no_gpu/.hidden", "top.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a log\n")
    (tmp_path / "lora" / "empty.log").touch()
    cases = read_cases([tmp_path])
    assert [(case.id, case.bucket) for case in cases] == [
        ("lora/b.log", "lora"), ("lora/deep/a.log", "lora"), ("no_gpu/c.txt", "no_gpu"),
    ]  # fmt: skip
    assert cases[0].whole() == "a log\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels.csv", "file,bucket\nx.log,lora\n"),
        ("labels.jsonl", '{"file": "x.log", "bucket": "lora"}\n'),
        ("index.jsonl", '{"file": "x.log", "bucket": "lora", "fault": "f", "evidence_lines": [1]}\n'),
    ],
)
def test_a_file_labels_the_logs_of_its_folder(tmp_path: Path, name: str, text: str) -> None:
    """The log lies beside it."""
    (tmp_path / "x.log").write_text("from the log\n")
    (tmp_path / name).write_text(text)
    (case,) = read_cases([tmp_path])
    assert (case.bucket, case.whole(), case.cause) == ("lora", "from the log\n", "")


def test_a_cause_is_read_where_it_is_one(tmp_path: Path) -> None:
    """Prose is none."""
    file = tmp_path / "x.jsonl"
    rows = [
        {"verdict": "lora/rank_too_high"},
        {"cause": "lora/rank_too_high"},
        {"cause": "the rank", "verdict": "wrong"},
    ]
    file.write_text("".join(json.dumps({"text": "x", "bucket": "lora", **row}) + "\n" for row in rows))
    assert [case.cause for case in read_cases([file])] == ["lora/rank_too_high", "lora/rank_too_high", ""]


def test_feedback_is_read(tmp_path: Path) -> None:
    """Its digest is the text; "wrong" need not say what it was."""
    file = tmp_path / "feedback.jsonl"
    row = {"id": "inc_1", "digest": "E", "stage": "weights", "release": "0.19.1", "group": "feedback/f", "bucket": "",
           "verdict": "wrong", "source": "feedback"}  # fmt: skip
    file.write_text(json.dumps(row))
    (case,) = read_cases([file])
    assert (case.text, case.stage, case.group, case.bucket) == ("E", "weights", "feedback/f", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no JSON"),
        ("[1]", "an object is wanted"),
        ('{"text": "x"}', "no bucket"),
        ('{"bucket": "lora"}', "neither text nor file"),
        ('{"file": "gone.log", "bucket": "lora"}', "no such log"),
        ('{"text": 3, "bucket": "lora"}', "must be texts"),
        ('{"text": "x", "bucket": "lora", "also": [3]}', "also and evidence"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(ROW) + "\n" + text + "\n")
    with pytest.raises(InputError, match=said) as raised:
        read_cases([file])
    assert str(raised.value).startswith(f"{file}:2: ")


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    """Missing, empty, no text, no columns."""
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "labels.csv").write_text("name,label\n")
    (tmp_path / "broken.jsonl.xz").write_bytes(b"no archive")
    for name in ("gone.jsonl", "empty.jsonl", "binary.jsonl", "labels.csv", "broken.jsonl.xz"):
        with pytest.raises(InputError, match=name):
            read_cases([tmp_path / name])


def test_a_label_that_is_no_bucket_is_told_once(tmp_path: Path) -> None:
    """With the nearest one; it may be a kind that a model or rules are yet to learn."""
    file = tmp_path / "cases.jsonl"
    file.write_text('{"text": "x", "bucket": "kv_cache_omm"}\n' * 2 + '{"text": "x", "bucket": "lora"}\n')
    [told] = strange_buckets(read_cases([file]), ["kv_cache_oom", "lora"])
    assert "cases.jsonl:1: 'kv_cache_omm' is not a bucket" in told
    assert "did you mean kv_cache_oom?" in told


@given(st.text(max_size=100))
def test_any_label_makes_an_id(label: str) -> None:
    """As the history takes it; an id stays as it is."""
    made = bucket_id(label)
    assert 0 < len(made) <= 64
    assert made == "".join(sign for sign in made if sign in "abcdefghijklmnopqrstuvwxyz0123456789_")
    assert bucket_id(made) == made
