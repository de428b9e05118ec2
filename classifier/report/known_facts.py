"""Types of the facts that a report may hold, for type checkers; other facts may stand beside them (docs/output.md)."""

from __future__ import annotations

from typing import TypedDict


class KnownFacts(TypedDict, total=False):
    """What a log tells of its server, by vLLM's own argument names. Absent where the log does not tell; sizes in GiB."""

    vllm_version: str
    engine: str
    """``V0`` or ``V1``"""
    platform: str
    torch_version: str
    cuda_version: str
    driver_version: str
    model: str
    architecture: str
    dtype: str
    quantization: str
    max_model_len: int
    gpu_memory_utilization: float
    kv_cache_dtype: str
    max_num_seqs: int
    enforce_eager: bool
    tensor_parallel_size: int
    pipeline_parallel_size: int
    data_parallel_size: int
    attention_backend: str
    gpu_name: str
    gpu_count: int
    gpu_memory_total_gib: float
    gpu_memory_free_gib: float
    weights_gib: float
    kv_cache_available_gib: float
    kv_cache_needed_gib: float
    kv_cache_tokens: int
    max_len_that_fits: int
    max_concurrency: float
    arguments: dict[str, object]
    """as given on the command line"""
