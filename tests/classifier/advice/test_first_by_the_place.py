"""What a frame, a number or a package beside vLLM tells decides which fix comes first, and which is left out."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.values import COMPUTED

HEAD = "Traceback (most recent call last):\n"
FRAME = '  File "{}", line 12, in {}\n    {}\n'
SITE = "/opt/venv/lib/python3.12/site-packages/"


def stack(*frames: tuple[str, str, str], error: str) -> str:
    return HEAD + "".join(FRAME.format(*frame) for frame in frames) + error + "\n"


CACHE = (
    "INFO 03-02 10:00:00 [utils.py:233] non-default args: {{'model': 'acme/x', {given}}}\n"
    "INFO 03-02 10:00:01 [core.py:77] Initializing a V1 LLM engine (v0.19.0) with config: model='acme/x'\n"
) + stack(
    (SITE + "vllm/v1/worker/gpu_worker.py", "initialize_from_config", "self.model_runner.initialize_kv_cache(kv_cache_config)"),
    (SITE + "vllm/v1/worker/gpu_model_runner.py", "_reshape_kv_cache_tensors", "kv_caches[name] = raw.view(dtype).view(shape)"),
    error="RuntimeError: shape '[96, 2, 16, 8, 128]' is invalid for input of size 1572864",
)  # fmt: skip
FETCHED = stack(
    (SITE + "aiohttp/streams.py", "_wait", "await waiter"),
    error="asyncio.exceptions.CancelledError",
) + "\nThe above exception was the direct cause of the following exception:\n\n" + stack(
    (SITE + "vllm/multimodal/utils.py", "fetch_video_async", "return await self.load_from_url_async("),
    (SITE + "vllm/connections.py", "async_get_bytes", "return await r.read()"),
    (SITE + "aiohttp/helpers.py", "__exit__", "raise asyncio.TimeoutError from exc_val"),
    error="TimeoutError",
)  # fmt: skip
AUTOTUNED = (
    "torch._inductor.exc.InductorError: RuntimeError: Failed to run autotuning code block: CUDA out of memory. Tried to allocate 600.00 MiB. "
    "GPU 0 has a total capacity of 23.52 GiB of which 411.00 MiB is free. Including non-PyTorch memory, this process has 23.10 GiB memory in use. "
    "Of the allocated memory {} GiB is allocated by PyTorch, and 40.00 MiB is reserved by PyTorch but unallocated."
)
FREE = "ValueError: Free memory on device ({}/79.15 GiB) on startup is less than desired GPU memory utilization (0.9, 71.24 GiB)."
DICT = "AttributeError: 'dict' object has no attribute 'kv_connector'"
TOOLS = (
    "ValueError: You can only use one kind of structured outputs constraint but multiple are specified: {'json': {'type': 'array', 'minItems': 1, "
    "'items': {'type': 'object', 'anyOf': [{'properties': {'name': {'type': 'string', 'enum': ['book_room']}, 'parameters': {'type': 'object'}}}]}}, "
    "'json_object': True}"
)
LOST = "Expected there to be {0} prompt updates corresponding to {0} image items, but instead found {1} prompt updates! Either the prompt text has"
WARM = (
    "INFO 03-02 10:00:00 [utils.py:233] non-default args: {{'model': 'acme/x', {given}}}\n"
    "INFO 03-02 10:00:01 [core.py:77] Initializing a V1 LLM engine (v0.19.0) with config: model='acme/x'\n"
    "RuntimeError: CUDA out of memory occurred when warming up sampler with {rows} dummy requests. Please try lowering `max_num_seqs` or "
    "`gpu_memory_utilization` when initializing the engine.\n"
)
SEEN = (
    "INFO 03-02 10:00:00 [utils.py:233] non-default args: {{'model': 'Qwen/Qwen2.5-VL-3B-Instruct', 'gpu_memory_utilization': 0.93{given}}}\n"
    "INFO 03-02 10:00:01 [core.py:77] Initializing a V1 LLM engine (v0.19.0) with config: model='Qwen/Qwen2.5-VL-3B-Instruct'\n{told}"
) + stack(
    (SITE + "vllm/v1/worker/gpu_model_runner.py", "{place}", "outputs = self.model.embed_multimodal("),
    (SITE + "vllm/model_executor/models/qwen2_5_vl.py", "_process_image_input", "image_embeds = self.visual(pixels)"),
    error="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB. GPU 0 has a total capacity of 23.52 GiB of which 900.00 MiB is free.",
)  # fmt: skip
PROFILED = "INFO 03-02 10:00:09 [gpu_model_runner.py:5488] Encoder cache will be initialized with a budget of 8192 tokens, and profiled with {} items of the maximum feature size.\n"
FULL_OF_WEIGHTS = (
    "vllm serve acme/x-30b{}\nINFO 03-18 13:41:29 [gpu_worker.py:375] Available KV cache memory: -2.15 GiB\n"
    "ValueError: No available memory for the cache blocks."
)
KILLED = (
    "INFO 02-20 10:00:36 [api_server.py:1272] vLLM API server version 0.14.1\n"
    "INFO 02-20 10:00:36 [utils.py:263] non-default args: {{'model': 'acme/x-70b', 'tensor_parallel_size': 4, {given}}}\n{told}"
    "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n"
)
LOADED = "(Worker_TP0 pid=3) INFO 02-20 10:01:44 [gpu_model_runner.py:3808] Model loading took 33.10 GiB memory and 40.1 seconds\n"
REFUSED = (
    "vllm serve acme/vl-8b --limit-mm-per-prompt '{{\"image\": {}}}'\n"
    "openai.BadRequestError: Error code: 400 - {{'error': {{'message': 'At most 3 image(s) may be provided in one prompt. "
    "Set `--limit-mm-per-prompt` to increase this limit.', 'type': 'BadRequestError', 'param': None, 'code': 400}}}}"
)
PERIODIC = (
    "INFO 01-09 10:{:02}:00 [loggers.py:206] Engine 000: Avg prompt throughput: 3280.0 tokens/s, Avg generation throughput: 121.8 tokens/s, "
    "Running: 12 reqs, Waiting: {} reqs, Preemptions: {}, GPU KV cache usage: 98.4%, Prefix cache hit rate: 3.1%\n"
)
QUEUED = "vllm serve acme/x --gpu-memory-utilization {}\n"
CASES = [
    # (log, how the first fix begins, what none of the fixes holds)
    (CACHE.format(given="'kv_cache_dtype': 'fp8_e5m2'"), "leave out --kv-cache-dtype", ["--enforce-eager"]),
    (CACHE.format(given="'kv_cache_dtype': 'nvfp4', 'kv_cache_dtype_skip_layers': ['0']"), "leave out --kv-cache-dtype --kv-cache-dtype-skip-layers", ["--enforce-eager"]),
    (FETCHED, "VLLM_IMAGE_FETCH_TIMEOUT=30", ["Search vLLM's issues"]),
    (AUTOTUNED.format("22.60"), "Use an AWQ, GPTQ", ["--max-num-batched-tokens"]),
    (AUTOTUNED.format("15.10"), "--max-num-batched-tokens", []),
    (WARM.format(given="'max_num_seqs': 768, 'gpu_memory_utilization': 0.96", rows=768), "--max-num-seqs 256", []),
    (WARM.format(given="'max_num_seqs': 96, 'gpu_memory_utilization': 0.96", rows=96), "--gpu-memory-utilization 0.91", ["--max-num-seqs 256"]),
    (SEEN.format(given=", 'mm_processor_kwargs': {'max_pixels': 9000000}", told=PROFILED.format("1 image"), place="profile_run"),
     "--mm-processor-kwargs", ["--limit-mm-per-prompt", "--max-num-seqs"]),
    (SEEN.format(given="", told=PROFILED.format("1 video"), place="profile_run"), "--limit-mm-per-prompt", ["--max-num-seqs"]),
    (SEEN.format(given="", told=PROFILED.format("4 image"), place="profile_run"), "--limit-mm-per-prompt", []),
    (SEEN.format(given=", 'limit_mm_per_prompt': {'image': 6}", told="", place="_execute_mm_encoder"),
     "--gpu-memory-utilization 0.88", ["--limit-mm-per-prompt"]),
    (FULL_OF_WEIGHTS.format("-FP8"), "--gpu-memory-utilization", ["Use an AWQ, GPTQ, FP8"]),
    (FULL_OF_WEIGHTS.format(""), "--gpu-memory-utilization", ["Serve a 4-bit"]),
    (KILLED.format(given="'safetensors_load_strategy': 'eager'", told=""), "leave out --safetensors-load-strategy", ["--cpu-offload-gb"]),
    (KILLED.format(given="'safetensors_load_strategy': 'eager'", told=LOADED), "Raise the memory limit", ["--safetensors-load-strategy"]),
    (KILLED.format(given="'safetensors_load_strategy': 'lazy'", told=""), "Raise the memory limit", ["--safetensors-load-strategy"]),
    (REFUSED.format(3), "--limit-mm-per-prompt '{\"image\": 6}'", []),
    (REFUSED.format(9), "Send at most 3", ["'{\"image\": 18}'"]),
    (QUEUED.format(0.8) + "".join(PERIODIC.format(at, 90 + at, 20 + at) for at in range(20, 40)), "--gpu-memory-utilization 0.9", []),
    (QUEUED.format(0.95) + "".join(PERIODIC.format(at, 9, 20 + at) for at in range(20, 40)), "--max-num-seqs", []),
    (FREE.format("9.4"), "nvidia-smi", []),
    (FREE.format("66.1"), "--gpu-memory-utilization", []),
    ("INFO 03-18 13:41:29 [gpu_worker.py:375] Available KV cache memory: -2.15 GiB\nValueError: No available memory for the cache blocks.",
     "--gpu-memory-utilization 0.95 --max-num-batched-tokens", []),
    ("INFO 03-18 13:41:29 [gpu_worker.py:375] Available KV cache memory: -0.20 GiB\nValueError: No available memory for the cache blocks.",
     "--gpu-memory-utilization 0.93", ["0.95 --max-num"]),
    (stack((SITE + "vllm/distributed/kv_transfer/kv_transfer_state.py", "ensure_kv_transfer_initialized", "config.kv_connector"), error=DICT),
     "from vllm.config import KVTransferConfig", ["Take kv_connector out"]),
    (stack(("/srv/app/serve.py", "main", "engine = LLM(**asdict(options))"),
           (SITE + "vllm/distributed/kv_transfer/kv_transfer_state.py", "ensure_kv_transfer_initialized", "config.kv_connector"), error=DICT),
     "LLM(**vars(args))", ["Take kv_connector out"]),
    (TOOLS, "Send no response_format", ["--structured-outputs-config"]),
    ("ERROR 03-03 19:06:24 [serving_chat.py:664] RuntimeError: " + LOST.format(2, 0), "Leave --chat-template out", []),
    ("ERROR 03-03 19:06:24 [serving_chat.py:664] RuntimeError: " + LOST.format(2, 1), "pip install -U vllm", ["--chat-template"]),
    (stack((SITE + "vllm/model_executor/models/acme_moe.py", "__init__", "self.experts = FusedMoE("),
           (SITE + "vllm/model_executor/layers/fused_moe/layer.py", "__init__", "assert self.quant_method is not None"), error="AssertionError"),
     "pip install -U 'vllm>=0.10.1'", ["4-bit symmetric"]),
    ("AssertionError: FusedMoE flashinfer kernels are only supported for Llama4", "Leave --moe-backend out", ["4-bit symmetric"]),
    ("Unable to get JIT kernel for brgemm. Params: M=1, N=3, K=128, str_a=1", "pip uninstall -y intel_extension", ["VLLM_TARGET_DEVICE"]),
    ("QEMU Virtual CPU version 2.5+\nIllegal instruction (core dumped)\npython -m vllm.entrypoints.openai.api_server --model acme/x", "CPU type 'host'", []),
    ("Illegal instruction (core dumped)\npython -m vllm.entrypoints.openai.api_server --model acme/x", "VLLM_TARGET_DEVICE=cpu", []),
    ("  File \"<string>\", line 480, in get_vllm_version\nRuntimeError: Unknown runtime environment\nerror: metadata-generation-failed\nBuilding wheel for vllm (pyproject.toml): finished with status 'error'",
     "", ["CUDA_HOME"]),
    ("ImportError: /opt/venv/lib/python3.12/site-packages/acme_kv/_ops.cpython-312-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2E",
     'python -c "import importlib.metadata', ["fresh environment"]),
    ("ImportError: /opt/venv/lib/python3.12/site-packages/vllm/_C.abi3.so: undefined symbol: _ZN3c105ErrorC2E", "uv venv", ["importlib.metadata"]),
    (stack(("/opt/vllm/vllm/v1/attention/backends/flashinfer.py", "<module>", "from flashinfer import ("),
           ("/src/our-flashinfer/flashinfer/gemm/kernels.py", "<module>", "mode = cute.nvgpu.Widgets"),
           error="AttributeError: module 'cutlass.cute.nvgpu' has no attribute 'Widgets'"),
     "pip install -U nvidia-cutlass-dsl ", ["--force-reinstall"]),
    (stack((SITE + "vllm/model_executor/models/llama.py", "load_weights", "param = params_dict[name]"), error="KeyError: 'layers.7.feed_forward.w2.weight'"),
     "Move consolidated", ["--load-format safetensors", "compare architectures"]),
    (stack((SITE + "vllm/__init__.py", "<module>", "import vllm._C  # noqa"), error="ImportError: libcudart.so.13: cannot open shared object file: No such file or directory"),
     "uv pip install vllm==", ["LD_LIBRARY_PATH"]),
    (stack((SITE + "acme_ops/__init__.py", "<module>", "from . import _impl"), error="ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"),
     "export LD_LIBRARY_PATH=", []),
    ("On an RTX 5080, driver 575.57: RuntimeError: CUDA error: no kernel image is available for execution on the device\nvllm serve acme/x",
     "uv venv", ["TORCH_CUDA_ARCH_LIST"]),
    (("Some weights of AcmeForCausalLM were not initialized from the model checkpoint at acme/x and are newly initialized: ['model.layers.3.k_proj.weight']\n"
     "RuntimeError: Failed to execute the model status=1006 message=Execution Out-Of-Bounds Memory Access\nneuron_worker.py"), "install the plug-in anew", []),
    ("ImportError: safetensors>=0.4.1,<0.6,!=0.5.1,!=0.5.2 is required for a normal functioning of this module, but found safetensors==0.7.0.\nvllm serve acme/x",
     "pip install 'safetensors>=0.4.1,<0.6,!=0.5.1,!=0.5.2'", []),
    (stack((SITE + "vllm/__init__.py", "<module>", "import vllm.env_override"), ("/usr/lib/python3.12/logging/__init__.py", "<module>", "from string import Template"),
           error="ImportError: cannot import name 'Template' from 'string' (/srv/bot/string.py)"),
     "Rename /srv/bot/string.py", ["--force-reinstall"]),
    ("ImportError: /opt/venv/lib/python3.12/site-packages/acme_fast/_core.abi3.so: invalid ELF header\nvllm serve acme/x",
     "pip install --force-reinstall --no-deps", ["fresh environment"]),
    (stack((SITE + "torch/__init__.py", "<module>", "from torch._C import *"), error="ImportError: libtorch_cpu.so: cannot open shared object file: No such file or directory")
     + "vllm serve acme/x", "uv pip install --reinstall-package torch", ["apt-file"]),
    (stack(("/usr/lib/python3/dist-packages/pkg_resources/__init__.py", "<module>", "register_finder(pkgutil.ImpImporter, find_on_path)"),
           error="AttributeError: module 'pkgutil' has no attribute 'ImpImporter'") + "vllm serve acme/x",
     "python3 -m pip install -U setuptools", ["--force-reinstall"]),
    (stack((SITE + "vllm/lora/worker_manager.py", "_load_adapter", "lora = LoRAModel.from_local_checkpoint("),
           (SITE + "vllm/lora/layers/base_linear.py", "set_lora", "self.lora_a_stacked[0][index, 0, :a, :b].copy_(lora_a)"),
           error="RuntimeError: The size of tensor a (512) must match the size of tensor b (640) at non-singleton dimension 1"),
     "", ["--enforce-eager"]),
]  # fmt: skip


@pytest.mark.parametrize(("log", "first", "never"), CASES)
def test_first_goes_what_the_log_tells(log: str, first: str, never: list[str]) -> None:
    fixes = triage(log).fixes
    said = [f"{fix.title} {fix.change} {fix.why}" for fix in fixes]
    assert fixes[0].change.startswith(first), said
    assert [part for part in never for text in said if part in text] == []


def test_a_timeout_made_of_a_cancelled_task_is_the_failure() -> None:
    assert triage(FETCHED).cause == "multimodal/media_unreadable"


def test_a_cancelled_task_alone_is_none() -> None:
    assert triage(FETCHED.partition("\nThe above")[0]).bucket == "no_failure"


def test_words_pasted_behind_a_message_do_not_outweigh_the_frame() -> None:
    pasted = (
        "prompt = tokenizer.apply_chat_template(messages, tokenize=False) messages = [{'role': 'user', 'content': text}] "
        * 3
    )
    log = stack(
        (SITE + "vllm/model_executor/models/minicpmv.py", "_get_image_bounds", "return torch.hstack(["),
        error=f"RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 3 but got size 4. {pasted}",
    )
    assert triage(log).bucket == "multimodal"


@pytest.mark.parametrize(
    ("facts", "lacks"),
    [
        ({"kv_cache_available_gib": -1.1}, "1.1"),
        ({"kv_cache_available_gib": -0.1}, ""),
        ({"kv_cache_available_gib": -1.1, "gpu_memory_total_gib": 24.0}, ""),
        ({"kv_cache_available_gib": -1.1, "gpu_memory_utilization": 0.5}, ""),
        ({"kv_cache_available_gib": -1.1, "gpu_memory_utilization": 0.97}, ""),
        ({}, ""),
    ],
)
def test_much_lacks_where_a_step_of_the_share_may_give_less(facts: dict[str, object], lacks: str) -> None:
    assert COMPUTED["too_much_lacks"](facts) == lacks


def test_the_share_is_raised_by_what_lacks_before_any_cache() -> None:
    facts = {"kv_cache_available_gib": -2.0, "gpu_memory_total_gib": 80.0, "gpu_memory_utilization": 0.9}
    assert COMPUTED["raise_gpu_memory_utilization"](facts) == "0.94"


@pytest.mark.parametrize(
    ("frame", "folder"),
    [
        ("/src/our-flashinfer/flashinfer/gemm/kernels.py:<module>", "/src/our-flashinfer"),
        ("/home/u/lmcache/lmcache/v1/cache.py:get", "/home/u/lmcache"),
        ("/work/vllm/vllm/engine.py:go", ""),
        ("flashinfer/gemm.py:go", ""),
        ("/srv/app/tools/gemm.py:go", ""),
    ],
)
def test_a_checkout_is_told_by_its_folder(frame: str, folder: str) -> None:
    assert COMPUTED["asking_checkout"]({"frame": frame, "package": "cutlass.cute"}) == folder


def test_what_is_kept_in_host_memory_is_told_for_all_ranks() -> None:
    fixes = triage(KILLED.format(given="'cpu_offload_gb': 24.0", told="")).fixes
    assert "above 96 GiB for --cpu-offload-gb" in fixes[0].why


@pytest.mark.parametrize(("waiting", "told"), [(90, True), (9, False)])
def test_fewer_sequences_are_said_to_shorten_no_wait(waiting: int, told: bool) -> None:
    log = QUEUED.format(0.95) + "".join(PERIODIC.format(at, waiting, 20 + at) for at in range(20, 40))
    fewer = next(fix for fix in triage(log).fixes if fix.option == "--max-num-seqs")
    assert ("with a larger KV cache only" in fewer.why) is told
