"""One error text, several faults: what else the log says decides, and with it the advice changes."""

from __future__ import annotations

import pytest

from tests.fixtures.wrappers import WRAPPERS
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.report.model import Report

STAMP = "11-04 10:00"
START = [
    f"(APIServer pid=31) INFO {STAMP}:02 [api_server.py:1839] vLLM API server version 0.11.0",
    f"(APIServer pid=31) INFO {STAMP}:02 [utils.py:233] non-default args: {{'model': 'acme/harbor-8b', 'max_model_len': 8192}}",
    f"(EngineCore_DP0 pid=77) INFO {STAMP}:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='acme/harbor-8b', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda, seed=0",
]
LOADING = f"(EngineCore_DP0 pid=77) INFO {STAMP}:12 [gpu_model_runner.py:2602] Starting to load model acme/harbor-8b..."
LOADED = f"(EngineCore_DP0 pid=77) INFO {STAMP}:18 [gpu_model_runner.py:2653] Model loading took 14.9889 GiB and 5.774210 seconds"
CACHE = [
    f"(EngineCore_DP0 pid=77) INFO {STAMP}:40 [gpu_worker.py:298] Available KV cache memory: 4.77 GiB",
    f"(EngineCore_DP0 pid=77) INFO {STAMP}:40 [kv_cache_utils.py:1087] GPU KV cache size: 39,056 tokens",
]
UP = [
    f"(APIServer pid=31) INFO {STAMP}:58 [launcher.py:42] Available routes are:",
    "(APIServer pid=31) INFO:     Application startup complete.",
    '(APIServer pid=31) INFO:     127.0.0.1:50852 - "POST /v1/completions HTTP/1.1" 200 OK',
]


def _raised(function: str, message: str, path: str = "vllm/v1/worker/gpu_model_runner.py") -> list[str]:
    head = f"(EngineCore_DP0 pid=77) ERROR {STAMP}:59 [core.py:708] "
    return [
        head + "EngineCore failed to start.",
        head + "Traceback (most recent call last):",
        head + '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 699, in run_engine_core',
        head + "    engine_core = EngineCoreProc(*args, **kwargs)",
        head + f'  File "/opt/venv/lib/python3.12/site-packages/{path}", line 3301, in {function}',
        head + "    work()",
        head + message,
    ]


def _oom(more: str = "") -> str:
    return (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.64 GiB of which "
        f"812.00 MiB is free. {more}Of the allocated memory 21.90 GiB is allocated by PyTorch, and 310.00 MiB is reserved by PyTorch but "
        "unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
    )


OURS = "Including non-PyTorch memory, this process has 22.82 GiB memory in use. "
OTHERS = (
    "Process 8123 has 15.10 GiB memory in use. Including non-PyTorch memory, this process has 7.70 GiB memory in use. "
)
NO_CUDA = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error {}"

