"""What people copy of a log: wrapped messages, halves, stacks by hand, stacks that are cut; what is said of them holds in the excerpt."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import Triage

TRIAGE = Triage()
WRAPPED = """vllm.exceptions.VLLMValidationError:
  This model's maximum context length is 8192 tokens.
  However, you requested 4096 output tokens and your prompt contains
  at least 4097 input tokens, for a total of at least 8193 tokens.
"""
BY_HAND = """vllm/v1/core/sched/scheduler.py:1210  _build_kv_connector_meta
  return connector.build_connector_meta(scheduler_output)
vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py:975  _build_store_jobs
  assert len(offload_keys) == len(offload_block_ids)
AssertionError
"""
CUT = """INFO 11-02 10:00:30 [gpu_worker.py:424] Available KV cache memory: -3.20 GiB
(EngineCore_DP0 pid=7) ERROR 11-02 10:00:31 [core.py:708] EngineCore failed to start.
(EngineCore_DP0 pid=7) ERROR 11-02 10:00:31 [core.py:708] Traceback (most recent call last):
(EngineCore_DP0 pid=7) ERROR 11-02 10:00:31 [core.py:708]   File "/x/dist-packages/vllm/v1/engine/core.py", line 699, in run_engine_core
(EngineCore_DP0 pid=7) ERROR 11-02 10:00:31 [core.py:708]     engine_core = EngineCoreProc(*args, **kwargs)
"""
CUT_LINE = """(VllmWorker rank=0 pid=9) INFO 08-06 10:00:00 [pynccl.py:70] vLLM is using nccl==2.26.2
(VllmWorker rank=0 pid=9) INFO 08-06 10:00:01 [custom_all_reduce_utils.py:246] reading GPU P2P acc...
"""
FAILED = "(EngineCore pid=5) ERROR 06-02 10:00:31 [core.py:1202] EngineCore failed to start.\n"
CAUSES = {
    "wrapped below a class without words": (WRAPPED, "context_length_exceeded/prompt_plus_output_too_long"),
    "cut before its innermost frame": (CUT, "kv_cache_oom/no_cache_blocks"),
    "half a message beside its wrapper": (
        f"nk (e.g. `--gpu-memory-utilization 0.4`) or reduce CPU memory used by other processes.\n{FAILED}",
        "gpu_memory_budget/cpu_memory_budget",
    ),
    "no device, for a package is missing": (
        "RuntimeError: Failed to infer device type\nModuleNotFoundError: No module named 'acme_kernels'\n",
        "install_mismatch/missing_package",
    ),
    "no device, and a probe that no machine passes": (
        "RuntimeError: Failed to infer device type\nDEBUG [__init__.py:31] TPU platform is not available because: No module named 'libtpu'\n",
        "no_gpu/device_not_detected",
    ),
    "a line that was cut, not a server that is silent": (
        CUT_LINE,
        "unknown/broken_off",
    ),
    "a stack by hand": (BY_HAND, "kv_transfer/offload_failed"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_an_excerpt_is_read_as_the_log_that_it_was(name: str) -> None:
    text, cause = CAUSES[name]
    assert TRIAGE.report(text).cause == cause


def test_of_a_stack_that_is_cut_no_place_is_told() -> None:
    """Its last frame is one that called another: nothing was raised there."""
    told = TRIAGE.report(CUT.partition("\n")[2])
    assert "run_engine_core" not in f"{told.title} {told.summary}"


def test_what_nobody_knows_bears_its_own_words() -> None:
    """No class's: that would be a guess."""
    told = TRIAGE.report("acme.errors.TideError: the harbor is too low\n")
    assert told.title.endswith("TideError: the harbor is too low")
