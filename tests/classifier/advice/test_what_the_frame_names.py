"""The first fix follows the frame, the symbol or the list in the message; what these exclude is not advised."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.report.model import Report

STACK = "Traceback (most recent call last):\n"


def stack(*frames: tuple[str, int, str, str], error: str) -> str:
    """Return a traceback of frames (path, line, function, code) and the error's own line."""
    return (
        STACK
        + "".join(f'  File "{path}", line {at}, in {name}\n    {code}\n' for path, at, name, code in frames)
        + error
    )


def changes(report: Report) -> str:
    """Return what all fixes change, one a line."""
    return "\n".join(fix.change for fix in report.fixes)


VENV = "/opt/venv/lib/python3.12/site-packages"
STREAMING = "Error trying to handle streaming tool call."


def parser_failed(path: str) -> Report:
    """Return the answer to a parser's failure in a file."""
    frame = (path, 310, "extract_tool_calls_streaming", 'name = call["name"]')
    return triage(stack(frame, error=f"TypeError: 'NoneType' object is not subscriptable\n{STREAMING}\n").encode())


def test_a_parser_of_the_users_own_is_not_upgraded_with_vllm() -> None:
    """The file lies outside vLLM: it is left away or corrected."""
    report = parser_failed("/srv/plugins/granite_tool_parser.py")
    assert "leave the plug-in" in report.fixes[0].change
    assert "Upgrade" not in changes(report)


@pytest.mark.parametrize("parser", ["granite", "llama", "hermes"])
def test_words_of_all_parsers_bring_no_fix_of_one(parser: str) -> None:
    """The same line is logged by a dozen parsers: what helps Mistral's is not said of others."""
    report = parser_failed(f"{VENV}/vllm/tool_parsers/{parser}_tool_parser.py")
    assert "tokenizer-mode mistral" not in changes(report)
    assert 'Send "stream": false' in changes(report)
    assert "plug-in" not in changes(report)


def test_a_grammar_that_refuses_a_token_is_tried_without_what_drafts_it() -> None:
    """Drafts, reasoning parsers and stop tokens first; guidance's own line goes to xgrammar."""
    head = "INFO 04-03 06:53:10 [api_server.py:1034] vLLM API server version {}\n"
    line = "ERROR 04-03 06:53:16 [backend_xgrammar.py:140] Failed to advance FSM for request cmpl-7 for tokens 88. Please file an issue.\n"
    other = "ERROR 04-03 06:53:16 [backend_guidance.py:150] Error in LLMatcher: parser stopped\n"
    for release in ("0.8.3", "0.19.0"):
        assert "without speculative decoding" in triage((head.format(release) + line).encode()).fixes[0].change
    assert "xgrammar" in triage((head.format("0.19.0") + other).encode()).fixes[0].change


def test_an_adapter_of_fused_projections_asks_for_the_release_that_has_them() -> None:
    """Phi-3 was served by the class of Llama before 0.6.2; other modules are no matter of that."""
    said = "ValueError: While loading /adapters/{}, expected target modules in ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj', 'embed_tokens', 'lm_head'] but received [{}]. Please verify that the loaded LoRA module is correct"
    fused = triage(
        said.format("notes", "'model.layers.0.self_attn.qkv_proj', 'model.layers.1.self_attn.qkv_proj'").encode()
    )
    assert fused.fixes[0].change == "pip install -U 'vllm>=0.6.2'"
    assert "target_modules limited to" not in changes(fused)
    assert "vllm>=0.6.2" not in changes(triage(said.format("notes", "'model.layers.0.mlp.gate'").encode()))


@pytest.mark.parametrize("code", ['fps = metadata["fps"]', 'indices = metadata.get("frames_indices")'])
def test_a_video_without_metadata_is_the_callers_to_mend(code: str) -> None:
    """Neither an upgrade nor RGB pictures bring the metadata."""
    said = "'get'" if ".get(" in code else ""
    error = f"has no attribute {said}" if said else "is not subscriptable"
    frame = (f"{VENV}/vllm/model_executor/models/glm4_1v.py", 1201, "_call_hf_processor", code)
    report = triage(stack(frame, error=f"TypeError: 'NoneType' object {error}\n").encode())
    assert "(frames, metadata)" in report.fixes[0].change
    assert "RGB" not in changes(report)
    assert "newest" not in changes(report)


KERNEL = "ValueError: Pointer argument (at {}) cannot be accessed from Triton (cpu tensor?)\n"