SPLITS: dict[str, tuple[list[str], str]] = {
    # CUDA out of memory, by what the engine was doing
    "load": ([LOADING, *_raised("load_model", _oom(OURS))], "model_load_oom/weights_too_big"),
    "load, memory held by others": ([LOADING, *_raised("load_model", _oom(OTHERS))], "model_load_oom/gpu_shared"),
    "profile": ([LOADING, LOADED, *_raised("profile_run", _oom(OURS))], "runtime_oom/profiling_run"),
    "capture": ([LOADING, LOADED, *CACHE, *_raised("capture_model", _oom(OURS))], "cuda_graph_crash/capture_out_of_memory"),
    "after the cache": ([LOADING, LOADED, *CACHE, *_raised("initialize_kv_cache", _oom(OURS))], "runtime_oom/no_headroom_after_kv"),
    "sampler warm-up": ([LOADING, LOADED, *CACHE, *_raised("_dummy_sampler_run", _oom(OURS))], "runtime_oom/sampler_warmup"),
    "serving": ([LOADING, LOADED, *CACHE, *UP, *_raised("execute_model", _oom(OURS))], "runtime_oom/serving"),
    "serving, memory held by others": ([LOADING, LOADED, *CACHE, *UP, *_raised("execute_model", _oom(OTHERS))], "runtime_oom/gpu_shared"),
    # No room for the KV cache: none at all, or too little for one request
    "cache: none": (
        [LOADING, LOADED, f"(EngineCore_DP0 pid=77) INFO {STAMP}:40 [gpu_worker.py:298] Available KV cache memory: -1.31 GiB",
         *_raised("_check_enough_kv_cache_memory", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", "vllm/v1/core/kv_cache_utils.py")],
        "kv_cache_oom/no_cache_blocks",
    ),
    "cache: too small": (
        [LOADING, LOADED, CACHE[0],
         *_raised("_check_enough_kv_cache_memory", "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (4.77 GiB). Based on the available memory, the estimated maximum model length is 39056. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.", "vllm/v1/core/kv_cache_utils.py")],
        "kv_cache_oom/context_exceeds_cache",
    ),
    # Too little free memory at the start: held by others, or the budget is too large
    "budget": (_raised("init_device", "ValueError: Free memory on device (20.1/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, 21.28 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.", "vllm/v1/worker/gpu_worker.py"), "gpu_memory_budget/free_below_budget"),
    "budget, context creation fails": (_raised("init_device", "torch.AcceleratorError: CUDA error: out of memory", "vllm/v1/worker/gpu_worker.py"), "gpu_memory_budget/gpu_full_before_start"),
    # cudaGetDeviceCount fails, for three reasons
    "803": (_raised("init_device", NO_CUDA.format("803: system has unsupported display driver / cuda driver combination"), "vllm/v1/worker/gpu_worker.py"), "driver_too_old/library_mismatch"),
    "804": (_raised("init_device", NO_CUDA.format("804: forward compatibility was attempted on non supported HW"), "vllm/v1/worker/gpu_worker.py"), "driver_too_old/forward_compat_unsupported"),
    "802": (_raised("init_device", NO_CUDA.format("802: system not yet initialized"), "vllm/v1/worker/gpu_worker.py"), "no_gpu/device_unavailable"),
    "driver": (_raised("init_device", "RuntimeError: The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver by downloading and installing a new version", "vllm/v1/worker/gpu_worker.py"), "driver_too_old/driver_older_than_cuda"),
    "container": (_raised("init_device", "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx", "vllm/v1/worker/gpu_worker.py"), "no_gpu/driver_or_library_missing"),
    # Tensor parallelism: more ranks than GPUs that this process may see, or heads that do not divide
    "ranks": (_raised("__post_init__", "ValueError: World size (4) is larger than the number of available GPUs (1) in this node. If this is intended and you are using: - ray, set '--distributed-executor-backend ray'.", "vllm/config/parallel.py"), "parallel_config/more_ranks_than_gpus"),
    "heads": (_raised("verify_with_parallel_config", "ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).", "vllm/config/model.py"), "parallel_config/heads_not_divisible"),
    "duplicate device": (_raised("init_device", "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, invalid usage. Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 65000", "vllm/v1/worker/gpu_worker.py"), "nccl_error/duplicate_gpu"),
}  # fmt: skip


def _answer(name: str, wrap: str = "plain") -> Report:
    lines, _ = SPLITS[name]
    log = "\n".join([*START, *lines, "RuntimeError: Engine core initialization failed. See root cause above."])
    return shared().report(WRAPPERS[wrap](log) if wrap != "plain" else log)


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize("wrap", ["plain", *list(WRAPPERS)[:3]])
def test_split(name: str, wrap: str) -> None:
    """The cause is that of the other evidence, however the log is wrapped."""
    assert SPLITS[name][1] == _answer(name, wrap).cause


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("load", "load, memory held by others"),
        ("load", "profile"),
        ("profile", "capture"),
        ("profile", "after the cache"),
        ("capture", "serving"),
        ("serving", "serving, memory held by others"),
        ("cache: none", "cache: too small"),
        ("803", "804"),
        ("804", "802"),
        ("driver", "container"),
        ("ranks", "duplicate device"),
    ],
)
def test_other_faults_get_other_advice(one: str, other: str) -> None:
    """A split that ends in the same first fix would be for nothing."""
    first, second = (_answer(name).fixes[0] for name in (one, other))

    assert (first.title, first.change) != (second.title, second.change)


def test_unified_memory_changes_the_advice() -> None:
    """Free memory below the budget: on a card another process has it, on unified memory the page cache."""
    card = _answer("budget")
    log = "\n".join([*START, *SPLITS["budget"][0]]).replace("20.1/23.64", "70.2/119.7").replace("21.28", "107.73")
    unified = shared().report(log)

    assert card.cause == unified.cause
    assert not any("unified memory" in fix.title for fix in card.fixes)
    assert ["0.20.0"] == [fix.fixed_in for fix in unified.fixes if "unified memory" in fix.title]
