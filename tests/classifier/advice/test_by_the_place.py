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


def test_an_engine_that_was_told_to_stop_did_not_crash():
    """Its own DEBUG line is written by the handler of a signal and by nothing else."""
    died = "(APIServer pid=7) ERROR 11-12 09:14:02 [core_client.py:600] Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.\n"
    told = "(EngineCore_DP0 pid=9) DEBUG 11-12 09:14:01 [core.py:820] EngineCore exiting.\n"

    assert triage(died).cause == "worker_died/engine_process_died"
    answer = triage(told + died)
    assert answer.cause == "worker_died/engine_process_stopped"
    assert not any("dmesg" in fix.change for fix in answer.fixes)


MISSING = """Traceback (most recent call last):
  File "/opt/env/lib/python3.11/site-packages/{path}", line 90, in {function}
    {code}
KeyError: 'model.layers.3.self_attn.k_proj.weight'
"""


@pytest.mark.parametrize(
    ("path", "function", "code", "cause"),
    [
        ("neuronx_distributed_inference/models/llama/modeling_llama.py", "convert", "k = state_dict[name]", "missing_weights"),
        ("vllm_gaudi/models/qwen.py", "preprocess", 'w = checkpoint[f"{prefix}.weight"]', "missing_weights"),
        ("vllm/model_executor/models/llama.py", "load_weights", "param = params_dict[name]", "unknown_parameter"),
        ("vllm/model_executor/model_loader/sharded_state_loader.py", "load_weights", "param_data = state_dict[key].data", "unknown_parameter"),
    ],
)  # fmt: skip
def test_which_side_lacks_a_name(path, function, code, cause):
    """What is read out of the checkpoint is missing there; what is looked up among the parameters is unknown to the model."""
    assert triage(MISSING.format(path=path, function=function, code=code)).cause == f"weights_mismatch/{cause}"


def test_the_sparse_part_of_a_squeezellm_checkpoint_is_no_wrong_setting():
    """The method is right: vLLM's kernels take the dense part alone."""
    log = """Traceback (most recent call last):
  File "/opt/env/lib/python3.11/site-packages/vllm/model_executor/models/mistral.py", line 388, in load_weights
    param = params_dict[name]
KeyError: 'model.layers.7.mlp.gate_up_proj.vals'
"""
    answer = triage(log)

    assert answer.fixes[0].title == "Take the dense-only variant of the checkpoint"
    assert len(answer.fixes) == 1


def test_an_empty_prompt_that_the_report_names():
    """The tokenizer is the right one for all other requests."""
    log = """Sometimes the prompt is empty, and then this comes:
Traceback (most recent call last):
  File "/opt/env/lib/python3.9/site-packages/vllm/engine/llm_engine.py", line 540, in _decode_sequences
    new_token, new_output_text = detokenize_incrementally(
  File "/opt/env/lib/python3.9/site-packages/transformers/tokenization_utils_fast.py", line 533, in convert_tokens_to_string
    return self.backend_tokenizer.decoder.decode(tokens)
TypeError: argument 'tokens': 'NoneType' object cannot be converted to 'PyString'
"""
    assert [fix.title.split(",")[0] for fix in triage(log).fixes] == [
        "Send no empty prompts",
        "Upgrade vLLM to 0.5.5 or later",
    ]
    untold = triage(log.partition("\n")[2]).fixes
    assert untold[0].title.startswith("Upgrade vLLM to 0.5.5")


