"""The command as people and programs use it: inputs, options, exit codes."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.service.conftest import FAILED, HEALTHY
from vllm_triage.classifier.api import triage
from vllm_triage.classifier.report.schema import report_of
from vllm_triage.service.cli.arguments import COMMANDS


def test_a_failure_ends_with_one(run, failed):
    """Exit code 1: a failure was found."""
    ran = run(failed)

    assert (ran.code, ran.err) == (1, "")
    assert "kv_cache_oom/no_cache_blocks" in ran.out


def test_a_healthy_log_ends_with_zero(run, healthy):
    """Exit code 0: nothing was found."""
    ran = run(healthy)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("✔")


def test_exit_zero_says_what_it_found_all_the_same(run, failed):
    """For pipelines that must go on."""
    ran = run(failed, "--exit-zero")

    assert (ran.code, "kv_cache_oom" in ran.out) == (0, True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--format", "xml"], "'xml' is not one of its values"),
        (["--min-confidence", "2"], "is not a number from 0 to 1"),
        (["--min-confidence", "high"], "is not a number from 0 to 1"),
        (["--nonsense"], "there is no option --nonsense"),
        (["--only", "no_such_bucket", "-"], "'no_such_bucket' is not a bucket, cause or rule"),
        (["--ignore", "kv_cache_oom/x", "-"], "'kv_cache_oom/x' is not a bucket, cause or rule"),
        (["--rules", "/no/such/folder", "-"], "/no/such/folder: no such rule file or folder"),
        (["--vllm-version", "banana", "-"], "'banana' is not a vLLM release such as 0.19.1"),
        (["expain", "kv_cache_oom"], "did you mean vllm-triage explain?"),
        (["-", "-"], "standard input (-) can be read once"),
        (["/no/such/file.log"], "/no/such/file.log: no such file"),
    ],
)
def test_misuse_ends_with_two(run, words, complaint):
    """Exit code 2 and one line that says what is wrong; never a traceback."""
    ran = run(*words, stdin=FAILED)

    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("words", [[], ["-"]])
def test_standard_input_is_read(run, words):
    """With and without the dash."""
    ran = run(*words, "--format", "json", stdin=FAILED)

    assert (ran.code, json.loads(ran.out)["bucket"]) == (1, "kv_cache_oom")
    assert "file" not in json.loads(ran.out)


def test_several_files_are_answered_one_by_one(run, failed, healthy):
    """Each under its name; one failure is enough for exit code 1."""
    ran = run(healthy, failed)

    assert ran.code == 1
    assert ran.out.index("healthy.log") < ran.out.index("✔") < ran.out.index("failed.log") < ran.out.index("✖")


def test_a_file_that_cannot_be_read_does_not_hide_the_others(run, failed, tmp_path):
    """The others are answered; the exit code says that something was amiss."""
    ran = run(tmp_path / "gone.log", failed)

    assert (ran.code, "gone.log: no such file" in ran.err, "kv_cache_oom" in ran.out) == (2, True, True)


def test_joined_files_are_one_log(run, tmp_path):
    """A log that was split over two files: line numbers run on, the answer is one."""
    first, second = tmp_path / "1.log", tmp_path / "2.log"
    first.write_text("INFO: start\nTraceback (most recent call last):")
    second.write_text("ValueError: No available memory for the cache blocks.\n")
    ran = run("--join", first, second, "--format", "json")

    assert json.loads(ran.out)["evidence"][0]["line"] == 3
    assert json.loads(ran.out)["file"] == f"{first} + {second}"


def test_compressed_files_are_read(run, tmp_path):
    """Rotated logs are."""
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(FAILED.encode()))

    assert run(path).code == 1


@pytest.mark.parametrize(
    "content", [b"", b"\n\n  \n", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40, b"PK\x03\x04rest"]
)
def test_what_is_no_log_is_refused(run, tmp_path, content):
    """Empty, a binary, an archive: exit code 2, not 'no failure'."""
    path = tmp_path / "x"
    path.write_bytes(content)
    ran = run(path)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("vllm-triage: ")


@pytest.mark.parametrize("name", ["kv_cache_oom", "kv_cache_oom/no_cache_blocks", "kv_cache_oom/no-available-memory"])
def test_what_is_ignored_is_told_and_ends_with_zero(run, failed, name):
    """By its bucket, its cause, or the rule that decided."""
    ran, told = run(failed, "--ignore", name, "-f", "json"), run(failed, "--ignore", name)
    answer = json.loads(ran.out)

    assert (0, "kv_cache_oom/no_cache_blocks") == (ran.code, answer["cause"])
    assert {"by": "ignore", "ids": [name]} == answer["filtered"]
    assert (0, 1) == (told.code, len(told.out.splitlines()))
    assert told.out.startswith(f"– Ignored: {name} · kv_cache_oom/no_cache_blocks 98 % · line 2 · ")


def test_what_was_not_asked_for_is_told_and_ends_with_zero(run, failed):
    """``--only`` another bucket; what was asked for counts as ever."""
    outside = run(failed, "--only", "nccl_hang", "-f", "json")
    counted = run(failed, "--only", "kv_cache_oom/no_cache_blocks", "-f", "json")

    assert (0, {"by": "only", "ids": ["nccl_hang"]}) == (outside.code, json.loads(outside.out)["filtered"])
    assert (1, None) == (counted.code, json.loads(counted.out).get("filtered"))
    assert "– Left out: only nccl_hang was asked for" in run(failed, "--only", "nccl_hang").out


def test_below_the_confidence_asked_for_the_answer_is_unknown(run, failed):
    """The guess stays as the nearest candidate, and a note says so."""
    ran = run(failed, "--min-confidence", "0.999", "-f", "json")
    answer = json.loads(ran.out)

    assert (ran.code, answer["cause"], answer["fixes"]) == (1, "unknown/below_threshold", [])
    assert answer["alternatives"][0]["bucket"] == "kv_cache_oom"
    assert "kv_cache_oom/no_cache_blocks" in answer["notes"][-1]


def test_explain_says_why(run, failed):
    """Which rule fired, and on which line."""
    assert "kv_cache_oom/no-available-memory" in run(failed, "--explain").out
    assert json.loads(run(failed, "--explain", "-f", "json").out)["explanation"]


def test_json_is_the_report(run, failed):
    """The library and the command give the same answer, field by field."""
    given = json.loads(run(failed, "-f", "json").out)
    del given["file"]
    report = triage(failed)

    assert json.loads(report.to_json()) == given
    assert report_of(given) == report


def test_colours_only_where_asked_for(run, failed):
    """A pipe gets none."""
    assert "\x1b[" not in run(failed).out
    assert "\x1b[" in run(failed, "--color", "always").out


def test_a_broken_rule_file_is_told_and_the_log_answered(run, failed, tmp_path):
    """One bad file of yours takes nothing down."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "bad.toml").write_text("id = ")
    ran = run(failed, "--rules", tmp_path / "rules")

    assert (ran.code, "rule file left out: bad.toml" in ran.err) == (1, True)


def test_version(run):
    """One line."""
    ran = run("--version")

    assert (ran.code, ran.out.split()[0], len(ran.out.splitlines())) == (0, "vllm-triage", 1)


@pytest.mark.parametrize("words", [["-h"], *([name, "-h"] for name in COMMANDS)])
def test_help(run, words):
    """Every command has one, and every option in it says what it does."""
    ran = run(*words)

    assert (ran.code, ran.out.startswith("usage: vllm-triage")) == (0, True)


def test_help_names_every_command_and_the_exit_codes(run):
    """What a person sees first."""
    out = run("-h").out

    assert all(f"\n  {name} " in out for name in COMMANDS)
    assert "exit codes: 0 no failure found, 1 a failure found, 2 usage or input error" in out


def test_a_log_in_any_encoding_is_shown(run, monkeypatch, tmp_path):
    """What standard output cannot show is replaced, not a crash."""
    path = tmp_path / "x.log"
    path.write_bytes(b"ValueError: No available memory for the cache blocks. \xff\xfe caf\xe9\n")

    assert run(path).code == 1


def test_healthy_and_failed_logs_differ():
    """The samples of these tests are what they are taken for."""
    assert (triage(FAILED).failed, triage(HEALTHY).failed) == (True, False)
