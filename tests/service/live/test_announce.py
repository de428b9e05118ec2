"""What is told of a log that goes on: at once, or when it has settled."""

from __future__ import annotations

from tests.classifier.verdict.logs import READY, START, TRIAGE
from vllm_triage.service.live.announce import LIKELY, SETTLE, Announcer, likely, sure

DIED = "ERROR 11-02 10:05:03 [multiproc_executor.py:146] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.\n"


def test_a_death_without_a_cause_is_told_when_nothing_more_comes() -> None:
    """It is too often all that is left of a cause to be told at once, and what is known must not wait for the end."""
    report = TRIAGE.report(START + READY + DIED)
    assert "worker_died" == report.bucket
    assert report.confidence < LIKELY
    announcer = Announcer()

    assert announcer.see(report, 0.0) is None
    assert not sure(report)
    assert likely(report)
    told = announcer.settle(SETTLE + 0.1)
    assert told is not None
    assert told.report is report
