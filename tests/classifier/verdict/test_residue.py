"""Every abnormal line is accounted for, or it is the evidence."""

from __future__ import annotations

import pytest

from tests.classifier.verdict.logs import ANSWERED, DEAD, READY, START, STOPPED, TRIAGE, findings

WORKER = "(Worker_TP0 pid=78) WARNING 11-02 10:00:15 [cogs.py:3] "


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("cog.mlir:12:7: error: the seventh cog does not mesh", True),
        ("*** stack smashing detected ***: cogd", True),
        ("(Worker_TP0 pid=78) WARNING 11-02 10:05:01 [cogs.py:3] cogsSync failed: hipErrorCogMissing (4711)", True),
        ("ERR00471 the seventh cog failed", True),
        ("cogd: terminated, status: 3", True),
        ("cogd: terminated, status: 0", False),
        ('INFO:     10.0.0.9:41000 - "POST /v1/completions HTTP/1.1" 400 Bad Request', True),
        ('INFO:     10.0.0.9:41000 - "GET /robots.txt HTTP/1.1" 404 Not Found', False),
        ("cogs.errors.CogError: the seventh cog is gone", False),  # an exception, which is read as such
        ("INFO 11-02 10:05:01 [cogs.py:3] retry after CogError: gone", False),
        ("WARNING 11-02 10:05:01 [cogs.py:3] the seventh cog could not be found", False),  # of a server at work
    ],
)
def test_what_a_healthy_server_does_not_say_is_left_over(line: str, told: bool) -> None:
    found = findings(START + READY + ANSWERED + line + "\n")

    assert [item.raw for item in found.residue] == ([line] if told else [])


@pytest.mark.parametrize("after", [READY, READY + ANSWERED, STOPPED])
def test_what_the_server_outlived_is_accounted_for(after: str) -> None:
    line = "LLVM ERROR: the seventh cog does not mesh\n"

    assert [] == findings(START + (line + after if after != STOPPED else READY + after + line)).residue


def test_a_refused_request_is_history_once_others_are_answered() -> None:
    refused = 'INFO:     10.0.0.9:41000 - "POST /v1/completions HTTP/1.1" 422 Unprocessable Entity\n'

    assert [] == findings(START + READY + refused + ANSWERED).residue
    assert ("no_failure/requests_refused", "unknown") == (
        (answer := TRIAGE.report(START + READY + ANSWERED + refused)).cause,
        answer.state,
    )


@pytest.mark.parametrize("words", ["the cog could not be found", "cog 7 is too large", "cog: permission denied"])
def test_in_an_excerpt_ordinary_words_of_trouble_are_the_evidence(words: str) -> None:
    """Whoever chose these lines did not choose them for being healthy."""
    answer = TRIAGE.report(f"{WORKER}{words}\n")

    assert ("unknown", words) == (answer.bucket, answer.evidence[0].text.rpartition("] ")[2])
    assert "not vLLM" not in f"{answer.title} {answer.summary}"


def test_a_wait_that_is_told_again_and_leads_to_nothing_is_no_health() -> None:
    waiting = "".join(
        f"(EngineCore pid=7) INFO 11-02 10:0{at}:00 [cogs.py:3] Waiting for cog {at}\n" for at in range(4)
    )

    assert "unknown" == TRIAGE.report(waiting).bucket
    assert "no_failure" == TRIAGE.report(waiting.partition("\n")[0] + "\n").bucket


@pytest.mark.parametrize("words", ["ERR00471 the seventh cog failed", "cog.cpp:3: error: the seventh cog is gone"])
def test_a_death_beside_words_that_nobody_knows_is_not_said_to_be_without_words(words: str) -> None:
    answer = TRIAGE.report(START + READY + words + "\n" + DEAD)

    assert words == answer.evidence[0].text
    assert not any(denial in f"{answer.title} {answer.summary}" for denial in ("says why", "say why", "cut off"))
    assert "cut off" in TRIAGE.report(START + READY + DEAD).title


def test_only_marks_of_another_program_make_a_text_another_programs() -> None:
    other = TRIAGE.report(
        "#!/usr/bin/env bash\nset -e\nimport cogs\nfrom cogs import turn\nimport os\nimport re\nimport io\n"
    )
    nothing = TRIAGE.report("root:x:0:0:root:/root:/bin/bash\nbin:x:2:2:bin:/bin:/usr/sbin/nologin\n")

    assert "not a vLLM log" in other.summary
    assert "not a vLLM log" not in f"{nothing.title} {nothing.summary}"


def test_a_warning_that_its_process_outlived_is_no_cause_of_a_stop() -> None:
    """Ctrl-C ends the start with tracebacks, which are no breakdown."""
    warned = "(EngineCore_DP0 pid=77) WARNING 11-02 10:00:12 [cogs.py:3] CUDA error: out of memory while the cog was tuned, using another\n"
    lines = START.splitlines(keepends=True)
    stop = '^CTraceback (most recent call last):\n  File "/opt/a.py", line 3, in wait\n    time.sleep(1)\nKeyboardInterrupt\n'

    assert "no_failure" == TRIAGE.report("".join([*lines[:3], warned, lines[3], stop])).bucket
