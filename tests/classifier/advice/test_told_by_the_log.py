"""What the log already shows, holds or excludes is not offered; what follows from it is."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage


def titles(text: str) -> list[str]:
    """Return the titles of the fixes for a log."""
    return [fix.title for fix in triage(text).fixes]


_YARN = '--rope-scaling {"rope_type":"yarn","factor":2.0,"original_max_position_embeddings":8192}'


@pytest.mark.parametrize(
    ("release", "put"),
    [
        ("0.11.1", """--hf-overrides '{"rope_scaling": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 8192}}'"""),
        ("0.13.0", """--hf-overrides '{"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 8192, "rope_theta": "…"}}'"""),
    ],
)  # fmt: skip
def test_the_value_of_an_option_that_is_gone_goes_along(release: str, put: str) -> None:
    report = triage(f"vLLM API server version {release}\nvllm: error: unrecognized arguments: {_YARN}")
    assert put in report.fixes[0].change
    assert "…" not in report.corrected_command


def _backend(stack: str, release: str = "0.30.0", cache: str = "auto") -> str:
    return f"""INFO 01-02 10:00:00 [api_server.py:1] vLLM API server version {release}
INFO 01-02 10:00:00 [utils.py:1] non-default args: {{'model': 'm/m', 'attention_backend': 'CUTLASS_MLA', 'kv_cache_dtype': '{cache}'}}
Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/vllm/{stack}", line 81, in __init__
    self.attn = make()
ValueError: Selected backend AttentionBackendEnum.{"CUTLASS_MLA" if "mla" in stack else "FLASH_ATTN"} is not valid for this configuration. Reason: ['compute capability not supported']"""


def test_latent_attention_gets_a_backend_of_its_own() -> None:
    def backends(text: str) -> list[str]:
        return [fix.change for fix in triage(text).fixes if "--attention-backend TRITON" in fix.change]

    assert backends(_backend("model_executor/layers/mla.py")) == ["--attention-backend TRITON_MLA"]
    assert backends(_backend("model_executor/layers/mla.py", cache="fp8")) == ["--attention-backend TRITON_MLA"]
    assert backends(_backend("model_executor/layers/mla.py", release="0.16.0", cache="fp8")) == []
    assert backends(_backend("model_executor/layers/attention/attention.py")) == ["--attention-backend TRITON_ATTN"]


def test_a_script_is_told_no_copies_within_one_process() -> None:
    text = """>>> llm = LLM("m/m", tensor_parallel_size=6)
  File "/usr/lib/python3.12/site-packages/vllm/entrypoints/llm.py", line 207, in __init__
ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (6)."""
    changes = {fix.title: fix.change for fix in triage(text).fixes}
    assert changes["Run several copies instead"].startswith("one process for each copy: CUDA_VISIBLE_DEVICES=0")
    assert not any("data_parallel_size" in change for change in changes.values())


def _scheduler(frame: str) -> str:
    return f"""INFO 02-18 13:41:01 [api_server.py:1272] vLLM API server version 0.14.1
INFO 02-18 13:41:09 [vllm.py:630] Asynchronous scheduling is enabled.
ERROR 02-18 18:41:30 [core.py:1] Traceback (most recent call last):
ERROR 02-18 18:41:30 [core.py:1]   File "/usr/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 411, in step_with_batch_queue
ERROR 02-18 18:41:30 [core.py:1]     scheduler_output = self.scheduler.schedule()
ERROR 02-18 18:41:30 [core.py:1]   File "/usr/lib/python3.12/site-packages/vllm/v1/core/{frame}
ERROR 02-18 18:41:30 [core.py:1] AssertionError
INFO 02-18 18:41:29 [loggers.py:215] Engine 000: Running: 41 reqs, Waiting: 0 reqs, GPU KV cache usage: 62.1%, Prefix cache hit rate: 71.0%"""


def test_asynchronous_scheduling_is_asked_first_where_its_loop_failed() -> None:
    first = 'sched/scheduler.py", line 1131, in update_from_output\nERROR 02-18 18:41:30 [core.py:1]     assert num > 0'
    assert titles(_scheduler(first))[0] == "Switch asynchronous scheduling off"
    block = 'block_pool.py", line 400, in touch\nERROR 02-18 18:41:30 [core.py:1]     assert block.ref_cnt > 0'
    assert titles(_scheduler(block))[0] != "Switch asynchronous scheduling off"


def test_a_name_of_a_backend_is_no_attention_kernel_in_the_stack() -> None:
    fault = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    told = "INFO 02-19 22:10:21 [cuda.py:364] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'TRITON_ATTN']\n"
    frame = 'Traceback (most recent call last):\n  File "/usr/lib/python3.12/site-packages/vllm/v1/attention/backends/flash_attn.py", line 9, in forward\n    run()\n'
    assert "Try another attention backend" not in titles(told + fault)
    assert "Try another attention backend" in titles(told + frame + fault)


def test_a_parser_with_another_number_is_a_later_releases() -> None:
    text = """vLLM API server version 0.13.0
non-default args: {'model': 'zai-org/GLM-4.7', 'enable_auto_tool_choice': True, 'tool_call_parser': 'glm47'}
KeyError: 'invalid tool call parser: glm47 (chose from { deepseek_v3,glm45,hermes,mistral })'"""
    report = triage(text)
    assert report.fixes[0].title == "Upgrade to a release that has the parser"
    assert not any("glm45" in fix.change for fix in report.fixes)
    misspelt = triage(text.replace("glm47 (", "hermess (").replace("'glm47'", "'hermess'").replace("GLM-4.7", "m"))
    assert misspelt.fixes[0].change == "--tool-call-parser hermes"


def test_experts_with_zero_points_have_a_release() -> None:
    text = """vLLM API server version {}
  File "/usr/lib/python3.12/site-packages/vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors_moe/compressed_tensors_moe_wna16.py", line 49, in __init__
    assert weight_quant.symmetric, (
AssertionError: Only symmetric quantization is supported for MoE"""
    assert "vllm>=0.29.0" in triage(text.format("0.20.0")).fixes[0].change
    assert "Take a symmetric build" in [fix.title for fix in triage(text.format("0.20.0")).fixes]
