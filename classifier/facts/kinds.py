"""What kind of value each fact has, which of several wins, and vLLM's own names for what its log calls otherwise."""

from __future__ import annotations

from ..patterns.lazy import LazyPattern
from .types import FactValue

INTEGERS = frozenset(
    [
        "max_model_len",
        "max_num_seqs",
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "data_parallel_size",
        "gpu_count",
        "kv_cache_tokens",
        "max_len_that_fits",
        "gpu_blocks",
        "cpu_blocks",
        "port",
        "running",
        "waiting",
        "http_500",
        "num_attention_heads",
        "max_num_batched_tokens",
    ]
)
NUMBERS = frozenset(
    [
        "gpu_memory_utilization",
        "gpu_memory_total_gib",
        "gpu_memory_free_gib",
        "weights_gib",
        "kv_cache_available_gib",
        "kv_cache_needed_gib",
        "max_concurrency",
        "graph_memory_gib",
        "kv_cache_usage_percent",
        "prompt_throughput",
        "generation_throughput",
        "requested_gib",
        "non_torch_gib",
        "activation_gib",
        "init_seconds",
        "weights_seconds",
        "compile_seconds",
        "graph_seconds",
        "oom_tried_gib",
        "cpu_offload_gb",
        "swap_space",
    ]
)
BOOLEANS = frozenset({"enforce_eager", "trust_remote_code", "enable_lora", "disable_custom_all_reduce"})
LARGEST = frozenset(
    {"weights_gib", "gpu_memory_total_gib", "kv_cache_needed_gib", "activation_gib", "non_torch_gib", "gpu_count"}
    | {"weights_seconds", "compile_seconds", "graph_seconds", "init_seconds"}
)
SMALLEST = frozenset(
    {"kv_cache_available_gib", "gpu_memory_free_gib", "kv_cache_tokens", "max_len_that_fits", "max_concurrency"}
    | {"gpu_blocks"}
)
LATEST = frozenset(
    {"kv_cache_usage_percent", "prompt_throughput", "generation_throughput", "running", "waiting", "driver_version"}
)

BACKENDS = {
    "flashattention": "FLASH_ATTN",
    "flashinfer": "FLASHINFER",
    "xformers": "XFORMERS",
    "torchsdpa": "TORCH_SDPA",
    "triton": "TRITON_ATTN",
    "tritonattention": "TRITON_ATTN",
    "flashmla": "FLASHMLA",
    "tritonmla": "TRITON_MLA",
    "cutlassmla": "CUTLASS_MLA",
    "flashinfermla": "FLASHINFER_MLA",
    "flashattentionmla": "FLASH_ATTN_MLA",
    "sparsemla": "FLASHMLA_SPARSE",
    "xpumlasparse": "XPU_MLA_SPARSE",
    "cpumla": "CPU_MLA",
    "aitermla": "ROCM_AITER_MLA",
    "aitertritonmla": "ROCM_AITER_TRITON_MLA",
    "aiterflashattention": "ROCM_AITER_FA",
    "rocmaiterattention": "ROCM_AITER_FA",
    "aiterunifiedattention": "ROCM_AITER_UNIFIED_ATTN",
    "rocmattention": "ROCM_ATTN",
    "rocmflashattention": "ROCM_FLASH",
    "flexattention": "FLEX_ATTENTION",
    "treeattention": "TREE_ATTN",
    "turboquant": "TURBOQUANT",
    "blocksparseflashattention": "BLOCK_SPARSE_FLASH_ATTN",
    "dualchunkflashattention": "DUAL_CHUNK_FLASH_ATTN",
    "differentialflashattention": "DIFFERENTIAL_FLASH_ATTN",
    "pallas": "PALLAS",
    "pallasv1": "PALLAS",
    "hpuattention": "HPU_ATTN",
    "ipex": "IPEX",
    "openvino": "OPENVINO",
    "openvinoattention": "OPENVINO",
}
"""vLLM's names of attention backends by what its log lines call them, letters and digits only."""

CHOOSERS = frozenset(
    ["", "cuda", "rocm", "cpu", "xpu", "tpu", "hpu", "neuron", "openvino", "selector", "interface", "__init__"]
)
"""Modules that choose an attention backend; others say the same words of kernels for experts or quantization."""

_RELEASE = LazyPattern(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?!\d)")
PLATFORMS = frozenset({"cuda", "rocm", "cpu", "tpu", "xpu", "hpu", "neuron", "npu"})
PLUGINS = {"ascend": "npu", "gaudi": "hpu"}
"""Platforms by the names of the plug-ins that bring them."""


def engine_of(version: str) -> str:
    """Return the engine generation that a release surely runs: V0 up to 0.6.3, V1 from 0.11 on, else unknown."""
    found = _RELEASE.match(version)
    if not found or (".dev" in version and version.startswith("0.1.")):
        return ""
    major, minor, patch = int(found[1]), int(found[2]), int(found[3] or 0)
    if (major, minor, patch) <= (0, 6, 3):
        return "V0"
    return "V1" if (major, minor) >= (0, 11) else ""


def convert(name: str, value: FactValue) -> FactValue:
    """Return ``value`` in the type that the fact ``name`` has; None where it does not fit."""
    if isinstance(value, str):
        value = value.strip().strip("'\"")
    try:
        if name in INTEGERS:
            return int(str(value)[:40].replace(",", "").replace("_", ""))
        if name in NUMBERS:
            number = round(float(str(value)[:40].replace(",", "")), 4)
            return number if abs(number) < 1e12 else None
        if name in BOOLEANS:
            return str(value).lower() in ("true", "1")
        if name == "vllm_version":
            return str(value).rstrip(".,;:").removeprefix("v")
    except ValueError:
        return None
    return value
