"""The first fix goes by whose fault the message and the frame show: the compiler's own header, the driver, the caller's loop, NCCL."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

SITE = "/opt/venv/lib/python3.12/site-packages"
OLD = "/srv/env/lib/python3.8/site-packages"
HEAD = "Traceback (most recent call last):\n"


def frames(*places: str, site: str = SITE) -> str:
    """Return a traceback without its last line; each place is ``path:function: code``."""
    lines = [HEAD]
    for place in places:
        path, function, code = place.split(":", 2)
        folder = "" if path.startswith("/") else f"{site}/"
        lines.append(f'  File "{folder}{path}", line 7, in {function}\n    {code.strip()}\n')
    return "".join(lines)


PARSED = frames(
    "/home/me/vllm/examples/ask_with_tools.py:<module>: calls = json.loads(answer)",
    "/usr/lib/python3.12/json/decoder.py:raw_decode: raise JSONDecodeError('Expecting value', s, err.value) from None",
)
HEALTH = frames("/srv/rl/rollout.py:ping: return asyncio.run(self.engine.check_health())", "/usr/lib/python3.8/asyncio/runners.py:run: return loop.run_until_complete(main)",
                'vllm/engine/async_llm_engine.py:check_health: raise AsyncEngineDeadError("Background loop is stopped.")', site=OLD)  # fmt: skip
LOADING = frames(
    "vllm/worker/worker.py:load_model: self.model_runner.load_model()",
    "vllm/model_executor/layers/linear.py:create_weights: weight = Parameter(torch.empty(a, b))",
)
FORKED = frames("vllm/entrypoints/openai/rpc/server.py:run_rpc_server: server = AsyncEngineRPCServer(args)", "vllm/worker/worker.py:init_device: torch.cuda.set_device(self.device)",
                "torch/cuda/__init__.py:_lazy_init: raise RuntimeError(")  # fmt: skip
HEADER = (
    "In file included from /tmp/tmpa1/main.c:1:\n/usr/include/stdio.h:33:10: fatal error: stddef.h: No such file or directory\ncompilation terminated.\n"
    "torch._inductor.exc.InductorError: CalledProcessError: Command '['/usr/lib64/ccache/gcc', '/tmp/tmpa1/main.c', '-I/x/triton/backends/nvidia/include/cuda.h', '-lcuda']' returned non-zero exit status 1."
)
SCORES = frames(
    "vllm/model_executor/models/adapters.py:forward: logits, _ = self.score(hidden_states)",
    "vllm/model_executor/layers/quantization/bitsandbytes.py:_apply_4bit_weight: offsets = qweight.bnb_shard_offsets",
)
CASES = [
    # (log, how the first fix's change begins, what none of the first three holds)
    (f"{PARSED}json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "in vllm/examples/ask_with_tools.py", ["last 'File' line", "issues of vllm"]),
    (f"{HEALTH}vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop is stopped.", "start one loop in a thread", ["pip install -U"]),
    ((f"{LOADING}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of 39.39 GiB of which 60.00 MiB is free. Process 771 has 34.90 GiB memory in use. "
     "Including non-PyTorch memory, this process has 4.40 GiB memory in use."), "nvidia-smi", ["AWQ"]),
    ("RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu.", "nvidia-smi; dmesg", ["apt install nvidia-container-toolkit", "modprobe"]),
    ("ModuleNotFoundError: No module named 'transformers_modules.acme.Coder-2'", "leave out --trust-remote-code", ["HF_MODULES_CACHE", "mv model"]),
    ("(RayWorkerWrapper pid=4) ModuleNotFoundError: No module named 'transformers_modules'", "HF_MODULES_CACHE", ["mv model", "without dots"]),
    (f"{frames('vllm/model_executor/models/llama.py:__init__: assert self.total_num_kv_heads % tp_size == 0')}AssertionError", "Set --tensor-parallel-size to a number that divides num_key_value_heads", ["intermediate_size"]),
    (f"{frames('vllm/model_executor/models/opt.py:__init__: assert num_heads % tensor_model_parallel_world_size == 0')}AssertionError", "Set --tensor-parallel-size to the next smaller", ["num_key_value_heads,"]),
    (HEADER, "echo '#include <stddef.h>' | gcc -E - > /dev/null || dnf", ["CUDA_HOME", "apt-get"]),
    ("/tmp/tmpb2/cuda_utils.c:1:10: fatal error: cuda.h: No such file or directory", "export CUDA_HOME", ["dnf", "apt-get"]),
    ("/usr/lib64/python3.12/site.py\n/tmp/tmpb2/main.c:5:10: fatal error: Python.h: No such file or directory", "dnf install", ["apt-get", "CUDA_HOME"]),
    (f"{FORKED}RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method", "--disable-frontend-multiprocessing", ["VLLM_WORKER", "Celery"]),
    (f"{SCORES}AttributeError: 'Params4bit' object has no attribute 'bnb_shard_offsets'", "Take the 16-bit checkpoint of the classifier", ["AWQ"]),
    ("vllm serve s3://models-eu/llama --load-format runai_streamer\nException: Could not send runai_request to libstreamer due to: b'File access error'", "AWS_REGION=", ["AWS_ENDPOINT_URL"]),
    ("ImportError: vllm.vllm_flash_attn requires the CUDA flash attention extensions (_vllm_fa2_C or _vllm_fa3_C). On ROCm, use upstream flash_attn.", "Look for _vllm_fa2_C", ["TRITON_ATTN"]),
    ("*** SIGSEGV received at time=1762938842 on cpu 3 ***\nPC: @     0x7f2a10c0dead  (unknown)  ncclLaunchKernel()\nFatal Python error: Segmentation fault", "python -c 'import torch; print(torch.cuda.nccl", ["custom-all-reduce", "PYTHONFAULTHANDLER"]),
    ("*** SIGSEGV received at time=1762938842 on cpu 3 ***\nPC: @     0x7f2a10c0dead  (unknown)  PyObject_Call()\nFatal Python error: Segmentation fault", "PYTHONFAULTHANDLER", ["nccl.version"]),
    ("(EngineCore_0 pid=5) NotImplementedError: Mamba with speculative decoding is not supported yet.", "leave out --speculative-config", ["LoRA"]),
    (("NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:\n     query       : shape=(1, 512, 16, 64) (torch.float16)\n     xFormers wasn't build with CUDA support\n"
     "     requires device with capability > (8, 0) but your GPU has capability (7, 5) (too old)"), "pip install --force-reinstall vllm==", ["--dtype"]),
    (f"{frames('vllm/model_executor/models/qwen3.py:forward: def forward(')}NameError: name 'IntermediateTensors' is not defined", "--enforce-eager", []),
    (f"{frames('vllm/lora/ops/triton_ops/lora_shrink.py:_lora_shrink: _lora_shrink_kernel[grid](', 'triton/backends/nvidia/compiler.py:make_ttgir: pm.run(mod)')}RuntimeError: PassManager::run failed", "grep -nE", []),
    (f"{frames('vllm/worker/model_runner.py:_prepare_model_input_tensors: return builder.build()', 'vllm/worker/model_runner.py:build: max_query_len = max(')}ValueError: max() arg is an empty sequence\nINFO 09-20 10:00:00 llm_engine.py:213] Initializing an LLM engine (v0.6.1) with config: model='m'",
     "--disable-async-output-proc", []),
    (f"{frames('vllm/model_executor/models/glm4_moe.py:__init__: assert isinstance(layer, Glm4MoeDecoderLayer)')}AssertionError", "leave --pipeline-parallel-size out", []),
    ("RuntimeError: attn_bias is not correctly aligned (strideM). attn_bias.stride(2) = 11, and should be a multiple of 4.", "pip install -U vllm", ["attention-backend", "ATTENTION_BACKEND"]),
    (f"{frames('libneuronxla/neuron_cc_wrapper.py:compile_cache_entry: raise subprocess.CalledProcessError(-1, EMPTY, error_log)')}subprocess.CalledProcessError: Command '' died with <Signals.SIGHUP: 1>.", "rm -rf /var/tmp/neuron", ["nohup"]),
    ("vLLM API server version 0.7.3+xpu\n" + frames("vllm/_ipex_ops.py:paged: ipex.llm.functional.paged(q)", "intel_extension_for_pytorch/xpu/fusions.py:apply: torch.xpu.paged_fwd(")
     + "TypeError: paged_fwd() takes 9 positional arguments but 10 were given", "pip install -r requirements-xpu.txt", ["LOGGING_LEVEL"]),
    (frames("vllm/model_executor/weight_utils.py:prepare: fs.ls(name)", "huggingface_hub/hf_api.py:dataset_info: return DatasetInfo(**data)", "huggingface_hub/hf_api.py:__init__: self.gate = Gate(**gate)")
     + "TypeError: Gate.__init__() got an unexpected keyword argument 'mode'", "pip install -U 'huggingface_hub", ["force-reinstall"]),
    ("ValueError: Mismatched b_up.shape[1] on argument #4 when calling: `__call__(\n  topk_ids: Tensor([64], int32),\n  b_up: Tensor([8, 64, 32], float4_e2m1fnx2),\n  local_expert_ids: Tensor([8], int32)\n)`, expected to be 16",
     "--moe-backend marlin", ["LOGGING_LEVEL", "enforce-eager"]),
]  # fmt: skip


@pytest.mark.parametrize(("log", "first", "never"), CASES, ids=[first[:40] for _, first, _ in CASES])
def test_the_first_fix_is_about_what_failed(log: str, first: str, never: list[str]) -> None:
    fixes = triage(log).fixes
    assert fixes[0].change.startswith(first)
    shown = " ".join(f"{fix.title} {fix.change}" for fix in fixes[:3])
    assert [word for word in never if word in shown] == []
