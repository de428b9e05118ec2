"""What was seen while a log was followed is an answer where nothing in the log explains it."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.standstill.types import Standstill
from vllm_triage.classifier.verdict import policy
from vllm_triage.corpus.kinds import Finding

TRIAGE = Triage()
START = "INFO 11-02 10:00:00 [api_server.py:1977] vLLM API server version 0.11.0\nINFO 11-02 10:00:09 [gpu_model_runner.py:2602] Starting to load model acme/tiny...\n"
SERVED = START + (
    "INFO:     Application startup complete.\n"
    "INFO 11-02 10:01:00 [loggers.py:127] Engine 000: Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 50.0 "
    "tokens/s, Running: 3 reqs, Waiting: 2 reqs, GPU KV cache usage: 9.9%, Prefix cache hit rate: 0.0%\n"
)
STOP = "INFO 11-02 10:01:09 [launcher.py:79] Shutting down FastAPI HTTP server.\nINFO:     Application shutdown complete.\n"


def answer(log: str, state: Standstill | None) -> Report:
    session = TRIAGE.start()
    for block in read_blocks(log.encode()):
        session.feed(block)
    session.incident.standstill = state
    return TRIAGE.conclude(session)


def state(stage: str, finding: Finding) -> Standstill:
    return Standstill(
        verdict="stalled", stage=stage, seconds=400.0, usual=10.0, patience=300.0, evidence=("the bar stands",),
        next=("py-spy dump --pid 7",), finding=finding, line=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("log", "stage", "finding", "cause", "title"),
    [
        (START, "weights", "stood_still", "mqllmengine_stall/start_stands_still", "The start hangs in weights"),
        (SERVED + STOP, "serving", "stalled", "mqllmengine_stall/request_unanswered", ""),
        (START, "distributed_init", "silence", "nccl_hang/silent_distributed_init", ""),
    ],
)
def test_a_standstill_to_the_end_is_the_answer(log, stage, finding, cause, title):
    """Also where the server was stopped then, which by itself reads as health."""
    report = answer(log, state(stage, finding))

    assert (report.cause, report.decided_by, report.confidence) == (cause, "stage", 0.92)
    assert title in report.title
    assert "Seen while it ran: the bar stands." in report.notes
    assert any("py-spy dump --pid 7" in note for note in report.notes)
    assert report.alternatives


def test_the_numbers_of_a_server_at_work_are_told():
    """How many requests wait for it."""
    assert "3 requests run and 2 wait" in answer(SERVED + STOP, state("serving", "stalled")).summary


def test_without_one_nothing_changes():
    """Silence that nobody watched is what it was."""
    assert answer(SERVED + STOP, None).cause == "no_failure/stopped_from_outside"


def test_a_cause_in_the_log_goes_before_it():
    """A line that says why is better than a clock."""
    log = START + "ValueError: No available memory for the cache blocks.\n"

    assert answer(log, state("weights", "stood_still")).cause == "kv_cache_oom/no_cache_blocks"


def test_how_sure_it_is_stands_in_the_policy(monkeypatch):
    """And moves the answer."""
    monkeypatch.setattr(policy, "STOOD_STILL", 0.3)

    assert answer(START, state("weights", "stood_still")).confidence == 0.3