def test_versions_that_do_not_agree_are_no_fault_of_the_media():
    """Transformers' processor fails on vLLM's own dummies: another pair of versions is needed, whoever sent what."""
    log = """INFO 02-01 10:00:00 api_server.py:768] vLLM API server version 0.7.1.dev12+g0a1b2c3d4
ERROR 02-01 10:00:09 core.py:205]   File "/src/vllm/vllm/multimodal/profiling.py", line 139, in _get_dummy_mm_inputs
ERROR 02-01 10:00:09 core.py:205]     return self.processor.apply(
ERROR 02-01 10:00:09 core.py:205]   File "/src/vllm/vllm/inputs/registry.py", line 160, in call_hf_processor
ERROR 02-01 10:00:09 core.py:205]     return hf_processor(**data, **merged_kwargs, return_tensors="pt")
ERROR 02-01 10:00:09 core.py:205]   File "/opt/env/lib/python3.12/site-packages/transformers/models/acme_audio/processing_acme_audio.py", line 99, in __call__
ERROR 02-01 10:00:09 core.py:205]     count = len(audios)
ERROR 02-01 10:00:09 core.py:205] TypeError: object of type 'NoneType' has no len()
"""
    fix = triage(log).fixes[0]

    assert fix.title == "Match transformers to vLLM and to the model"
    assert fix.change.startswith("Update the checkout of vLLM's sources")


CHOICE = """(EngineCore pid=9) INFO 06-10 10:00:00 [cuda.py:401] Using FLASHINFER attention backend out of potential backends: [{}].
(EngineCore pid=9) ERROR 06-10 10:00:09 [core.py:1199] Traceback (most recent call last):
(EngineCore pid=9) ERROR 06-10 10:00:09 [core.py:1199]   File "/opt/env/lib/python3.12/site-packages/flashinfer/prefill.py", line 2900, in run
(EngineCore pid=9) ERROR 06-10 10:00:09 [core.py:1199]     self._cached_module.paged_run(*run_args)
(EngineCore pid=9) ERROR 06-10 10:00:09 [core.py:1199] RuntimeError: Error in function 'BatchPrefillWithPagedKVCacheDispatched' at prefill.cuh:3000: Unsupported max_mma_kv: 0
"""
GIVEN = "(APIServer pid=7) INFO 06-10 09:59:00 [utils.py:233] non-default args: {{'model': 'acme/tiny-7b', 'kv_cache_dtype': '{}'}}\n"


def test_a_backend_that_vllm_did_not_find_possible_is_not_asked_for():
    """Its own list tells; where the cache's type leaves one alone, that is what is to be given up."""
    start = ENGINE.format("0.22.0")
    free = triage(start + CHOICE.format("'FLASHINFER', 'TRITON_ATTN'"))
    bound = triage(start + CHOICE.format("'FLASHINFER'"))
    cache = triage(start + GIVEN.format("fp8_e5m2") + CHOICE.format("'FLASHINFER'"))

    assert free.fixes[0].change == "--attention-backend TRITON_ATTN"
    assert not any("TRITON_ATTN" in fix.change for fix in bound.fixes)
    assert cache.fixes[0].change == "leave out --kv-cache-dtype"


def test_a_variable_by_which_the_log_says_that_it_chose_is_taken_back():
    """Forks name theirs; of a library that did not fail nothing is said."""
    line = "(APIServer pid=7) INFO 06-10 09:59:10 [config.py:157] Hybrid heads with VLLM_ACME_ROUTE enabled (default-on; set =0 to disable): forcing {}.\n"
    failed = triage(ENGINE.format("0.22.0") + line.format("FLASHINFER") + CHOICE.format("'FLASHINFER'"))
    other = triage(ENGINE.format("0.22.0") + line.format("AITER") + CHOICE.format("'FLASHINFER'"))

    assert failed.fixes[0].change == "VLLM_ACME_ROUTE=0"
    assert not any("VLLM_ACME_ROUTE" in fix.change for fix in other.fixes)


@pytest.mark.parametrize(("architecture", "backend"), [("Gemma4ForConditionalGeneration", "TRITON_ATTN"), ("LlamaForCausalLM", "FLASH_ATTN")])  # fmt: skip
def test_heads_that_flash_attention_does_not_take(architecture, backend):
    """The backend that is offered in FlashInfer's place serves the model."""
    log = f"""(APIServer pid=7) INFO 06-10 09:59:00 [model.py:609] Resolved architecture: {architecture}
(EngineCore pid=9) ERROR 06-10 10:00:09 [core.py:1199]   File "/opt/env/lib/python3.12/site-packages/flashinfer/prefill.py", line 90, in gen
(EngineCore pid=9) ERROR 06-10 10:00:09 [core.py:1199]     build()
(EngineCore pid=9) ERROR 06-10 10:00:09 [core.py:1199] RuntimeError: Ninja build failed. Ninja output:
(EngineCore pid=9) ERROR 06-10 10:00:09 [core.py:1199] batch_prefill.cuh(12): error: identifier "mod_div" is undefined
"""
    changes = [fix.change for fix in triage(ENGINE.format("0.22.0") + log).fixes]

    assert f"--attention-backend {backend}" in changes


