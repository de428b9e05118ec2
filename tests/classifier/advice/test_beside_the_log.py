"""What a log shows besides its message: an inner error, a feature, numbers, another program; and what that leaves of the fixes."""

from __future__ import annotations

from vllm_triage.classifier import triage

SITE = "/opt/venv/lib/python3.12/site-packages"
HEAD = "Traceback (most recent call last):\n"
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


def changes(text: str) -> list[str]:
    """Return what each fix shown for a log changes."""
    return [fix.change for fix in triage(text).fixes]


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