def test_a_tensor_out_of_reach_is_no_stale_cache() -> None:
    """Without a frame of the compile cache the device is looked at; with one the cache comes first."""
    kernel = (f"{VENV}/vllm/lora/ops/triton_ops/lora_expand_op.py", 190, "_lora_expand", "_lora_expand_kernel[grid](")
    report = triage(stack(kernel, error=KERNEL.format(3)).encode())
    assert "CUDA_VISIBLE_DEVICES" in report.fixes[0].change
    assert "argument 3 of the kernel" in changes(report)
    assert "COMPILE_CACHE" not in changes(report)
    cached = (
        "/root/.cache/vllm/torch_compile_cache/1f/rank_0_0/inductor_cache/xy/cxy.py",
        88,
        "call",
        "triton_red_0.run(",
    )
    assert "COMPILE_CACHE" in triage(stack(cached, error=KERNEL.format(0)).encode()).fixes[0].change


@pytest.mark.parametrize("error", ["ValueError: too many values to unpack (expected 4)", "AssertionError"])
def test_compiled_code_that_gets_other_arguments_is_compiled_anew(error: str) -> None:
    """Python's own words do not make it Triton's compiler."""
    cached = ("/data/vllm/torch_compile_cache/1f/rank_0_0/inductor_cache/xy/cxy.py", 88, "call", "a_1, b_1 = args")
    report = triage(stack(cached, error=f"{error}\n").encode())
    assert report.cause == "compile_failure/torch_compile_error"
    assert report.fixes[0].change.startswith("mv ~/.cache/vllm/torch_compile_cache ")
    assert "triton" not in changes(report)


def test_words_of_python_are_nobodys() -> None:
    """An unpacking that fails in vLLM's own code is not the compiler's because Triton raises the same words."""
    frame = (f"{VENV}/vllm/v1/worker/gpu_model_runner.py", 700, "_prepare_inputs", "a, b, c = pair")
    report = triage(stack(frame, error="ValueError: not enough values to unpack (expected 3, got 2)\n").encode())
    assert report.bucket != "compile_failure"


@pytest.mark.parametrize(
    ("symbol", "of_nccl"), [("ncclProxyPost", True), ("addProxyOpIfNeeded", True), ("cfree", False)]
)
def test_a_crash_in_nccl_is_nccls(symbol: str, of_nccl: bool) -> None:
    """Custom all-reduce is what vLLM has beside NCCL: to leave it out sends more through NCCL."""
    log = f"*** SIGSEGV received at time=1753000000 on cpu 12 ***\nPC: @     0x7f1ccd849b8a  (unknown)  {symbol}()\n"
    said = changes(triage(log.encode()))
    assert ("nvidia-nccl" in said) is of_nccl
    assert ("--disable-custom-all-reduce" in said) is not of_nccl


def test_no_feature_is_left_out_for_an_operator_that_every_run_needs() -> None:
    """Rotary embeddings are no option, state-space kernels are a model's."""
    said = "NotImplementedError: Could not run '{}' with arguments from the 'CPU' backend. This could be because the operator doesn't exist for this backend\n"
    assert "drop the option" not in changes(triage(said.format("_C::rotary_embedding").encode()))
    assert "drop the option" not in changes(triage(said.format("_C_cache_ops::concat_and_cache_mla").encode()))
    assert "drop the option" in changes(triage(said.format("_C::selective_scan_fwd").encode()))


@pytest.mark.parametrize(
    ("device", "target"), [("cpu", "VLLM_TARGET_DEVICE=cpu"), ("openvino", "VLLM_TARGET_DEVICE=openvino")]
)
@pytest.mark.parametrize("name", ["Worker.__init__()", "__init__()"])
def test_a_wheel_for_cuda_on_another_device_is_no_conflict_of_packages(device: str, target: str, name: str) -> None:
    """The executor of the device starts the GPU's worker; Python before 3.10 does not name the class."""
    frames = (
        (f"{VENV}/vllm/executor/{device}_executor.py", 120, "_create_worker", "wrapper.init_worker(**kwargs)"),
        (f"{VENV}/vllm/worker/worker_base.py", 450, "init_worker", "self.worker = worker_class(*args, **kwargs)"),
    )
    report = triage(
        stack(*frames, error=f"TypeError: {name} got an unexpected keyword argument 'kv_cache_dtype'\n").encode()
    )
    assert report.cause == "install_mismatch/build_for_another_device"
    assert target in report.fixes[0].change


