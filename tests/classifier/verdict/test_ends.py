"""What Slurm, Docker and Kubernetes say of how a server ended counts above its log and below it."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

RAN = """\
(APIServer pid=7) INFO 11-02 10:00:00 [api_server.py:1] vLLM API server version 0.19.1
(APIServer pid=7) INFO:     Application startup complete.
(APIServer pid=7) INFO:     10.0.0.3:55612 - "POST /v1/completions HTTP/1.1" 200 OK
"""
SACCT = """\
JobID             State ExitCode     MaxRSS     ReqMem  Timelimit
------------ ---------- -------- ---------- ---------- ----------
4711         {state}   {code}                  128G   08:00:00
4711.batch    CANCELLED     0:15  12345678K
"""
SEFF = """\
Job ID: 4711
State: {state} (exit code 0)
Memory Utilized: 127.50 GB
Memory Efficiency: 99.61% of 128.00 GB
"""
ACCOUNT = "Job ID: 4711\nCluster: hpc\nUser/Group: alice/users\n"
DESCRIBED = """\
    Last State:     Terminated
      Reason:       {reason}
      Exit Code:    {code}
"""


@pytest.mark.parametrize("above", [True, False], ids=["above", "below"])
@pytest.mark.parametrize(
    ("told", "cause"),
    [
        (SACCT.format(state="OUT_OF_ME+", code="0:125"), "host_memory/oom_killed"),
        (SACCT.format(state="   TIMEOUT", code="  0:0"), "no_failure/job_time_limit"),
        (SACCT.format(state=" PREEMPTED", code=" 0:15"), "no_failure/job_preempted"),
        (SACCT.format(state=" NODE_FAIL", code="  1:0"), "no_failure/node_failed"),
        ("4711|vllm|gpu|team|16|OUT_OF_MEMORY|0:125\n", "host_memory/oom_killed"),
        (SEFF.format(state="OUT_OF_MEMORY"), "host_memory/oom_killed"),
        (SEFF.format(state="TIMEOUT"), "no_failure/job_time_limit"),
        (SEFF.format(state="COMPLETED"), "no_failure/healthy"),
        (DESCRIBED.format(reason="OOMKilled", code=137), "host_memory/oom_killed"),
        ("exited OOMKilled=true exit code: 137\n", "host_memory/oom_killed"),
        ("exited OOMKilled=false exit code: 137\n", "no_failure/stopped_from_outside"),
        ("vllm-1 exited with code 143\n", "no_failure/stopped_from_outside"),
        ("vllm-1 exited with code 137\n", "host_memory/oom_killed"),
        ("exited OOMKilled=false exit code: 127\n", "install_mismatch/start_command"),
        ("3f5a  vllm/vllm-openai  Exited (126) 5 minutes ago  vllm\n", "install_mismatch/start_command"),
        ("vllm.service: Main process exited, code=exited, status=203/EXEC\n", "install_mismatch/start_command"),
        ("exited OOMKilled=false exit code: 125\n", "unknown/container_not_created"),
    ],
)
def test_how_it_ended(told: str, cause: str, above: bool) -> None:
    """The server came up and answered: the log alone says nothing of an end."""
    assert triage(told + RAN if above else RAN + told).cause == cause


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ("OUT_OF_MEMORY", "host_memory/oom_killed"),
        ("TIMEOUT", "no_failure/job_time_limit"),
        ("CANCELLED", "no_failure/stopped_from_outside"),
    ],
)
def test_seff_alone_says_how_a_job_ended(state: str, cause: str) -> None:
    """Ten lines without a word of vLLM: they are accounting's, and no other program's log."""
    whole = f"{ACCOUNT}State: {state} (exit code 0)\nNodes: 1\nCores per node: 16\nCPU Utilized: 00:10:12\nJob Wall-clock time: 00:12:30\n"
    report = triage(whole + "Memory Utilized: 127.50 GB\nMemory Efficiency: 99.61% of 128.00 GB\n")
    assert (cause, "00:12:30") == (report.cause, report.facts.get("job_time"))


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ('exec: "vllm serve acme/m": executable file not found in $PATH: unknown', "one word"),
        ('exec: "/start.sh": permission denied: unknown', "chmod +x /start.sh"),
    ],
)
def test_what_the_runtime_could_not_start_is_named(words: str, fix: str) -> None:
    report = triage(f"docker: Error response from daemon: OCI runtime create failed: {words}.\nexited exit code: 127\n")
    assert "install_mismatch/start_command" == report.cause
    assert fix in f"{report.fixes[0].title} {report.fixes[0].change}"


def test_what_the_job_used_and_had_is_told() -> None:
    report = triage(SEFF.format(state="OUT_OF_MEMORY") + RAN)
    assert "The job used 127.50 GB of 128.00 GB." in report.summary
    assert "The limit was 08:00:00." in triage(SACCT.format(state="   TIMEOUT", code="  0:0") + RAN).summary
