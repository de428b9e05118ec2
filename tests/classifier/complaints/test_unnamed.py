"""Settings that an error does not name, and that what it shows comes of."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.complaints import correct
from vllm_triage.classifier.complaints.case import Case

SPLIT = "ValueError: not enough values to unpack (expected 2, got 1)"
NO_MEMORY = (
    "RuntimeError: [enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
    "allocate 268435456000 bytes. Error code 12 (Cannot allocate memory)"
)
CORES = "RuntimeError: Failed to parse CPU string: 900-907"
WORD = "ValueError: invalid literal for int() with base 10: 'all'"
HEADS = "AssertionError: num_heads (3) is not divisible by num_kv_heads (2)"
ZERO = "ZeroDivisionError: integer modulo by zero"
TWO_OF_NOTHING = """2 validation errors for SchedulerConfig
max_num_batched_tokens
  Input should be greater than or equal to 1 [type=greater_than_equal, input_value=0, input_type=int]
max_num_seqs
  Input should be greater than or equal to 1 [type=greater_than_equal, input_value=0, input_type=int]
"""


@pytest.mark.parametrize(
    ("text", "arguments", "command", "change"),
    [
        (ZERO, {"num_gpu_blocks_override": 0}, "", "leave out --num-gpu-blocks-override 0"),
        (TWO_OF_NOTHING, {"pipeline_parallel_size": 0}, "", "--pipeline-parallel-size 1"),
        (ZERO, {"max_num_seqs": 8}, "", ""),
        (ZERO, {"max_model_len": -1}, "", ""),
        (SPLIT, {"distributed_executor_backend": "multiprocessing"}, "", "leave out --distributed-executor-backend multiprocessing"),
        (SPLIT, {"distributed_executor_backend": "mp"}, "", ""),
        (SPLIT, {"distributed_executor_backend": "acme.Executor"}, "", ""),
        (CORES, {}, "VLLM_CPU_OMP_THREADS_BIND=900-907 vllm serve a/b", "unset VLLM_CPU_OMP_THREADS_BIND"),
        (CORES, {}, "VLLM_CPU_OMP_THREADS_BIND=0-3 vllm serve a/b", ""),
        (WORD, {}, "VLLM_CPU_OMP_THREADS_BIND=all-cores vllm serve a/b", "unset VLLM_CPU_OMP_THREADS_BIND"),
        (NO_MEMORY, {}, "VLLM_CPU_KVCACHE_SPACE=500 vllm serve a/b", "unset VLLM_CPU_KVCACHE_SPACE"),
        (NO_MEMORY, {}, "VLLM_CPU_KVCACHE_SPACE=4 vllm serve a/b", ""),
        (NO_MEMORY, {}, "vllm serve a/b", ""),
        (HEADS, {"hf_overrides": {"num_attention_heads": 3}}, "", "leave out --hf-overrides.num_attention_heads 3"),
        (HEADS, {"hf_overrides": {"num_attention_heads": 4}}, "", ""),
    ],
)  # fmt: skip
def test_what_came_of_a_setting_corrects_it(text: str, arguments: dict[str, object], command: str, change: str) -> None:
    """Only where the figure, or the word, that the error shows is the setting's own."""
    fixes = correct(Case(text, {"arguments": arguments, "command": command}, "0.14.1"))
    assert ([change] if change else []) == [fix.change for fix in fixes]


def test_more_pipeline_stages_than_layers_leave_a_rank_nothing_to_cache() -> None:
    """The code that divides by the layers of a rank tells it; a division elsewhere does not."""
    facts = {"arguments": {"pipeline_parallel_size": 4}}
    code = "num_blocks = available_memory // bytes_per_block"
    assert ["leave out --pipeline-parallel-size 4"] == [
        fix.change for fix in correct(Case(ZERO, facts, "0.32.0", code=code))
    ]
    assert [] == correct(Case(ZERO, facts, "0.32.0", code="return a % b"))