def test_a_command_that_the_log_cuts_off_is_not_made_whole():
    """What stood behind the last backslash would be lost in it."""
    log = """ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use
$ vllm serve acme/tiny-7b --port 8000 {}
"""
    whole, cut = triage(log.format("--tensor-parallel-size 2")), triage(log.format("\\"))

    assert "--tensor-parallel-size 2" in whole.corrected_command
    assert cut.corrected_command == ""
    assert cut.fixes[0].change == "--port 8001"


TRITON = """({} pid=11)   File "/opt/env/lib/python3.12/site-packages/vllm/model_executor/layers/fused_moe/fused_moe.py", line 1295, in fused_experts_impl
({} pid=11)     compute_type = tl.float16
({} pid=11) AttributeError: module 'triton.language' has no attribute 'float16'
"""


def test_devices_that_vllm_hides_itself_are_not_the_users_to_show():
    """Ray's actors of data parallelism begin without any; a later release waits for the driver."""
    engine = (
        "INFO 06-20 10:00:00 [core.py:70] Initializing a V1 LLM engine (v0.9.1) with config: model='acme/tiny-7b'\n"
    )
    actor = triage(engine + TRITON.format(*["DPEngineCoreActor"] * 3)).fixes
    script = triage(engine + TRITON.format(*["EngineCore_0"] * 3)).fixes

    assert actor[0].fixed_in == "0.9.2"
    assert not any("CUDA_VISIBLE_DEVICES must" in fix.change for fix in actor)
    assert script[0].change.startswith("nvidia-smi must list a GPU")


def test_patches_of_installed_packages_are_undone_first():
    """What is compiled is then no release of any of them."""
    patched = "Successfully patched /opt/env/lib/python3.12/site-packages/acme_inference/modeling_tiny.py\n"
    fault = "RuntimeError: Failed to execute the model status=1006 message=Execution Out-Of-Bounds Memory Access\n"

    assert "modeling_tiny.py" in triage(patched + fault).fixes[0].change
    assert "patches" not in triage(fault).fixes[0].change


def test_a_code_of_minus_one_is_no_closed_session():
    """The wrapper of the Neuron compiler passes on -1, which Python prints as SIGHUP."""
    log = """  File "/opt/env/lib/python3.12/site-packages/libneuronxla/neuron_cc_wrapper.py", line 177, in call_neuron_compiler
    raise subprocess.CalledProcessError(res.returncode, cmd, stderr=error_info)
subprocess.CalledProcessError: Command '' died with <Signals.SIGHUP: 1>.
"""
    answer = triage(log)

    assert "cache of compiled graphs" in answer.fixes[0].change
    assert not any("nohup" in fix.change for fix in answer.fixes)


def test_a_clients_own_exception_is_mended_at_the_client():
    """Its library and the openai package do not agree, whatever the server's parser logs beside it."""
    log = """Traceback (most recent call last):
  File "/srv/app/venv/lib/python3.12/site-packages/agents/models/openai_responses.py", line 90, in stream_response
    ResponseUsage(
pydantic_core._pydantic_core.ValidationError: 2 validation errors for ResponseUsage
output_tokens_details
  Field required [type=missing, input_value={'output_tokens': 5}, input_type=dict]

ERROR 03-20 16:44:04 hermes_tool_parser.py:338] Error trying to handle streaming tool call.
ERROR 03-20 16:44:04 hermes_tool_parser.py:338] Traceback (most recent call last):
ERROR 03-20 16:44:04 hermes_tool_parser.py:338]   File "/opt/env/lib/python3.12/site-packages/vllm/entrypoints/openai/tool_parsers/hermes_tool_parser.py", line 227, in extract_tool_calls_streaming
ERROR 03-20 16:44:04 hermes_tool_parser.py:338]     name = call.get("name")
ERROR 03-20 16:44:04 hermes_tool_parser.py:338] AttributeError: 'NoneType' object has no attribute 'get'
"""
    assert triage(log).fixes[0].change.startswith("pip install -U openai-agents openai")


