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
    ],
)
def test_how_it_ended(told: str, cause: str, above: bool) -> None:
    """The server came up and answered: the log alone says nothing of an end."""
    assert triage(told + RAN if above else RAN + told).cause == cause


def test_what_the_job_used_and_had_is_told() -> None:
    report = triage(SEFF.format(state="OUT_OF_MEMORY") + RAN)
    assert "The job used 127.50 GB of 128.00 GB." in report.summary
    assert "(08:00:00)" in triage(SACCT.format(state="   TIMEOUT", code="  0:0") + RAN).summary
