"""What a log shows besides its message: an inner error, a feature, numbers, another program; and what that leaves of the fixes."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

SITE = "/opt/venv/lib/python3.12/site-packages"
HEAD = "Traceback (most recent call last):\n"
RESET = (
    f'{HEAD}  File "{SITE}/vllm/v1/engine/core.py", line 590, in run_engine_core\n    engine_core.run_busy_loop()\n'
    f'  File "{SITE}/vllm/distributed/kv_transfer/kv_connector/v1/lmcache_connector.py", line 91, in start_load_kv\n    self._engine.start_load_kv()\n'
    f'  File "{SITE}/lmcache/v1/distributed_server/naive_server.py", line 169, in issue_get\n    data = sock.recv(16)\n'
    "ConnectionResetError: [Errno 104] Connection reset by peer\n"
)
PROMPT_ROWS = (
    f'{HEAD}  File "{SITE}/vllm/v1/worker/gpu_model_runner.py", line 1100, in _get_prompt_logprobs_dict\n    logits = self.model.compute_logits(hidden, None)\n'
    f'  File "{SITE}/vllm/lora/layers.py", line 1150, in _get_logits\n    logits[:,\n'
    "RuntimeError: The expanded size of the tensor (58) must match the existing size (3) at non-singleton dimension 0.\n"
)
EXPERTS = (
    f"(Worker_TP0_EP0 pid=45) ERROR 03-24 20:08:07 [multiproc_executor.py:932] {HEAD}"
    f'(Worker_TP0_EP0 pid=45) ERROR 03-24 20:08:07 [multiproc_executor.py:932]   File "{SITE}/vllm/model_executor/layers/fused_moe/cpu_fused_moe.py", line 446, in cpu_fused_moe_torch\n'
    "(Worker_TP0_EP0 pid=45) ERROR 03-24 20:08:07 [multiproc_executor.py:932]     up = layer.up[i](tokens)\n"
    "(Worker_TP0_EP0 pid=45) ERROR 03-24 20:08:07 [multiproc_executor.py:932] IndexError: list index out of range\n"
)
MONITOR = (
    "(APIServer pid=1) INFO 02-19 08:18:31 [api_server.py:1805] vLLM API server version 0.10.1.1\n"
    "(APIServer pid=1) INFO 02-19 08:18:31 [utils.py:326] non-default args: {'model': '/models/m', 'max_model_len': 4096, 'enforce_eager': True}\n"
    "(APIServer pid=1) ERROR 02-19 08:29:45 [core_client.py:562] Engine core proc EngineCore_0 died unexpectedly, shutting down client.\n"
    f"(APIServer pid=1) Exception in thread MPClientEngineMonitor:\n(APIServer pid=1) {HEAD}"
    f'(APIServer pid=1)   File "{SITE}/vllm/v1/engine/core_client.py", line 565, in monitor_engine_cores\n(APIServer pid=1)     _self.shutdown()\n'
    f'(APIServer pid=1)   File "{SITE}/zmq/asyncio.py", line 116, in _default_loop\n(APIServer pid=1)     return asyncio.get_event_loop()\n'
    "(APIServer pid=1) RuntimeError: There is no current event loop in thread 'MPClientEngineMonitor'.\n"
)
DUPLICATE = (
    "(Worker_PP1_TP0 pid=7) torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:93, invalid usage\n"
    "(Worker_PP1_TP0 pid=7) Duplicate GPU detected : rank 2 and rank 0 both on CUDA device 1000\n"
)
REASONS = (
    "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=128, kv_cache_dtype=fp8, block_size=106). "
    "Reasons: {FLASH_ATTN: [kv_cache_dtype not supported, block_size not supported], TRITON_ATTN: [block_size not supported]}."
)
NO_BLOCKS = (
    "INFO 04-06 18:44:01 [gpu_model_runner.py:1258] Model loading took 0.4315 GiB and 1.2 seconds\n"
    "ERROR 04-06 18:44:22 [core.py:390] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
)
GAUDI = (
    f'{HEAD}  File "/usr/lib/python3.10/dist-packages/vllm-0.7.2+gaudi000-py3.10.egg/vllm/worker/hpu_model_runner.py", line 1967, in execute_model\n    out = f(x)\n'
    '  File "/usr/lib/python3.10/dist-packages/vllm-0.7.2+gaudi000-py3.10.egg/vllm/model_executor/layers/rotary_embedding.py", line 822, in forward\n    q = q.view(n, -1, s)\n'
    "RuntimeError: view size is not compatible with input tensor's size and stride\n"
)
TEST_RUN = (
    ">                           rv = reductor(4)\n"
    "E                           torch._inductor.exc.InductorError: TypeError: cannot pickle 'torch._C.DispatchKeySet' object\n\n"
    "../env/lib/python3.12/copy.py:151: InductorError\n=========== warnings summary ============\n"
)


MLLAMA = (
    f'INFO 02-27 10:00:00 api_server.py:911] vLLM API server version 0.7.3\n{HEAD}  File "{SITE}/vllm/worker/enc_dec_model_runner.py", line 182, in execute_model\n    hidden = model_executable(\n'
    f'  File "{SITE}/vllm/model_executor/models/mllama.py", line 1392, in forward\n    assert actual_len >= last_group_len\nAssertionError\n'
)
EXPERT_KERNEL = (
    f'{HEAD}  File "{SITE}/vllm/model_executor/layers/fused_moe/experts/flashinfer_b12x_moe.py", line 207, in apply\n    run(x)\n'
    f'  File "{SITE}/flashinfer/fused_moe/cute_dsl/blackwell_sm12x/moe_dispatch.py", line 1742, in launch_sm120_moe\n    return launch(x)\n'
    "RuntimeError: CUDA Error: cudaErrorInvalidValue\n"
)
PIXTRAL = (
    f'{HEAD}  File "{SITE}/transformers/models/pixtral/processing_pixtral.py", line 124, in __init__\n    self.id = tokenizer.convert_tokens_to_ids(t)\n'
    "AttributeError: 'MistralTokenizer' object has no attribute 'convert_tokens_to_ids'\n"
)
NO_ROUTE = "[E329 06:28:12.5 socket.cpp:1023] [c10d] The client socket has timed out after 600000ms while trying to connect to (10.4.0.33, 54485)."
XGRAMMAR = "ERROR 03-10 03:06:35 [core.py:324] ValueError: Input vocab_size less than minimum viable vocab size for tokenizer <class 'CachedTokenizer'>."


OLD_TORCH = (
    "ERROR: Could not find a version that satisfies the requirement torch==2.1.2 (from versions: 2.2.0, 2.2.1, 2.3.1)\n"
    "ERROR: No matching distribution found for torch==2.1.2\n"
)
OTHERS_CALL = (
    f'{HEAD}  File "{SITE}/huggingface_hub/hf_api.py", line 710, in __init__\n    self.safetensors = SafeTensorsInfo(**safetensors)\n'
    "TypeError: SafeTensorsInfo.__init__() got an unexpected keyword argument 'sharded'\n"
)
OWN_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.86 GiB. GPU 0 has a total capacity of 21.99 GiB of which 337.38 MiB is free. "
    "Process 30125 has 21.64 GiB memory in use. Of the allocated memory 18.20 GiB is allocated by PyTorch.\n"
)


def changes(text: str) -> list[str]:
    """Return what each fix shown for a log changes."""
    return [fix.change for fix in triage(text).fixes]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (RESET, "Check Redis or the LMCache server"), (PROMPT_ROWS, "leave prompt_logprobs"), (EXPERTS, "leave out --enable-expert-parallel"),
        (MONITOR, "dmesg"), (DUPLICATE, "nvidia-smi -L"), (REASONS, "--block-size 16"), (TEST_RUN, "LLM(…, enforce_eager=True)"),
        ("vllm\\csrc\\cache_kernels.cu(96): error: expression must have a constant value", "wsl --install"),
        (MLLAMA, "pip install -U 'vllm>=0.8.4'"), (EXPERT_KERNEL, "--moe-backend marlin"), (PIXTRAL, "Leave --tokenizer-mode mistral out"),
        (OLD_TORCH, "uv venv --python 3.11"), (OWN_MEMORY, "--gpu-memory-utilization"),
        (NO_ROUTE, "nc -vz 10.4.0.33 54485"), (XGRAMMAR, "pip install -U vllm"),
        (GAUDI, "Take the newest release of HabanaAI/vllm-fork"),
    ],
)  # fmt: skip
def test_what_the_log_shows_comes_first(text: str, first: str) -> None:
    """The feature, the place or the program in the log, and not what most logs of the cause need."""
    assert changes(text)[0].startswith(first)


@pytest.mark.parametrize(
    ("text", "not_shown"),
    [
        (RESET, "compatibility table"), (PROMPT_ROWS, "--enforce-eager"), (DUPLICATE, "--tensor-parallel-size <"),
        (NO_BLOCKS, "quantised"), (NO_BLOCKS, "FP8 checkpoint"), (NO_BLOCKS, "--tensor-parallel-size"), (TEST_RUN, "--enforce-eager"), (MONITOR, "> vllm.log"),
        (OTHERS_CALL, "Remove sharded"), (OLD_TORCH, "--python 3.12"), (OWN_MEMORY, "nvidia-smi"),
    ],
)  # fmt: skip
def test_what_the_log_rules_out_is_not_shown(text: str, not_shown: str) -> None:
    """Widths, ranks and formats that are in order by the log's own words."""
    assert not [change for change in changes(text) if not_shown in change]