def test_a_dummy_that_is_too_short_for_its_image():
    """Encoder-decoder models are profiled with max_num_batched_tokens / max_num_seqs tokens each."""
    log = """  File "/opt/env/lib/python3.11/site-packages/vllm/worker/enc_dec_model_runner.py", line 341, in profile_run
    self.execute_model(model_input, kv_caches, intermediate_tensors)
  File "/opt/env/lib/python3.11/site-packages/vllm/model_executor/models/mllama.py", line 1390, in forward
    assert actual_len >= last_group_len
AssertionError
"""
    answer = triage("INFO 03-01 10:00:00 api_server.py:651] vLLM API server version 0.7.2\n" + log)

    # The change that mended it, and what does without another release.
    assert [fix.change for fix in answer.fixes] == ["pip install -U 'vllm>=0.8.4'", "--max-num-seqs 16"]
    assert "vllm-project/vllm#14784" in answer.fixes[0].title


def test_eight_full_gpus_lack_more_than_a_few_gib():
    """On one GPU offloading is worth a try."""
    log = """(VllmWorker rank={rank} pid=5) ERROR 04-01 10:00:00 [multiproc_executor.py:379]   File "/opt/env/lib/python3.12/site-packages/vllm/model_executor/layers/fused_moe/layer.py", line 90, in create_weights
(VllmWorker rank={rank} pid=5) ERROR 04-01 10:00:00 [multiproc_executor.py:379]     w13_weight = torch.nn.Parameter(torch.empty(
(VllmWorker rank={rank} pid=5) ERROR 04-01 10:00:00 [multiproc_executor.py:379] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU {rank} has a total capacity of 79.14 GiB of which 1.02 GiB is free.
"""
    many, few = (["--cpu-offload-gb 8" in fix.change for fix in triage(log.format(rank=rank)).fixes] for rank in (6, 1))

    assert (any(many), any(few)) == (False, True)


@pytest.mark.parametrize(("folder", "checkout"), [("/home/kim/src/vllm", True), ("/opt/env/lib/python3.12/site-packages", False), ("/workspace", False), ("/.../vllm", False)])  # fmt: skip
def test_pip_does_not_upgrade_a_checkout(folder, checkout):
    """Frames outside the installed packages: vLLM is imported from its sources; its images have theirs in /workspace."""
    log = f"""  File "{folder}/vllm/v1/attention/backends/flashinfer.py", line 1200, in forward
    wrapper.run(
  File "/opt/env/lib/python3.12/site-packages/flashinfer/prefill.py", line 2493, in run
    self._cached_module.paged_run(*run_args)
RuntimeError: Error in function 'BatchPrefillWithPagedKVCacheDispatched' at prefill.cuh:3000: Unsupported max_mma_kv: 0
"""
    changes = [fix.change for fix in triage(log).fixes]

    assert any("Update the checkout of vLLM's sources" in change for change in changes) == checkout
    assert any("pip install" in change for change in changes) != checkout


def test_a_script_of_ones_own_is_run_with_every_launch_waited_for():
    """It is the file that was started, and not vLLM's server."""
    log = """Traceback (most recent call last):
  File "/srv/bench/moe_case.py", line 88, in <module>
    main()
  File "/srv/bench/moe_case.py", line 70, in main
    torch.cuda.synchronize()
  File "/opt/env/lib/python3.12/site-packages/torch/cuda/__init__.py", line 1000, in synchronize
    return torch._C._cuda_synchronize()
torch.AcceleratorError: CUDA error: an illegal memory access was encountered
"""
    assert triage(log).fixes[0].change == "CUDA_LAUNCH_BLOCKING=1 compute-sanitizer python moe_case.py"
