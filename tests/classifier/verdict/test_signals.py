"""Each reason that has points, by itself: when it speaks, and when it is silent."""

from __future__ import annotations

import pytest

from tests.classifier.verdict.logs import ANSWERED, DEAD, READY, START, STOPPED, TRIAGE, findings
from vllm_triage.classifier.verdict import policy, signals
from vllm_triage.classifier.verdict.findings import Findings

QUEUE = "INFO 11-02 10:06:00 [loggers.py:123] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 8 reqs, Waiting: {} reqs, GPU KV cache usage: 99.9%, Prefix cache hit rate: 0.0%\n"
TOO_LONG = "ERROR 11-02 10:06:00 [serving_chat.py:257] ValueError: This model's maximum context length is 2048 tokens. However, you requested 4000 tokens in the messages. Please reduce the length of the messages.\n"
DRIVER = "{} 11-02 10:00:05 [__init__.py:5] RuntimeError: The NVIDIA driver on your system is too old (found version 12020).\n"
OF_SERVER = (
    START.rpartition("(EngineCore_DP0 pid=77) INFO 11-02 10:00:09")[0] + "(APIServer pid=5) " + DRIVER.format("ERROR")
)
START_OF_SERVER = "(APIServer pid=5) INFO 11-02 10:00:06 [model.py:1883] Using max model len 2048\n"


def hits(found: Findings, bucket: str) -> list[object]:
    return [hit for hit in found.incident.hits if hit.rule.bucket == bucket and hit.rule.role == "cause"]


def told(found: Findings, bucket: str, signal: object) -> set[float]:
    """Return the points that a signal gives the hits of a bucket."""
    asked = [signal(found.case, hit) for hit in hits(found, bucket)]  # type: ignore[operator]
    assert asked, f"no rule of {bucket} matched"
    return {answer.points for answer in asked if answer is not None}


def test_what_was_said_quietly_goes_behind_the_same_said_as_an_error() -> None:
    assert {policy.QUIET} == told(findings(START + DRIVER.format("WARNING")), "driver_too_old", signals.quiet)
    assert set() == told(findings(START + DRIVER.format("ERROR")), "driver_too_old", signals.quiet)


def test_what_concerns_one_request_goes_behind_and_further_while_the_engine_dies() -> None:
    alone = findings(START + READY + TOO_LONG)
    dying = findings(START + TOO_LONG + DEAD)
    assert {policy.REQUEST} == told(alone, "context_length_exceeded", signals.one_request)
    assert {policy.REQUEST_WHILE_DYING} == told(dying, "context_length_exceeded", signals.one_request)


def test_a_rule_that_asks_for_a_place_goes_before_its_general_neighbour() -> None:
    log = """Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2300, in load_model
    self.model = get_model(vllm_config=self.vllm_config)
  File "/usr/lib/python3.12/site-packages/vllm/model_executor/layers/linear.py", line 100, in create_weights
    weight = Parameter(torch.empty(1))
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 1.10 GiB is free.
"""
    found = findings(START.rpartition("(Eng")[0] + log)
    assert "model_load_oom" == found.candidates[0].bucket
    assert {policy.SPECIFIC} <= told(found, "model_load_oom", signals.asks_for_more)
    assert {policy.OUTDONE} == told(found, "runtime_oom", signals.outdone)


def test_words_in_quoted_source_code_were_not_said() -> None:
    log = """Traceback (most recent call last):
  File "/srv/app.py", line 3, in main
    raise ValueError("No available memory for the cache blocks. Try increasing gpu_memory_utilization")
  File "/srv/app.py", line 9, in other
    return 1 / 0
ZeroDivisionError: division by zero
"""
    found = findings(log)
    assert {policy.QUOTED} == told(found, "kv_cache_oom", signals.quoted)


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (START + DRIVER.format("WARNING") + READY, "before the server came up all the same"),
        (START + READY + ANSWERED + STOPPED + DRIVER.format("ERROR"), "after the shutdown began"),
        (START + DRIVER.format("ERROR"), ""),
        (OF_SERVER + START_OF_SERVER, "the process that said it went on with its start"),
        (OF_SERVER.replace("APIServer", "Worker") + START_OF_SERVER.replace("APIServer", "Worker"), ""),
        (OF_SERVER + START_OF_SERVER.replace("APIServer", "EngineCore_DP0"), ""),
    ],
)
def test_what_was_overcome_or_came_after_the_end_is_no_cause(log: str, why: str) -> None:
    found = findings(log)
    assert {why} == {signals.overruled(found.case, hit) for hit in hits(found, "driver_too_old")}  # type: ignore[arg-type]


def test_every_signal_says_why() -> None:
    found = findings(START + TOO_LONG + DEAD)
    assert any("concerns one request" in reason for reason in found.candidates[0].reasons)


EAGER = START.replace("'acme/harbor-8b'}", "'acme/harbor-8b', 'enforce_eager': True}")
TWO_RANKS = START.replace("'acme/harbor-8b'}", "'acme/harbor-8b', 'tensor_parallel_size': 2}")
GRAPHS = "(EngineCore_DP0 pid=77) ERROR 11-02 10:00:30 [core.py:710] RuntimeError: CUDA error: operation not permitted when stream is capturing\n"
ALIGNED = "(EngineCore_DP0 pid=77) ERROR 11-02 10:00:30 [core.py:710] ValueError: The input size is not aligned with the quantized weight shape. This can be caused by too large tensor parallel size.\n"
CUBLAS = "(EngineCore_DP0 pid=77) ERROR 11-02 10:00:31 [core.py:710] RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle)`\n"
ILLEGAL = "(EngineCore_DP0 pid=77) ERROR 11-02 10:00:33 [core.py:710] RuntimeError: CUDA error: an illegal memory access was encountered\n"


def test_what_the_same_log_refutes_goes_behind_another_cause() -> None:
    """By an argument, and by a rule that fired; the reason stands in the explanation, and in the answer if it stays the best."""
    assert {policy.REFUTED} == told(findings(EAGER + GRAPHS), "cuda_graph_crash", signals.refuted)
    assert set() == told(findings(START + GRAPHS), "cuda_graph_crash", signals.refuted)
    found = findings(START + CUBLAS + ILLEGAL)
    assert "illegal_memory_access" == found.candidates[0].cause
    assert any(
        "refuted: the log holds gpu_fault/illegal-access (line 6)" in each for each in found.candidates[1].reasons
    )
    alone = TRIAGE.report(EAGER + GRAPHS)
    assert alone.refute.startswith("Here the log tells enforce_eager = True")
    assert alone.confidence < TRIAGE.report(START + GRAPHS).confidence


def test_what_the_same_log_confirms_goes_before_its_like() -> None:
    """By a figure that the log tells; one that it does not tell confirms nothing."""
    assert {policy.CONFIRMED} == told(findings(TWO_RANKS + ALIGNED), "quantization_mismatch", signals.confirmed)
    assert set() == told(findings(START + ALIGNED), "quantization_mismatch", signals.confirmed)
    assert TRIAGE.report(TWO_RANKS + ALIGNED).confirm.startswith("Here the log tells tensor_parallel_size = 2.")
