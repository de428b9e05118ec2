"""From a raw recording to the repository: nothing names the machine, and what is promised is proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.training.record.faults import Catalogue, Fault, Outcome
from vllm_triage.training.record.normalise import normalise, replacements
from vllm_triage.training.record.publish import (
    RECORDED,
    NotProvokedError,
    Publisher,
    find_evidence,
    judged,
    long_times,
    short_times,
)
from vllm_triage.training.record.runner import Recording

ABOUT = {
    "venv": "/data/work/releases/1.0/venv",
    "base_prefix": "/opt/python",
    "hub": "http://127.0.0.1:45123",
    "port": 8101,
    "command": ["/data/work/releases/1.0/venv/bin/vllm", "serve"],
    "environment": {},
    "surroundings": [],
    "notes": ["x" * 999],
    "ending": "ended by itself",
    "exit_code": 1,
    "ready": False,
    "reached": False,
    "seconds": 3.5,
    "recorded": "2026-11-21",
}
WORDS = b"10.3.4.56 110.3.4.5 rebuilder builders the-builder /data/workshop"
KNOWN = replacements(ABOUT, "/data/work", ["10.3.4.5"], "builder")
FAULT = Fault(id="lora-rank", broken="rank", bucket="lora", cause="too high", evidence=["rank .* is greater"])


def recorded(work: Path, log: bytes, **about: object) -> Publisher:
    """Write a raw recording and return what publishes it."""
    raw = Recording.at(work, "1.0", FAULT.id)
    raw.log.parent.mkdir(parents=True, exist_ok=True)
    raw.log.write_bytes(log)
    raw.times.write_text("5\n5\n9\n")
    raw.about.write_text(json.dumps({**ABOUT, **about}))
    return Publisher(work, Catalogue(), work / "target")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'File "/data/work/releases/1.0/venv/lib/x.py"', b'File "/opt/venv/lib/x.py"'),
        (b"model='/data/work/models/tiny'", b"model='/models/tiny'"),
        (b"end/data/work/home/.cache", b"end/root/.cache"),
        (b"http://127.0.0.1:45123/api", b"https://huggingface.co/api"),
        (b"('127.0.0.1:45123')", b"('huggingface.co')"),
        (b"on http://127.0.0.1:8101", b"on http://127.0.0.1:8100"),
        (b"tcp://10.3.4.5:4711 builder", b"tcp://192.0.2.10:4711 vllm-host"),
        (
            WORDS,
            WORDS,
        ),
    ],
)
def test_names_of_the_machine_go_and_words_that_hold_them_stay(before: bytes, after: bytes):
    """Whole names only: a longer number or word is another one."""
    assert after == normalise(before, KNOWN)


@given(st.binary(max_size=300))
def test_normalising_twice_changes_nothing_more(log: bytes):
    """And what names nothing stays as it is, byte for byte."""
    once = normalise(log, KNOWN)
    assert once == normalise(once, KNOWN)
    if not any(name.encode() in log for name in KNOWN):
        assert log == once


@given(st.lists(st.sampled_from([*KNOWN, "x", " ", "\n", "/"]), max_size=8).map("".join))
def test_line_numbers_stay_as_recorded(log: str):
    """Evidence is named by its line."""
    assert log.count("\n") == normalise(log.encode(), KNOWN).count(b"\n")


@given(st.lists(st.integers(0, 50), max_size=60))
def test_arrival_times_survive_being_shortened(steps: list[int]):
    """Differences and runs of zeros give the same times again."""
    times = [sum(steps[: count + 1]) for count in range(len(steps))]
    assert times == long_times(short_times("".join(f"{at}\n" for at in times)))


def test_evidence_is_where_the_first_pattern_that_matches_says():
    """A later pattern speaks only where the earlier ones say nothing; what repeats the arguments proves nothing."""
    log = b"INFO non-default args: {'rank is greater'}\n" + b"ValueError: x\nrank 9 is greater\n" * 2
    assert find_evidence(log, ["rank .*is greater", "ValueError"]) == [3, 5]
    assert find_evidence(log, ["nowhere", "ValueError"]) == [2, 4]
    assert find_evidence(log, ["nowhere"]) == []


@pytest.mark.parametrize(("silent", "ready"), [(False, True), (True, False)])
def test_a_log_without_the_promised_line_is_no_example_of_its_fault(silent: bool, ready: bool):
    """Not even where some releases say nothing, if the server did not come up."""
    outcome = Outcome(bucket="lora", evidence=["greater"], silent=silent)
    with pytest.raises(NotProvokedError, match="greater"):
        judged(outcome, {"ready": ready, "reached": ready}, b"all is well\n")


def test_a_refused_request_that_leaves_no_trace_is_a_healthy_log():
    """The answer can be found from the log alone, or it is not asked for."""
    outcome, lines = judged(
        Outcome(bucket="lora", evidence=["greater"], silent=True), {"ready": True, "reached": True}, b"200 OK\n"
    )
    assert (outcome.bucket, lines) == ("no_failure", [])


def test_a_healthy_run_that_did_not_come_up_is_refused():
    """Else a failure would be called healthy."""
    with pytest.raises(NotProvokedError):
        judged(Outcome(bucket="no_failure"), {"ready": False, "reached": False}, b"starting\n")


def test_a_recording_is_kept_with_index_times_and_account(tmp_path: Path):
    """Log, arrival times, one line in the index, and how it was made, all without the machine's names."""
    publisher = recorded(tmp_path, b"start\nrank 9 is greater on builder\n/data/work/models\n")
    assert publisher.publish("1.0", FAULT) == "lora"
    target = tmp_path / "target"
    entry = json.loads((target / "index.jsonl").read_text())
    expected = {
        "file": "1.0/lora-rank.log",
        "release": "1.0",
        "fault": "lora-rank",
        "bucket": "lora",
        "also": [],
        "evidence_lines": [2],
    }
    assert expected == {name: entry[name] for name in expected}
    assert entry["evidence"] == (target / entry["file"]).read_text().split("\n")[1]
    assert long_times((target / "1.0/lora-rank.times").read_text()) == [5, 5, 9]
    told = json.loads((target / "1.0/recordings.json").read_text())["recordings"]["lora-rank"]
    assert told["command"] == "/opt/venv/bin/vllm serve"


