"""What leads, and what is left out, by the frame that failed, the numbers of the message and the variables that were set."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.values import COMPUTED

FRAME = '  File "/opt/venv/lib/python3.12/site-packages/{}", line 5, in {}\n    {}\n'
HEAD = "Traceback (most recent call last):\n"
STEP = HEAD + FRAME.format(
    "vllm/worker/worker_base.py", "execute_model", "broadcast_data = broadcast_tensor_dict(src=0)"
)
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU 0 has a total capacity of 44.39 GiB of which 1.12 GiB is free. Of the "
    "allocated memory 36.80 GiB is allocated by PyTorch, and {} is reserved by PyTorch but unallocated."
)
CUT = "You passed {} input tokens and requested {} output tokens. However, the model's context length is only 16384 tokens, resulting in a maximum input length of {} tokens."
NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
INDUCTOR = (
    HEAD + FRAME.format("torch/_inductor/runtime/triton_heuristics.py", "run", "launcher(*args, **kwargs)")
    + FRAME.format("triton/testing.py", "do_bench", "di.synchronize()")
)  # fmt: skip
CASES = [
    # (log, how the first fix begins, what none of the fixes holds)
    (HEAD + FRAME.format("vllm/model_executor/layers/attention.py", "forward", "xops.memory_efficient_attention_forward(")
     + FRAME.format("xformers/ops/fmha/flash.py", "apply", "_flash_fwd(") + NO_KERNEL, "python -c 'import torch", ["pip install -e .", "pip uninstall"]),
    (HEAD + FRAME.format("vllm/_custom_ops.py", "rms_norm", "torch.ops._C.rms_norm(out, input, weight, epsilon)") + NO_KERNEL, "python -c 'import torch", ["no-binary"]),
    ("vllm.exceptions.VLLMValidationError: " + CUT.format(12289, 4096, 12288), "Leave max_tokens", ["at most"]),
    ("vllm.exceptions.VLLMValidationError: " + CUT.format(13000, 4096, 12288), "Set max_tokens", ["may be longer"]),
    (INDUCTOR + "torch.AcceleratorError: CUDA error: an illegal memory access was encountered", "--enforce-eager", ["vllm serve … --enforce-eager"]),
    ("INFO 11-20 09:00:00 [gpu_model_runner.py:9] running\nRuntimeError: CUDA error: an illegal memory access was encountered", "CUDA_LAUNCH_BLOCKING=1 vllm serve … --enforce-eager", []),
    (HEAD + FRAME.format("vllm/worker/model_runner.py", "execute_model", "model_executable = self.graph_runners[virtual_engine][graph_batch_size]") + "KeyError: 96",
     "--enforce-eager", []),
    (HEAD + FRAME.format("flashinfer/jit/core.py", "check_cuda_arch", "elif major == 7 and minor.isdigit():")
     + "AttributeError: 'int' object has no attribute 'isdigit'", "pip install -U flashinfer-python", ["install -U vllm'"]),
    ("RuntimeError: Worker failed with error 'Only SM 9.x and 10.x are supported', please check the stack trace above for the root cause", "The worker's own traceback", []),
    (("/home/me/src/vllm/csrc/cache_kernels.cu:12:3: note: called by 'copy'\n/usr/include/c++/15/bits/stl_algo.h:9:7: error: reference to __host__ function 'f' in __device__ function\n"
      "/home/me/src/vllm/build/temp.linux-x86_64-cpython-312/csrc/cache_kernels.hip:12:3: note: called by 'copy'\nhipcc: 1 error generated when compiling for gfx942."),
     "In the checkout", []),
    (OOM.format("512.00 MiB", "4.08 GiB"), "PYTORCH_CUDA_ALLOC_CONF", []),
    (OOM.format("2.50 GiB", "3.08 GiB"), "PYTORCH_CUDA_ALLOC_CONF", []),
    (OOM.format("2.50 GiB", "1.08 GiB"), "--gpu-memory-utilization", []),
    (HEAD + FRAME.format("vllm/spec_decode/spec_decode_worker.py", "_run_no_spec", "self.previous_hidden_states.update(") + OOM.format("2.50 GiB", "100.00 MiB"),
     "leave out --speculative-", []),
    (STEP + "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.1.2.3]:4711", "The address in the message", ["time limits of the client"]),
    (STEP + "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Read error [10.1.2.3]:4711: Connection reset by peer",
     "The address in the message", ["time limits of the client"]),
    (("+ apptainer instance start --nv images/server.sif server\nOSError: Incorrect path_or_model_id: '/scratch/models/acme-7b'. Please provide either the path to a local folder "
      "or the repo_id of a model on the Hub."), "apptainer instance start --bind /scratch/models/acme-7b", ["docker"]),
    (("WARNING 12-10 08:00:00 [attention.py:82] Using VLLM_USE_CUDNN_PREFILL environment variable is deprecated and will be removed in v0.14.0 or v1.0.0, whichever is soonest.\n"
      "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"), "unset VLLM_USE_CUDNN_PREFILL", []),
    (("WARNING 12-10 08:00:00 [attention.py:82] Using VLLM_USE_CUDNN_PREFILL environment variable is deprecated and will be removed in v0.14.0 or v1.0.0, whichever is soonest.\n"
      + HEAD + FRAME.format("vllm/model_executor/layers/fused_moe/fused_moe.py", "fused_experts", "f()")
      + "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"), "--moe-backend", ["unset VLLM"]),
    ("ValueError: Attempted to assign 1 x 1480 = 1480 multimodal tokens to 1452 placeholders", "pip install -U vllm", ["/v1/chat/completions"]),
    ("ValueError: Attempted to assign 3 x 576 = 1728 multimodal tokens to 1152 placeholders", "Send the media as parts", ["count is wrong"]),
    (("ValueError: You can only use one kind of structured outputs constraint but multiple are specified: "
      "{'json': None, 'regex': '[a-z]+', 'choice': None, 'grammar': None, 'json_object': True}"), "Send only one of", ["backend"]),
    ("INFO 03-02 10:00:00 [api_server.py:9] vLLM API server version 0.8.1\nValueError: `limit_mm_per_prompt` is only supported for multimodal models.", "pip install -U vllm", []),
    (HEAD + '  File "/home/me/.cache/huggingface/modules/transformers_modules/acme/Tiny-2.5-VL/0f3a/processing_tiny.py", line 4, in <module>\n    from .tokens import Tokens\n'
     "ModuleNotFoundError: No module named 'transformers_modules.Tiny-2.5-VL'", "hf download", ["HF_MODULES_CACHE"]),
    ("ModuleNotFoundError: No module named 'transformers_modules.tiny-chat'", "HF_MODULES_CACHE", ["NAME_WITHOUT_DOTS"]),
    ("AttributeError: 'AcmeOmniConfig' object has no attribute 'hidden_size'", "pip install -U vllm", ["--hf-overrides", "edit MODEL"]),
    ("AttributeError: 'AcmeOmniConfig' object has no attribute 'rope_theta'", "pip install -U vllm", ["NAME_WITHOUT_DOTS"]),
    (("(EngineCore pid=7) INFO 06-11 18:49:32 [backends.py:378] Cache the graph of compile range (1, 8192) for later use\n"
      "(EngineCore pid=7) ERROR 06-11 18:49:33 [core.py:9] torch._inductor.exc.InductorError: RuntimeError: Failed to run autotuning code block: an error"), "--enforce-eager", ["rm -rf"]),
    (("INFO 06-13 11:20:00 [utils.py:273] non-default args: {'kv_cache_dtype': 'nvfp4', 'attention_backend': 'TRITON_ATTN', 'model': 'acme/x'}\n"
      "INFO 06-13 11:20:01 [model.py:609] Resolved architecture: Gemma4ForConditionalGeneration\n"
      "ValueError: Selected backend AttentionBackendEnum.TRITON_ATTN is not valid for this configuration. Reason: ['kv_cache_dtype not supported']"),
     "--kv-cache-dtype fp8", ["leave out --attention-backend"]),
    (("bash run_cluster.sh acme/image 10.0.0.1 --worker /models -e VLLM_HOST_IP=10.0.0.2/ \\\n"
      "ValueError: Ray does not allocate any GPUs on the driver node. Consider adjusting the Ray placement group or running the driver on a GPU node."), "VLLM_HOST_IP ends in '/'", []),
    (HEAD + FRAME.format("trl/extras/vllm_client.py", "update_named_param", "self.pynccl_comm.group.barrier()") + FRAME.format("vllm/distributed/utils.py", "barrier", "self.broadcast_obj()")
     + "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /broadcast_from/1/7", "Read the server's own log", ["number of nodes"]),
    (("$ python3 -m sglang.launch_server --model-path acme/x --tp 4\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n"
      "Error while creating shared memory segment /dev/shm/nccl-Ab12Cd (size 9637888)"), "docker run --shm-size", ["vllm serve", "vllm-project"]),
    ("RuntimeError: ACL graph capture failed with a known stream-resource exhaustion signature. Consider upgrading.", "--compilation-config", ["vllm-project/vllm/issues"]),
    (HEAD + '  File "/home/me/vllm/examples/offline.py", line 31, in <module> main(args) File "/home/me/vllm/examples/offline.py", line 12, in main export(engine) '
     'File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/model_loader/example.py", line 7, in export engine.model_executor.run(\n'
     "AttributeError: 'LLMEngine' object has no attribute 'model_executor'", "VLLM_ENABLE_V1_MULTIPROCESSING=0", ["last 'File' line"]),
    (HEAD + '  File "/home/me/run.py", line 12, in <module>\n    main()\n  File "/home/me/run.py", line 9, in main\n    llm.llm_engine.model_executor.driver_worker\n'
     "AttributeError: 'LLMEngine' object has no attribute 'model_executor'", "VLLM_ENABLE_V1_MULTIPROCESSING=0", []),
    (("INFO 07-21 19:32:01 [api_server.py:1289] vLLM API server version 0.9.0\nINFO 07-21 19:32:30 [default_loader.py:280] Loading weights took 4.70 seconds\n"
      "INFO 07-21 19:32:49 [backends.py:469] Dynamo bytecode transform time: 5.68 s\nRuntimeError: Engine process failed to start. See stack trace for the root cause."),
     "dmesg -T", ["grep -nE"]),
    (("INFO 07-21 19:32:01 [api_server.py:1289] vLLM API server version 0.9.0\n"
      "RuntimeError: Engine process failed to start. See stack trace for the root cause."), "grep -nE", ["dmesg"]),
    (("vllm serve: error: argument --guided-decoding-backend: invalid choice: 'guidance:disable-additional-properties' (choose from 'auto', 'guidance', 'outlines')"),
     "--guided-decoding-backend guidance", []),
    (HEAD + FRAME.format("vllm/model_executor/layers/fused_moe/experts/flashinfer_moe.py", "apply", "flashinfer_fused_moe(")
     + FRAME.format("flashinfer/fused_moe/core.py", "launch", "compiled(x)") + FRAME.format("tvm_ffi/core.py", "__call__", "self.run()")
     + "RuntimeError: CUDA Error: cudaErrorInvalidValue", "--moe-backend", []),
]  # fmt: skip


@pytest.mark.parametrize(("log", "leads", "not_shown"), CASES, ids=range(len(CASES)))
def test_what_leads_and_what_is_left_out(log: str, leads: str, not_shown: list[str]) -> None:
    changes = [fix.change for fix in triage(log).fixes]
    assert changes[0].startswith(leads), changes
    assert not any(word in change for word in not_shown for change in changes), changes


def test_the_frames_behind_a_message_are_its_own_in_a_notebook() -> None:
    frames = [
        ("entrypoints/llm.py", "LLM.generate", "outputs = self._run_engine()"),
        ("engine/llm_engine.py", "LLMEngine.step", "self.execute_model(x)"),
    ]
    frames += [
        ("spec_decode/spec_decode_worker.py", "SpecDecodeWorker._run_no_spec", "self.previous_hidden_states.update(")
    ]
    log = (
        OOM.format("2.50 GiB", "100.00 MiB") + "\nFile <command-12>, line 1\n----> 1 answers = llm.generate(prompts)\n"
    )
    for path, function, code in frames:
        log += f"File /opt/venv/lib/python3.11/site-packages/vllm/{path}:44, in {function}(self)\n"
        log += (
            "".join(f"     {number} x = {number}\n" for number in range(40, 44)) + f"---> 44 {code}\n     45 return x\n"
        )
    assert "speculative" in triage(log).fixes[0].change


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"running": 400, "kv_cache_usage_percent": 99.5}, "360"),
        ({"running": 400, "kv_cache_usage_percent": 60.0}, ""),
        ({"running": 1, "kv_cache_usage_percent": 99.0}, ""),
        ({"kv_cache_usage_percent": 99.0}, ""),
    ],
)
def test_nine_tenths_of_what_runs_where_the_cache_is_full(facts: dict[str, object], expected: str) -> None:
    assert COMPUTED["below_running"](facts) == expected


def test_what_stood_behind_a_colon_has_an_option_of_its_own() -> None:
    """The wish is not lost without a word."""
    log = "vllm serve: error: argument --guided-decoding-backend: invalid choice: 'guidance:disable-any-whitespace' (choose from 'auto', 'guidance')"
    assert "--guided-decoding-disable-any-whitespace" in triage(log).fixes[0].why
    log = "vllm serve: error: argument --guided-decoding-backend: invalid choice: 'guidanc' (choose from 'auto', 'guidance')"
    assert "is lost" not in triage(log).fixes[0].why


def test_a_value_that_vllm_did_not_set_is_its_own_fault_and_the_egg_tells_the_release() -> None:
    log = (
        HEAD
        + '  File "/srv/venv/lib/python3.12/site-packages/vllm-0.10.1+xpu-py3.12.egg/vllm/v1/worker/gpu_worker.py", line 29, in init_device\n'
        "    self.largest = min(\nTypeError: '<' not supported between instances of 'NoneType' and 'int'"
    )
    report = triage(log)
    assert (report.bucket, report.facts["vllm_version"]) == ("engine_bug", "0.10.1+xpu")
