"""What a reader beside the log would call misleading is not shown: a list goes with the message, not with the bucket."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.values import COMPUTED

FRAME = '  File "/opt/venv/lib/python3.12/site-packages/{}", line 5, in {}\n    {}\n'
HEAD = "Traceback (most recent call last):\n"
CAPTURE = FRAME.format("torch/cuda/graphs.py", "capture_end", "super().capture_end()")
CASES = [
    # (log, how the first fix begins, what none of the fixes holds)
    (("RuntimeError: Ninja build failed. Ninja output:\nninja: Entering directory `/root/.cache/flashinfer/120/cached_ops'\nFAILED: sampling/sampling.cuda.o\n"
     "nvcc fatal   : Unsupported gpu architecture 'compute_120a'\nninja: build stopped: subcommand failed."), "export CUDA_HOME=", ["FLASH_ATTN", "rm -rf"]),
    ("[aiter] failed jit build [module_fmha]\n/opt/torch/HIPContextLight.h:12:10: fatal error: 'hipsparse/hipsparse.h' file not found", "VLLM_ROCM_USE_AITER=0", ["libstdc++"]),
    ("/usr/bin/ld: cannot find -lcuda: No such file or directory\nsubprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/x/main.c', '-lcuda']' returned non-zero exit status 1.",
     "ln -s", ["build-essential"]),
    (HEAD + FRAME.format("vllm/v1/core/sched/scheduler.py", "_preempt_request", "assert request.status == RequestStatus.RUNNING, (")
     + "AssertionError: Only running requests can be preempted\nnon-default args: {'scheduling_policy': 'priority'}", "leave out --scheduling-policy", ["prefix-caching"]),
    (HEAD + FRAME.format("vllm/v1/spec_decode/eagle.py", "dummy_run", "self.model(") + CAPTURE
     + "RuntimeError: CUDA error: operation failed due to a previous error during capture", "leave out --speculative-config", ["PIECEWISE"]),
    ("(EngineCore_DP0 pid=9) Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  24%|##  | 16/67\n" + HEAD
     + FRAME.format("vllm/attention/layer.py", "forward", "x()") + CAPTURE + "RuntimeError: CUDA error: operation not permitted when stream is capturing",
     "--compilation-config", ['"PIECEWISE"']),
    (("ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, use_mla=True, use_sparse=True). "
     "Reasons: {FLASHMLA_SPARSE: [compute capability not supported]}."), "The message gives a reason", ["unset VLLM", "TRITON_ATTN"]),
    ("AssertionError: FlashAttention 3 is only supported on Hopper\nRuntimeError: FA3 is only supported on Hopper GPUs", "--attention-config", ["--dtype half"]),
    ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "python -c 'import torch", []),
    ("NVIDIA V100 with CUDA capability sm_70 is not compatible with the current PyTorch installation.", "pick the last release", ["install -U"]),
    (("ValueError: Weight input_size_per_partition = 7392 is not divisible by min_thread_k = 128. Consider reducing tensor_parallel_size or running with --quantization gptq.\n"
     "(VllmWorker_TP3 pid=7) rank 3"), "Divide --tensor-parallel-size by 4", ["8 to 4"]),
    (HEAD + FRAME.format("vllm/model_executor/models/adapters.py", "__init__", "self.score = RowParallelLinear(hidden, num_labels)")
     + "ValueError: The output size is not aligned with the quantized weight shape. This can be caused by too large tensor parallel size.",
     "Take the 16-bit checkpoint of the classifier", ["--tensor-parallel-size"]),
    ("KeyError: 'model.layers.0.mlp.down_proj.deq_scale'", "Start with --quantization ascend", ["quantization_config config.json"]),
    ("ValueError: GGUF model with architecture acme is not supported yet.", "The repository with safetensors", ["--model-impl"]),
    ("ValueError: Following weights were not initialized from checkpoint: {'model.layers.34.mlp.down_proj.weight'}\nnon-default args: {'model': '/srv/my-export'}",
     "See that every file is there", ["tie_word_embeddings"]),
    ("ValueError: absolute aspect ratio must be smaller than 200, got 243.6", "Pad or crop the image", ["--limit-mm-per-prompt"]),
    (HEAD + FRAME.format("vllm/multimodal/video.py", "load_bytes", "assert i == num_frames, (") + "AssertionError: Expected reading 32 frames, but only loaded 31 frames from video.",
     "ffmpeg", ["data:image", "FETCH_TIMEOUT"]),
    ("RuntimeError: No neuron device available", "Run the driver's own status tool", ["nvidia-ctk", "modprobe nvidia"]),
    ("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver", "install a driver", ["below 0.20"]),
    ("ValueError: Token id 5279552648203111001 is out of vocabulary", "Log prompt_token_ids", ["AutoTokenizer", "install -U"]),
    ("jinja2.exceptions.TemplateAssertionError: No filter named 'from_json'.", "--chat-template /path", ["content-format", "Check role"]),
    ("TypeError: Object of type <class 'function'> is not serializable. Set VLLM_ALLOW_INSECURE_SERIALIZATION=1 to allow fallback to pickle-based serialization.",
     "collective_rpc('name'", ["WORKER_MULTIPROC_METHOD"]),
    ("ValueError: Out of range float values are not JSON compliant: nan\nPOST /v1/embeddings\nonly long texts, T4 with --dtype half", "--dtype float32", ["bfloat16"]),
    ("ImportError: libavutil.so.59: cannot open shared object file: No such file or directory\n[end of libtorchcodec loading traceback].", "apt-get", ["torch-backend"]),
    ("RuntimeError: PTXAS error: Internal Triton PTX codegen error\nptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
     "TRITON_PTXAS_PATH=", ["CUDA_HOME"]),
    ("ValueError: There is no module or parameter named 'visual' in Qwen3MoeForCausalLM", "The weights hold an image", ["install -U"]),
    (("openai_harmony.HarmonyError: Unexpected token 12606 while expecting start token 200006\n" + HEAD
      + FRAME.format("vllm/entrypoints/openai/serving_chat.py", "chat_completion_stream_generator", "harmony_parser.process(token_id)")
      + FRAME.format("openai_harmony/__init__.py", "process", "self._inner.process(token)") + "openai_harmony.HarmonyError: Unexpected token 12606 while expecting start token 200006"),
     "pip install -U vllm", ["--tool-call-parser", "tool_choice"]),
    ("vllm: error: unrecognized arguments: serve acme/tiny-7b", "command: MODEL", ["vllm serve MODEL"]),
    (("pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
      "  Value error, Either prompt_lookup_max or prompt_lookup_min must be provided when using the ngram method. [type=value_error]"),
     "--speculative-config.prompt_lookup_max 5", ["eagle3"]),
    (("ValueError: Failed to find a kernel that can implement the WNA16 linear layer. Reasons:\n"
      "   MarlinLinearKernel cannot implement due to: Weight input_size_per_partition = 3424 is not divisible by min_thread_k = 128. Consider reducing tensor_parallel_size"),
     "Halve --tensor-parallel-size", ["group size 128"]),
    (("vllm serve acme/moe-nvfp4 --enable-expert-parallel --all2all-backend deepep_low_latency\n"
      "NotImplementedError: No NvFp4 MoE backend supports the deployment configuration."), "leave out --enable-expert-parallel", []),
    ("[aiter] waiting for baton release at /opt/aiter/jit/build/lock_module_moe_sorting", "pgrep -af", ["find ~"]),
    (("RuntimeError: Ninja build failed. Ninja output:\nFAILED: sampling.cuda.o\n/opt/x/sampling.cuh:20:10: fatal error: curand.h: No such file or directory\n"
      "ninja: build stopped: subcommand failed."), "The header names it", ["CUDA_HOME=", "rm -rf"]),
    ("[aiter] failed jit build [module_moe_sorting]\nPermissionError: [Errno 13] Permission denied: '/opt/aiter/jit/build'", "The message names the path", ["rm -rf"]),
    ("ValueError: Detected some but not all shards of model.layers.0.linear_attn.in_proj_ba are quantized. All shards of fused layers to have the same precision.",
     "Give the ignore list", ["install -U", "group size 128"]),
    ("ValueError: There is no module or parameter named 'module' in Qwen2ForCausalLM", "model.merge_and_unload", ["install -U", "num_hidden_layers"]),
    ("AssertionError: Attempted to load weight (torch.Size([33030144, 1])) into parameter (torch.Size([3584, 18944]))", "A tensor of N rows", ["install -U", "vocab_size"]),
    ("ValueError: Out of range float values are not JSON compliant: nan\nPOST /v1/completions", "--dtype bfloat16", ["logprobs", "install -U"]),
]  # fmt: skip


@pytest.mark.parametrize(("log", "first", "never"), CASES)
def test_fixes_go_with_the_message_the_frame_and_the_number(log: str, first: str, never: list[str]) -> None:
    """The first is the one for this log; what cannot help here does not come behind it."""
    fixes = [fix.change or "" for fix in triage(log).fixes]
    assert fixes[0].startswith(first)
    assert [] == [(word, change) for change in fixes for word in never if word in change]


@pytest.mark.parametrize(
    ("facts", "ranks", "factor"),
    [
        ({"tensor_parallel_size": 4, "size": "7392", "multiple": "128"}, "1", "4"),
        ({"tensor_parallel_size": 8, "size": "1376", "multiple": "64"}, "4", "2"),
        ({"tensor_parallel_size": 2, "size": "1368", "multiple": "128"}, "", ""),
        ({"tensor_parallel_size": 2, "size": "7392", "multiple": "128"}, "", "4"),
        ({"tensor_parallel_size": 4}, "2", "2"),
    ],
)
def test_ranks_with_which_a_quantised_layer_can_be_cut(facts: dict[str, object], ranks: str, factor: str) -> None:
    """By the numbers of the message; without them the next smaller number of ranks."""
    assert COMPUTED["aligned_tensor_parallel_size"](facts) == ranks
    assert COMPUTED["alignment_factor"](facts) == factor
