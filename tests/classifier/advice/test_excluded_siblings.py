"""One cause, several messages: what a name, a frame or a number of the log excludes is not advised, and what it names comes first."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

HEAD = "INFO 11-02 10:00:00 [api_server.py:1805] vLLM API server version {}\n"
STACK = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/{}", line 5, in {}
    {}
{}
"""
SOCKET = "zmq.error.ZMQError: Address already in use (addr='{}')"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 79.25 GiB of which 90.50 MiB is free. "
    "{}Including non-PyTorch memory, this process has 8.31 GiB memory in use. Of the allocated memory 7.90 GiB is allocated by PyTorch"
)
WARMUP = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 185, in determine_available_memory
    self.model_runner.profile_run()
  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 1899, in profile_run
    sampler_output = self._dummy_sampler_run(hidden_states)
  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 1787, in _dummy_sampler_run
    sampler_output = self.sampler(logits=logits,
{}
"""
SHARED = WARMUP.format(OOM.format("Process 4711 has 70.80 GiB memory in use. "))
ALONE = WARMUP.format(OOM.format(""))
BUILD = """      File "/tmp/pip-build-env-ab12cd34/overlay/lib/python3.11/site-packages/torch/utils/cpp_extension.py", line 413, in _check_cuda_version
        raise RuntimeError(CUDA_MISMATCH_MESSAGE.format(cuda_str_version, torch.version.cuda))
      RuntimeError:
      The detected CUDA version (12.6) mismatches the version that was used to compile
      PyTorch (12.1). Please make sure to use the same CUDA versions.

      [end of output]
"""
PTX = """  ptxas /tmp/kernel.ptx, line 9; fatal   : Unsupported .version 8.4; current version is '7.8'
  ptxas fatal   : Ptx assembly aborted due to errors
  ERROR: Failed building wheel for vllm
"""
KERNEL = """(EngineCore pid=9)   ptxas application ptx input, line 71; error   : Unexpected instruction types specified for '_mma'
(EngineCore pid=9)   ptxas fatal   : Ptx assembly aborted due to errors
(EngineCore pid=9)     "llvm.func"() <{{linkage = #llvm.linkage<external>, sym_name = "kernel_cutlass_kernel_acme{}DenseGemmKernel_object_at_0", visibility_ = 0 : i64}}> ({{
"""
SILENT = (
    HEAD.format("0.11.0")
    + """(APIServer pid=1) INFO 11-02 10:00:01 [utils.py:233] non-default args: {'model': 'acme/m-70b'}
(EngineCore_DP0 pid=9) INFO 11-02 10:00:12 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='acme/m-70b'
(EngineCore_DP0 pid=9) INFO 11-02 10:00:20 [gpu_model_runner.py:2602] Starting to load model acme/m-70b...
Loading safetensors checkpoint shards:  12% Completed | 1/8 [00:40<04:40, 40.1s/it]
"""
)
NOT_READY = (
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
)
FAILED = "(EngineCore_DP0 pid=9) ERROR 11-02 10:01:00 [core.py:708] EngineCore failed to start.\n"
IMPORT = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/{}.py", line 9, in <module>
    from vllm import parts
ModuleNotFoundError: No module named '{}'
"""
V0_FIT = "ValueError: The model's max seq len ({}) is larger than the maximum number of tokens that can be stored in KV cache ({}). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n"
GAUDI = HEAD.format("0.8.5+gaudi118") + STACK.format(
    "vllm/worker/hpu_model_runner.py", "prepare_prompt", "size = shape[2]", "IndexError: tuple index out of range"
)
SAID = [
    # A backbone's name in config.json: the class with its head, in the release that has it.
    (HEAD.format("0.12.0") + "ValueError: Gemma3Model has no vLLM implementation and the Transformers implementation is not compatible with vLLM.", "--hf-overrides '{\"architectures\": [\"Gemma3ForConditionalGeneration\"]}'", "model card"),
    (HEAD.format("0.9.0") + "ValueError: Qwen3VLModel has no vLLM implementation and the Transformers implementation is not compatible with vLLM.", "pip install -U 'vllm>=0.11.0'   # then --hf-overrides", "Use the complete model class"),
    (HEAD.format("0.12.0") + "ValueError: KestrelOrbitModel has no vLLM implementation and the Transformers implementation is not compatible with vLLM.", "Use the complete model class", "--hf-overrides '"),
    # The compat folder holds libcuda, and not the library that NVML complains of.
    ("Failed to initialize NVML: Driver/library version mismatch", "Reboot the host", "compat"),
    ("RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination", "Take the compat library", "pip install"),
    # What looks like a repository is opened as a folder, or was not found on the Hub.
    ("FileNotFoundError: [Errno 2] No such file or directory: 'acme-lab/law-lora/adapter_config.json'", "hf download acme-lab/law-lora --local-dir", "exact repository name"),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/adapters/law/adapter_config.json'", "Give a path that vLLM can read", "hf download /adapters"),
    # Whose socket it is, the address tells.
    (f"Config: NixlConnector\nINFO LMCache INFO: enable_nixl False\n{SOCKET.format('ipc:///tmp/lmcache_rpc_port_1')}", "lmcache_rpc_port", "VLLM_NIXL_SIDE_CHANNEL_PORT"),
    (STACK.format("vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py", "_nixl_handshake_listener", "with zmq_ctx(zmq.ROUTER, path) as sock:", SOCKET.format("tcp://10.0.0.7:5600")), "VLLM_NIXL_SIDE_CHANNEL_PORT", "ss -lxnp"),
    (STACK.format("vllm/distributed/kv_events.py", "_socket_setup", "self._pub.bind(self._endpoint)", SOCKET.format("tcp://*:5557")), "--kv-events-config.endpoint", "lmcache"),
    (STACK.format("vllm/v1/engine/utils.py", "launch_core_engines", "with zmq_socket_ctx(", SOCKET.format("tcp://10.0.0.7:29600")), "--data-parallel-rpc-port", "lmcache"),
    # HQQ has no loader any more.
    ("KeyError: 'layers.3.self_attn.qkv_proj.W_q'", "quant_method hqq", "pip install -U vllm"),
    ("KeyError: 'model.layers.3.self_attn.qkv_proj.qweight'", "grep -A3 quantization_config", "HQQ"),
    # The name in the assertion is that of the feature.
    (HEAD.format("0.6.3") + STACK.format("vllm/core/scheduler.py", "_schedule_running", "assert len(self._async_stopped) == 0", "AssertionError"), "--disable-async-output-proc", "multi-step scheduling off\n"),
    # One image for each prompt is the first engine's default.
    (HEAD.format("0.6.2") + STACK.format("vllm/model_executor/models/mllama.py", "_process_image_input", "self.vision_model(pixel_values)", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB."), "--max-num-seqs", "image=1"),
    # Another process has the GPU: less of our own gives nothing.
    (SHARED, "ps -o pid,user,etime,args -p 4711", "--max-num-seqs"),
    (ALONE, "--max-num-seqs", "--gpu-memory-utilization"),
    # A torch without MAGMA computes on the GPU all the same.
    ("RuntimeError: Calling torch.linalg.eigh on a CUDA tensor requires compiling PyTorch with MAGMA. Please use PyTorch built with MAGMA support.", "built with MAGMA", "--torch-backend=auto"),
    ("AssertionError: Torch not compiled with CUDA enabled", "--torch-backend=auto", "MAGMA"),
    # The engine's lines go on until it is gone, and it says nothing.
    (SILENT + NOT_READY, "dmesg -T", "Read the first traceback"),
    (SILENT + FAILED + NOT_READY, "Read the first traceback", "dmesg -T"),
    (NOT_READY, "Read the first traceback", "dmesg -T"),
    # A kernel's name tells which layers it is for.
    (HEAD.format("0.28.0") + KERNEL.format("blockscaled_gemm_sm120"), "--linear-backend marlin", "--moe-backend"),
    (HEAD.format("0.14.1") + KERNEL.format("dense_gemm_sm120"), "VLLM_NVFP4_GEMM_BACKEND=cutlass", "--linear-backend"),
    (HEAD.format("0.28.0") + KERNEL.format("fused_moe_grouped_dense_gemm_sm120"), "--moe-backend marlin", "--linear-backend"),
    # pip builds with a torch of its own.
    (BUILD, "export CUDA_HOME=/usr/local/cuda-12.1 ", "import torch"),
    (PTX, "which -a nvcc ptxas", "import torch"),
    # Which numbers count of several tries.
    (V0_FIT.format(30000, 5008) + "I tried a shorter one:\n" + V0_FIT.format(20000, 12000), "--max-model-len 12000", "5008"),
    (V0_FIT.format(30000, 5008) + V0_FIT.format(30000, 4992), "--max-model-len 4992", "5008"),
    # A fork's own releases.
    (GAUDI, "Take the newest release of HabanaAI/vllm-fork", "build it anew"),
    # The scheme that is refused is not advised.
    ("ValueError: For FP8 Fused MoE layers, only per-tensor scales for weights and activations are supported. Found num_bits=8 type='float' strategy='channel'", "FP8 with one scale for each tensor", "FP8 dynamic"),
    ("NotImplementedError: No compressed-tensors compatible scheme was found.", "FP8 dynamic", "one scale for each tensor"),
    # A processor of the model's repository, of vLLM, of transformers.
    (HEAD.format("0.9.0") + "AttributeError: 'MiniCPMVProcessor' object has no attribute 'get_slice_placeholder'", "pip install -U 'vllm>=0.23.0'", "RGB JPEG"),
    (HEAD.format("0.24.0") + "AttributeError: 'MiniCPMVProcessor' object has no attribute 'get_slice_placeholder'", "Upgrade", "model's own code"),
    ("AttributeError: 'Phi4MMProcessor' object has no attribute 'dynamic_hd'", "model's own code", "RGB JPEG"),
    ("AttributeError: 'LlavaNextProcessor' object has no attribute 'patch_size'", "Upgrade", "model's own code"),
    # A module of vLLM's that others import: where it was, where it is, and what was never one.
    (IMPORT.format("trl/trainer/rollout", "vllm.worker.worker"), "pip install vllm==0.10.2", "--force-reinstall"),
    (IMPORT.format("acme_plugin/patch", "vllm.tokenizers"), "pip install -U 'vllm>=0.12.0'", "--force-reinstall"),
    (IMPORT.format("acme_plugin/patch", "vllm.worker.acme_worker"), "no release of vLLM from 0.5.2 on has it", "--force-reinstall"),
    (IMPORT.format("vllm/engine/llm_engine", "vllm.spec_decode"), "--force-reinstall", "vllm==0.9.2"),
    (IMPORT.format("acme_plugin/patch", "vllm._moe_C"), "--force-reinstall", "no release of vLLM"),
    (STACK.format("acme_rl/rollout.py", "<module>", "import parts", "AttributeError: module 'vllm.lora.models' has no attribute 'LoRAModel'"), "Use the script in the version", "Bring the packages back"),
    (STACK.format("trl/rollout.py", "<module>", "import parts", "AttributeError: module 'vllm.lora.models' has no attribute 'LoRAModel'"), "Bring the framework above vLLM", "Bring the packages back"),
    (STACK.format("vllm/engine/llm_engine.py", "<module>", "from vllm.utils import parts", "ImportError: cannot import name 'parts' from 'vllm.utils' (/opt/venv/vllm/utils.py)"), "Install vLLM anew", "Use the script"),
    # Turning tokens into text is not loading the tokenizer.
    (STACK.format("vllm/transformers_utils/tokenizers/mistral.py", "convert_tokens_to_string", "self.tokenizer.token2id[t] + shift", "KeyError: b'\\xf0\\x9f'"), "pip install -U 'vllm>=0.6.4'", "--tokenizer ORG"),
    (HEAD.format("0.12.0") + STACK.format("vllm/tokenizers/deepseek_v32.py", "convert_tokens_to_string", "return self.tokenizer.join(tokens)", "TypeError: 'NoneType' object is not iterable"), "logprobs", "--tokenizer ORG"),
]  # fmt: skip


@pytest.mark.parametrize(("log", "shown", "excluded"), SAID)
def test_what_the_log_names_is_advised_and_its_sibling_is_not(log: str, shown: str, excluded: str) -> None:
    """Titles and commands hold the one text, and not the other."""
    advised = "\n".join(f"{fix.title}\n{fix.change}\n" for fix in triage(log.encode()).fixes)
    assert shown in advised
    assert excluded not in advised


def test_a_fault_on_amds_gpu_tries_the_other_attention_kernels_before_an_image() -> None:
    """Where the log tells that the kernels are those of ROCM_ATTN; elsewhere the switch is none."""
    fault = "(EngineCore_DP0 pid=9) torch.AcceleratorError: HIP error: an illegal memory access was encountered\n"
    named = HEAD.format("0.14.1") + "INFO 11-02 10:00:20 [rocm.py:301] Using Rocm Attention backend.\n" + fault
    assert triage(named.encode()).fixes[0].change == "--attention-backend TRITON_ATTN"
    assert all("TRITON_ATTN" not in fix.change for fix in triage((HEAD.format("0.14.1") + fault).encode()).fixes)


def test_stacks_with_bare_file_names_of_vllm_are_not_the_callers() -> None:
    """`llm_engine.py` and `weight_utils.py` are vLLM's, whatever folder was cut off."""
    own = (
        'Traceback (most recent call last):\n  File "run.py", line 9, in <module>\n    engine = AsyncLLMEngine.from_engine_args(args)\n'
        "  File \"{}.py\", line 5, in main\n    for row in rows:\nTypeError: 'Rows' object is not iterable\n"
    )
    assert triage(own.format("helper").encode()).cause == "unknown/callers_code"
    assert triage(own.format("weight_utils").encode()).cause != "unknown/callers_code"


HOLDERS = "Process 811 has 412.00 MiB memory in use. Process 4711 has {} GiB memory in use. "
PLACES = [
    ("vllm/v1/worker/gpu_model_runner.py", "profile_run", "self._dummy_run(n)"),
    ("vllm/v1/worker/gpu_model_runner.py", "capture_model", "self._capture(shape)"),
    ("vllm/model_executor/models/qwen2_vl.py", "_process_image_input", "self.visual(pixel_values)"),
    ("vllm/v1/worker/gpu_model_runner.py", "execute_model", "logits = self.model(tokens)"),
    ("vllm/model_executor/models/llama.py", "load_weights", "param.copy_(loaded_weight)"),
]


@pytest.mark.parametrize("place", PLACES)
def test_another_process_goes_before_what_takes_from_our_own(place: tuple[str, str, str]) -> None:
    """Wherever the allocation failed: what holds most of the GPU is looked at first, and less of our own is not offered."""
    log = HEAD.format("0.11.0") + STACK.format(*place, OOM.format(HOLDERS.format("60.80")))
    report = triage(log.encode())
    assert report.fixes[0].title == "Stop the other process, or wait until it is gone"
    assert "-p 4711" in report.fixes[0].change
    assert all(fix.kind != "flag" for fix in report.fixes)


@pytest.mark.parametrize(("held", "pid"), [("2.10", False), ("12.00", True)])
def test_a_process_that_holds_little_is_not_in_the_way(held: str, pid: bool) -> None:
    """Below a tenth of the GPU it is a desktop or a monitor; below a half our own settings still count."""
    log = HEAD.format("0.11.0") + STACK.format(*PLACES[0], OOM.format(HOLDERS.format(held)))
    report = triage(log.encode())
    assert any("-p 4711" in fix.change for fix in report.fixes) is pid
    assert any(fix.kind == "flag" for fix in report.fixes)


def test_a_trainer_shares_the_gpu_on_purpose() -> None:
    """What holds the memory there is the trainer itself."""
    log = "(WorkerDict pid=7) " + STACK.format(*PLACES[0], OOM.format(HOLDERS.format("60.80")))
    assert all("-p 4711" not in fix.change for fix in triage(log.encode()).fixes)


def test_a_line_that_two_rules_know_is_shown_once() -> None:
    """As evidence and as a symptom."""
    report = triage((SILENT + NOT_READY).encode())
    lines = [item.line for item in (*report.evidence, *report.symptoms)]
    assert len(lines) == len(set(lines)) > 0
