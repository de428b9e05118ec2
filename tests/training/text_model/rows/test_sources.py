"""Rows of releases, rules, recorded logs and other software: what they show, and from when on it could be known."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from vllm_triage.classifier.api import Triage
from vllm_triage.corpus.compiler import read_bucket
from vllm_triage.training.examples.terms import judged_parts, read_units
from vllm_triage.training.text_model.rows.dataset import CORPUS
from vllm_triage.training.text_model.rows.other_software import group_of, other_logs, other_rows, programs
from vllm_triage.training.text_model.rows.recorded import LabelledLog, log_rows, recorded_logs
from vllm_triage.training.text_model.rows.releases import release_rows
from vllm_triage.training.text_model.rows.rules import Known, rule_rows

SOURCE = """
from vllm.logger import logger


def check_rank(rank):
    if rank > 8:
        raise ValueError(f"LoRA rank {rank} is greater than max_lora_rank of this harbor.")


def start(rank):
    logger.info("The harbor engine starts with all its ranks.")
    check_rank(rank)
"""


@pytest.fixture
def releases(tmp_path: Path) -> list[Path]:
    """Two small releases: the second has one message more."""
    for release, text in (
        ("0.9.0", SOURCE),
        ("0.9.1", SOURCE + "\n\ndef late():\n    raise ValueError('LoRA harbor is late')\n"),
    ):
        file = tmp_path / release / "vllm" / "lora" / "harbor.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return [tmp_path / "0.9.1", tmp_path / "0.9.0"]


def test_each_message_bears_the_first_release_that_has_it(releases: list[Path]) -> None:
    """Whatever order the releases are named in; healthy lines are rows too."""
    rows = list(release_rows(releases, Triage(), 1, lambda _: None))
    told = {(row.origin, row.release, row.bucket) for row in rows}
    assert told == {("release", "0.9.0", "lora"), ("healthy", "0.9.0", "no_failure"), ("release", "0.9.1", "lora")}
    first = next(row for row in rows if row.origin == "release")
    assert ["in start", "in check_rank"] == [
        line.rpartition(", ")[2] for line in first.text.splitlines() if "File" in line
    ]


def test_a_rules_words_are_known_from_the_release_that_says_them() -> None:
    """Words that no read source has count as the newest release's."""
    known = Known({"is greater than max_lora_rank": "0.9.0", "a message of the newest release": "0.12.0"})
    assert known.since("ValueError: LoRA rank 9 is greater than\n max_lora_rank 8") == "0.9.0"
    assert known.since("RuntimeError: said by compiled code alone") == "0.12.0"


def test_rules_of_other_software_belong_to_no_release() -> None:
    """What torch, CUDA or the Hub say could be known at any time; what vLLM says could not."""
    bucket = read_bucket(CORPUS / "buckets" / "lora.toml")
    rows = list(rule_rows([bucket], random.Random(1), Known({"words that stand in no rule": "0.12.0"})))
    ours = {rule.id for rule in bucket.rules if rule.source.startswith("vllm")}
    assert ours
    assert all(row.release for row in rows if row.group in ours)
    assert {row.cause for row in rows if row.origin == "rule"} <= {cause.id for cause in bucket.causes}


def test_a_recorded_fault_is_shown_by_the_lines_that_prove_it() -> None:
    """The exception with its frames, without prefixes; not what was said after it."""
    log = (
        "(EngineCore_DP0 pid=9) ERROR 11-02 10:00:00 [core.py:1] Traceback (most recent call last):\n"
        '(EngineCore_DP0 pid=9) ERROR 11-02 10:00:00 [core.py:1]   File "/opt/venv/lib/python3.12/site-packages/vllm/lora/a.py", line 3, in f\n'
        "(EngineCore_DP0 pid=9) ERROR 11-02 10:00:00 [core.py:1]     raise ValueError(\n"
        "(EngineCore_DP0 pid=9) ERROR 11-02 10:00:00 [core.py:1] ValueError: the harbor has no rank\n"
        "ERROR 11-02 10:00:01 [core.py:9] Engine core initialization failed.\n"
    )
    labelled = LabelledLog(log, "lora", "recorded/x", "0.9.0", "harbor", proof=frozenset({4}))
    (row,) = log_rows([labelled], judged_parts)
    assert row.text.splitlines()[-1] == "ValueError: the harbor has no rank"
    assert (row.bucket, row.cause, row.release, row.fault) == ("lora", "harbor", "0.9.0", "lora/harbor")
    assert "EngineCore" not in row.text


def test_every_recorded_log_of_the_index_is_read() -> None:
    """Its fault keeps the recordings of several releases together."""
    logs = recorded_logs(CORPUS / "logs")
    assert len(logs) > 200
    assert {log.group.partition("/")[0] for log in logs} == {"recorded"}
    assert len({log.group for log in logs}) < len(logs)


def test_many_programs_that_vllm_is_not() -> None:
    """At least forty, and no program that is named in a family is missing."""
    assert len(programs()) >= 60
    assert len({group_of(program) for program in programs()}) >= 40
    assert {row.bucket for row in other_rows(random.Random(1))} == {"unknown", "no_failure"}


def test_logs_of_other_software_are_the_same_each_time() -> None:
    """Quiet lines and failures, drawn by the seed alone; each can be judged by something."""
    first = list(other_logs(random.Random(3), 2))
    assert first == list(other_logs(random.Random(3), 2))
    assert {log.bucket for log in first} == {"unknown"}
    silent = [log.id for log in first if not read_units(log.text)]
    assert len(silent) < len(first) / 20


def test_failures_of_gpus_are_kept_apart() -> None:
    """CUDA out of memory in somebody's training is not taught as "unknown"."""
    border = " ".join(log.text for log in other_logs(random.Random(1), 8, border=True))
    taught = " ".join(row.text for row in other_rows(random.Random(1)))
    assert "CUDA out of memory" in border
    assert "CUDA out of memory" not in taught
