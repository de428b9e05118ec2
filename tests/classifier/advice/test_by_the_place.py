"""The same words in another place, or with other numbers, ask for another first fix."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

ENGINE = "(EngineCore pid=9) INFO 06-01 09:59:00 [core.py:93] Initializing a V1 LLM engine (v{}) with config: model='acme/tiny-7b'\n"
COUNTED = "vllm.exceptions.VLLMValidationError: You passed {} input tokens and requested {} output tokens. However, the model's context length is only 8192 tokens, resulting in a maximum input length of {} tokens. Please reduce the length of the input prompt."


@pytest.mark.parametrize(
    ("prompt", "output", "first"),
    [
        (7100, 2000, "Set max_tokens (or max_completion_tokens) to at most 1092"),
        (7193, 1000, "Trim the conversation"),
        (4193, 4000, "Leave max_tokens"),
    ],
)
def test_a_prompt_that_was_not_counted_to_its_end_gives_no_number(prompt, output, first):
    """One token above what is left for it, in any release that stops there: the prompt may be far longer."""
    answer = triage(COUNTED.format(prompt, output, 8192 - output))

    assert answer.fixes[0].change.startswith(first)
    assert ("at least" in answer.summary) == (prompt + output == 8193)


def test_characters_are_no_tokens():
    """A prompt that is refused by its characters was never counted."""
    line = "ValueError: This model's maximum context length is 4096 tokens. However, you requested 64 output tokens and your prompt contains 900000 characters (more than 32768 characters, which is the upper bound for 4032 input tokens)."
    answer = triage(line)

    assert answer.fixes[0].title == "Shorten the prompt"
    assert "900000" not in answer.summary


def test_a_refused_allocation_is_read_in_its_older_form():
    """Torch before 2.1, and torch_npu: the step is as large as what was lacking."""
    line = "RuntimeError: Worker failed with error 'NPU out of memory. Tried to allocate 9.00 GiB (NPU 3; 29.50 GiB total capacity; 24.00 GiB already allocated; 24.10 GiB current active; 3.10 GiB free; 24.20 GiB reserved in total by PyTorch)', please check the stack trace above for the root cause"
    fix = next(fix for fix in triage(line).fixes if fix.option == "--gpu-memory-utilization")

    assert float(fix.value) <= 0.9 - (9.0 - 3.1) / 29.5


PLACEHOLDER = """(EngineCore_DP0 pid=90) ERROR 01-09 10:00:01 [backend_xgrammar.py:180] Failed to advance FSM for request chatcmpl-77 for tokens {}. Please file an issue.
(EngineCore_DP0 pid=90) ERROR 01-09 10:00:01 [core.py:890] EngineCore encountered a fatal error. (v0.12.0) spec_decode
"""


def test_a_placeholder_is_refused_by_every_grammar_backend():
    """Another backend gets the same -1; releases from 0.14.0 on stop before it."""
    changes = [
        [fix.change for fix in triage(ENGINE.format("0.12.0") + PLACEHOLDER.format(token)).fixes] for token in (-1, 812)
    ]

    assert any("guidance" in change for change in changes[1])
    assert not any("guidance" in change for change in changes[0])
    assert any("0.14.0" in change for change in changes[0])


BUILD = """  × Building editable for vllm (pyproject.toml) did not run successfully.
  │ exit code: 1
  ╰─> [88 lines of output]
      running build_ext
      {}
      [end of output]
  note: This error originates from a subprocess, and is likely not a problem with pip.
"""


def test_a_library_that_was_never_built_asks_for_a_clean_build():
    """No compiler failed: neither a toolkit nor a wheel in place of the checkout is what is wanted."""
    missing = "error: can't copy '/tmp/tmpq1.build-lib/vllm/_moe_C.abi3.so': doesn't exist or not a regular file"
    answer = triage(BUILD.format(missing.replace("error:", "distutils.errors.DistutilsFileError:")))

    assert answer.fixes[0].change.startswith("rm -rf build")
    assert not any("CUDA_HOME" in fix.change for fix in answer.fixes)


SAMPLER = """(EngineCore pid=9) ERROR 06-01 10:00:00 [core.py:1100] Traceback (most recent call last):
(EngineCore pid=9) ERROR 06-01 10:00:00 [core.py:1100]   File "/opt/env/lib/python3.12/site-packages/vllm/v1/sample/ops/topk_topp_sampler.py", line 500, in flashinfer_sample
(EngineCore pid=9) ERROR 06-01 10:00:00 [core.py:1100]     next_token_ids = flashinfer.sampling.top_k_top_p_sampling_from_logits(
(EngineCore pid=9) ERROR 06-01 10:00:00 [core.py:1100]   File "/opt/env/lib/python3.12/site-packages/flashinfer/sampling.py", line 60, in get_sampling_module
(EngineCore pid=9) ERROR 06-01 10:00:00 [core.py:1100]     module = gen_sampling_module().build_and_load()
(EngineCore pid=9) ERROR 06-01 10:00:00 [core.py:1100]   File "/opt/env/lib/python3.12/site-packages/flashinfer/jit/cpp_ext.py", line 61, in get_cuda_path
(EngineCore pid=9) ERROR 06-01 10:00:00 [core.py:1100]     raise RuntimeError(
(EngineCore pid=9) ERROR 06-01 10:00:00 [core.py:1100] {}
"""


@pytest.mark.parametrize(
    ("error", "first"),
    [
        ("RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist", "VLLM_USE_FLASHINFER_SAMPLER=0"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", "pip install ninja"),
    ],
)  # fmt: skip
def test_where_only_the_sampler_is_compiled_it_is_switched_off(error, first):
    """One variable instead of a toolkit; ninja is one command as well."""
    assert triage(ENGINE.format("0.22.0") + SAMPLER.format(error)).fixes[0].change == first


def test_a_piecewise_graph_is_called_by_every_compile_backend():
    """The frame is reached without Inductor, too."""
    log = """Traceback (most recent call last):
  File "/opt/env/lib/python3.12/site-packages/vllm/compilation/piecewise_backend.py", line 100, in __call__
    runtime_shape = args[self.sym_shape_indices[0]]
IndexError: tuple index out of range
"""
    answer = triage(log)

    assert not [fix for fix in answer.fixes if "backend" in fix.change]


def test_a_client_that_has_no_hf_command():
    """The command came with 0.34; the exception's module tells an older one."""
    line = "{}: 416 Client Error: Requested Range Not Satisfiable for url: https://cdn.example/repos/a1/model-00002.safetensors"
    old = triage(line.format("huggingface_hub.utils._errors.HfHubHTTPError")).fixes[0]
    new = triage(line.format("huggingface_hub.errors.HfHubHTTPError")).fixes[0]

    assert "huggingface-cli download" in old.change
    assert "; hf download" in new.change


def test_vllms_own_file_named_after_a_library_is_not_the_library():
    """attention/backends/xformers.py uses xformers: nothing is to be uninstalled where vLLM's own operator is missing."""
    log = """Traceback (most recent call last):
  File "/root/work/vllm/vllm/attention/backends/xformers.py", line 210, in forward
    PagedAttention.write_to_paged_cache(key, value, key_cache,
  File "/root/work/vllm/vllm/attention/ops/paged_attn.py", line 70, in write_to_paged_cache
    ops.reshape_and_cache(
NameError: name 'vllm_cache_ops' is not defined
"""
    changes = [fix.change for fix in triage(log).fixes]

    assert "pip install --no-build-isolation -e ." in changes[0]
    assert not any("uninstall" in change for change in changes)
