"""A feature that was asked for, and acts where vLLM's own code failed, is taken back first."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

HEAD = """INFO 11-22 10:00:00 [api_server.py:100] vLLM API server version 0.20.0
INFO 11-22 10:00:00 [utils.py:100] non-default args: {{'model': 'acme/x', {given}}}
INFO:     Application startup complete.
"""
FAULT = """(EngineCore pid=7) ERROR 11-22 10:05:00 [core.py:900] Traceback (most recent call last):
(EngineCore pid=7) ERROR 11-22 10:05:00 [core.py:900]   File "/usr/lib/python3/dist-packages/vllm/v1/engine/core.py", line 890, in run_engine_core
(EngineCore pid=7) ERROR 11-22 10:05:00 [core.py:900]     engine_core.run_busy_loop()
(EngineCore pid=7) ERROR 11-22 10:05:00 [core.py:900]   File "/usr/lib/python3/dist-packages/vllm/{place}", line 858, in _update_states
(EngineCore pid=7) ERROR 11-22 10:05:00 [core.py:900]     req_state = self.requests[req_id]
(EngineCore pid=7) ERROR 11-22 10:05:00 [core.py:900] KeyError: 'cmpl-7'
"""
RUNNER = "v1/worker/gpu_model_runner.py"


def first(given: str, place: str = RUNNER) -> str:
    report = triage(HEAD.format(given=given) + FAULT.format(place=place))
    return report.fixes[0].change or ""


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ("'async_scheduling': True", "--async-scheduling"),
        ("'decode_context_parallel_size': 2", "--decode-context-parallel-size"),
        ("'async_scheduling': True, 'speculative_config': {'method': 'ngram'}", "--async-scheduling"),
    ],
)
def test_what_was_asked_for_is_taken_back(given: str, option: str) -> None:
    assert first(given) == f"leave out {option}"


@pytest.mark.parametrize("given", ["'seed': 1", "'async_scheduling': False", "'decode_context_parallel_size': 1"])
def test_what_was_not_asked_for_stays(given: str) -> None:
    assert not first(given).startswith("leave out --")


def test_a_fault_elsewhere_has_nothing_to_do_with_it() -> None:
    assert not first("'async_scheduling': True", "entrypoints/openai/serving_models.py").startswith("leave out --async")