def test_a_reason_that_some_backends_do_not_give_need_not_go() -> None:
    """Triton takes the FP8 cache; the block size alone is in its way."""
    assert "--kv-cache-dtype auto" not in changes(REASONS)


def test_the_stages_in_the_workers_names_count() -> None:
    """Ranks are the product of tensor and pipeline size."""
    assert any("here 2 stages" in change for change in changes(DUPLICATE))


def test_a_start_is_repeated_with_all_its_arguments() -> None:
    """And into a file of its own: the log that is there is the evidence."""
    assert any(
        "PYTHONFAULTHANDLER=1 vllm serve /models/m --max-model-len 4096 --enforce-eager 2>&1 | tee -a" in change
        for change in changes(MONITOR)
    )


def test_others_memory_is_looked_for_where_the_weights_are_small() -> None:
    """Before 0.9.2 it counted against the server's share."""
    text = "INFO 04-06 18:43:00 [api_server.py:1034] vLLM API server version 0.8.3\n" + NO_BLOCKS
    assert changes(text)[0].startswith("nvidia-smi --query-compute-apps")


def test_the_inner_error_is_searched_for() -> None:
    """Every failure of a worker has the wrapper's words."""
    text = (
        "ERROR 04-16 08:38:03 [core.py:387] RuntimeError: ('Worker failed with error %s, please check the stack trace above for the root cause', "
        "'TypeError : linear(): argument must be Tensor, not tuple\\n\\nfrom user code:\\n\n"
        f'File "{SITE}/vllm/model_executor/models/glm4.py", line 204, in forward\\n hidden_states = self.mlp(hidden_states)\\n\n'
    )
    shown = " ".join(changes(text))
    assert "TypeError: linear" in shown
    assert "Worker failed with error" not in shown


def test_a_kv_cache_dtype_that_no_backend_of_the_model_reads_goes() -> None:
    """FlashInfer alone reads nvfp4, Triton alone has full attention among an image's tokens."""
    text = (
        "(APIServer pid=9) INFO 06-11 08:00:00 [utils.py:1] vLLM API server version 0.23.0\n"
        "(APIServer pid=9) INFO 06-11 08:00:01 [utils.py:326] non-default args: {'model': 'org/m', 'attention_backend': 'FLASHINFER', 'kv_cache_dtype': 'nvfp4'}\n"
        "(EngineCore pid=10) ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this configuration. "
        "Reason: ['partial multimodal token full attention not supported']\n"
    )
    assert changes(text) == ["--kv-cache-dtype fp8 --attention-backend TRITON_ATTN"]