def test_numpy_of_torch_itself_is_no_matter_of_other_packages() -> None:
    """The frame above the message is torch's: upgrading numba or pandas does not help."""
    said = "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.1.0 as it may crash.\n"
    torch = (
        f"{VENV}/torch/nn/modules/transformer.py:20: UserWarning: Failed to initialize NumPy: _ARRAY_API not found\n"
    )
    pandas = f'  File "{VENV}/vllm/config.py", line 9, in <module>\n    import pandas\n  File "{VENV}/pandas/compat/pyarrow.py", line 8, in <module>\n    import pyarrow as pa\nAttributeError: _ARRAY_API not found\n'
    assert "pandas" not in changes(triage((said + torch).encode()))
    assert "pandas" in changes(triage((said + STACK + pandas).encode()))


def test_lmcaches_own_mistake_is_no_stores() -> None:
    """A store or a peer is looked at where the log has a trace of one."""
    frame = (f"{VENV}/lmcache/v1/gpu_connector.py", 201, "from_gpu", "memory_obj.tensor.copy_(x)")
    error = "AttributeError: 'NoneType' object has no attribute 'tensor'\n"
    assert "Redis" not in changes(triage(stack(frame, error=error).encode()))
    remote = (
        f"{VENV}/lmcache/v1/storage_backend/connector/redis_connector.py",
        40,
        "get",
        "return self.connection.get(key)",
    )
    assert "Redis" in changes(triage(stack(remote, error=error).encode()))


def test_ascends_library_is_searched_in_its_own_repository() -> None:
    """vLLM's issues know nothing of torch_npu."""
    frame = (
        "/usr/lib/python3.11/site-packages/torch_npu/npu/utils.py",
        60,
        "synchronize",
        "return torch_npu._C._npu_synchronize()",
    )
    report = triage(stack(frame, error="RuntimeError: ACL stream synchronize refused\n").encode())
    assert "vllm-project/vllm/issues" not in changes(report)


def test_pinned_memory_on_ascend_is_no_matter_of_wsl() -> None:
    """A trainer that offloads is looked at first; WSL's limits stand where the log shows WSL."""
    said = "torch.OutOfMemoryError: allocate_host_memory\naclrtMallocHost failed, error code is 207001\n"
    assert "wsl" not in changes(triage(said.encode()))
    assert "free -h" in changes(triage(said.encode()))
    trainer = triage(f"(WorkerDict pid=77) {said}".encode())
    assert "optimizer_offload" in trainer.fixes[0].change
    assert ".wslconfig" in changes(
        triage(b"Linux 5.15.90.1-microsoft-standard-WSL2\nRuntimeError: cudaHostAlloc failed: out of memory\n")
    )


def test_a_gpu_of_the_same_family_asks_for_a_newer_kernel_library() -> None:
    """sm_121 against sm_120 is a list that grew; sm_100 against sm_120 is another architecture."""
    frame = (
        f"{VENV}/nvidia_cutlass_dsl/python_packages/cutlass/cute/nvgpu/warp/mma.py",
        141,
        "__post_init__",
        "raise OpError(",
    )
    said = "cutlass.cute.nvgpu.common.OpError: OpError: expects arch to be one of {}, but got Arch.{}\n"
    same = triage(stack(frame, error=said.format("['sm_120a']", "sm_121a")).encode())
    assert "nvidia-cutlass-dsl>=4.5.2" in same.fixes[0].change
    assert "--linear-backend marlin" in changes(same)
    other = triage(stack(frame, error=said.format("['sm_100a', 'sm_103a']", "sm_120a")).encode())
    assert "nvidia-cutlass-dsl" not in changes(other)


@pytest.mark.parametrize("file", ["v1/attention/backends/cpu_attn.py", "attention/backends/torch_sdpa.py"])
def test_a_stack_of_vllm_on_cpus_asks_for_the_build_for_cpus(file: str) -> None:
    """Other accelerators' wheels are no matter there."""
    frame = (f"{VENV}/vllm/{file}", 510, "forward", "ops.reshape_and_cache(key, value)")
    said = (
        "NotImplementedError: Could not run '_C_cache_ops::reshape_and_cache' with arguments from the 'CPU' backend.\n"
    )
    report = triage(stack(frame, error=said).encode())
    assert report.fixes[0].title == "Install the build for CPUs of the same release"
    assert "other accelerators" not in changes(report)