def test_publishing_again_replaces_and_withdrawing_removes(tmp_path: Path):
    """One entry a log, and none without its log."""
    publisher = recorded(tmp_path, b"rank 9 is greater\n")
    publisher.publish("1.0", FAULT)
    publisher.publish("1.0", FAULT)
    assert len((tmp_path / "target/index.jsonl").read_text().splitlines()) == 1
    publisher.withdraw("1.0", FAULT.id)
    assert (tmp_path / "target/index.jsonl").read_text() == ""
    assert list((tmp_path / "target/1.0").glob("lora-rank.*")) == []


def committed() -> list[dict[str, Any]]:
    """Return the index as it stands in the repository."""
    return [json.loads(line) for line in (RECORDED / "index.jsonl").read_text(encoding="utf-8").splitlines()]


def test_every_recorded_log_is_indexed_and_its_evidence_stands_where_the_index_says():
    """The index is what others score by."""
    entries = committed()
    assert {entry["file"] for entry in entries} == {
        f"{path.parent.name}/{path.name}" for path in RECORDED.glob("*/*.log")
    }
    for entry in entries:
        lines = (RECORDED / entry["file"]).read_bytes().decode("utf-8", "replace").split("\n")
        assert all(0 < number <= len(lines) for number in entry["evidence_lines"]), entry["file"]
        assert entry["evidence"] == (
            lines[entry["evidence_lines"][0] - 1].rstrip("\r") if entry["evidence_lines"] else ""
        )
        assert (entry["bucket"] == "no_failure") or entry["evidence_lines"], entry["file"]


def test_every_recorded_log_has_a_time_for_each_line():
    """So that a log can be played back as it came."""
    for path in RECORDED.glob("*/*.log"):
        assert len(long_times(path.with_suffix(".times").read_text())) == path.read_bytes().count(b"\n"), path.name
