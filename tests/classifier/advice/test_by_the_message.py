"""One cause, several messages: the first fix goes by what the message says."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

STACK = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/cli/main.py", line 5, in <module>
    import api
  File "/opt/venv/lib/python3.12/site-packages/{}", line 5, in <module>
    import what
"""
SAID = [
    ("ImportError: Please install vllm[audio] for audio support", "pip install 'vllm[audio]'"),
    ("DistributionNotFound: The 'tokenizers>=0.21' distribution was not found and is required", "pip install 'tokenizers>=0.21'"),
    ("ImportError: acme_kernels is required. Install it with `pip install tilelang`.", "pip install tilelang"),
    ("ImportError: The package `amd-quark` is required. Please install it with `pip install amd-quark`.", "pip install amd-quark"),
    ("ImportError: acme is required. Install it with `pip install acme-tools`.", "The error asks for acme-tools"),
    ("bash: vllm: command not found", "uv pip install vllm"),
    ("ModuleNotFoundError: No module named 'vllm._C'", "cd / && pip install --force-reinstall"),
    ("NameError: name 'amdsmi' is not defined", "Use vLLM's image for this platform"),
    ("ImportError: /lib/libc.so.6: version `GLIBC_2.34' not found (required by /srv/vllm/_C.abi3.so)", "docker run"),
    ("ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /srv/vllm/_C.abi3.so)", "conda install"),
    ("ImportError: /srv/libgomp.so.1: cannot allocate memory in static TLS block", "LD_PRELOAD=/srv/libgomp.so.1"),
    ("RuntimeError: Paged KV cache block size must be divisible by 256", "--block-size 256"),
    ("ValueError: The selected backend, TRITON_MLA,does not support block size 1.", "leave out --block-size"),
    ("ValueError: Selected backend FLASHINFER is not valid for this configuration. Reason: ['x']", "leave out --attention-backend"),
    ("RuntimeError: FlashAttention only support fp16 and bf16 data type", "--dtype bfloat16"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", "pip install ninja"),
    ("[aiter] failed jit build [module_moe_sorting]", "VLLM_ROCM_USE_AITER=0"),
    ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840, Hardware limit: 101376.", "pip install -U vllm"),
    ("RuntimeError: can't start new thread", "ulimit -u unlimited"),
    ("OSError: [Errno 24] Too many open files", "ulimit -n 65535"),
    ("Warning  FailedScheduling  12s  default-scheduler  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "kubectl get nodes"),
    ("ValueError: invalid literal for int() with base 10: 'MIG-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9'", "CUDA_VISIBLE_DEVICES=0"),
    ("RuntimeError: CUDA error: system not yet initialized", "systemctl enable --now nvidia-fabricmanager"),
    ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", "nvidia-smi -c DEFAULT"),
    ("Unable to open /dev/kfd read-write: Permission denied", "docker run --device=/dev/kfd"),
    ("ValueError: max_lora_rank (48) must be one of (8, 16, 32, 64, 128, 256).", "--max-lora-rank 64"),
    ("RuntimeError: No free adapter slots.", "--max-loras N"),
    ("RuntimeError: CUDA error: peer access is not supported between these two devices", "NCCL_P2P_DISABLE=1"),
    ("vllm serve: error: the following arguments are required: model_tag", "vllm serve MODEL"),
    ("ERROR:    [Errno 13] error while attempting to bind on address ('0.0.0.0', 80): permission denied", "--port 8000"),
    ("ERROR:    [Errno 99] error while attempting to bind on address ('203.0.113.4', 8000): cannot assign requested address", "--host 0.0.0.0"),
    ("safetensors_rust.SafetensorError: Error while deserializing header: Cannot allocate memory (os error 12)", "Use a host or limit"),
    ("OSError: /root/.cache/torch_extensions/py312_cu124/acme/acme.so: cannot open shared object file: No such file", "rm -rf ~/.cache/torch_ext"),
    ("httpx.ConnectError: [Errno -3] Temporary failure in name resolution\nopenai.APIConnectionError: Connection error.", "compose: the service's name"),
    ("vllm-1 exited with code 3", "docker logs CONTAINER"),
    ("RuntimeError: flashinfer-jit-cache version (0.5.2) does not match flashinfer version (0.5.3).", "pip install flashinfer-jit-cache==0.5.3"),
    ("RuntimeError: Version mismatch: The cluster was started with:\n    Ray: 2.9.3\n    Python: 3.10.12", "ray --version"),
    ("TypeError: NPUPlatform.get_attn_backend_cls() got an unexpected keyword argument 'use_sparse'", "Install the plug-in's release"),
    (STACK.format("openai/_base_client.py") + "ModuleNotFoundError: No module named 'distro'", "pip install openai"),
    (STACK.format("fastapi/params.py") + "ImportError: cannot import name 'Undefined' from 'pydantic.fields' (/srv/x.py)", "pip install -U fastapi pydantic"),
    (STACK.format("vllm/utils.py") + "ImportError: cannot import name 'Undefined' from 'pydantic.fields' (/srv/x.py)", "uv pip install --force-reinstall vllm"),
    ("OSError: It looks like the config file at '/models/x/config.json' is not a valid JSON file.", "python -m json.tool /models/x/config.json"),
    ("RuntimeError: Data processing error: CAS service error : Reqwest Error: Connection timed out", "HF_HUB_ENABLE_HF_TRANSFER=0 HF_HUB_DISABLE_XET=1"),
    ("requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/api/models/acme/llm", "url=https://huggingface.co/api/models/acme/llm"),
    ("AttributeError: module 'triton.language' has no attribute 'bfloat16'", "nvidia-smi must list a GPU"),
    ("RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.4).", "export CUDA_HOME=/usr/local/cuda-12.4"),
    ("ValueError: thinking_token_budget is set but reasoning_config is not configured. Please set --reasoning-config", "start the server with --reasoning-config"),
    ("ModuleNotFoundError: No module named 'compressed_tensors.transform'", "pip install -U compressed"),
    ("ModuleNotFoundError: No module named 'compressed_tensors'", "pip install compressed"),
    ("RuntimeError: synStatus=26 [Generic failure] Device acquire failed.", "hl-smi"),
    ("openai.BadRequestError: Error code: 400 - {'error': {'message': 'Maximum file size exceeded (parameter=audio_filesize_mb, value=61.3)'}}",
     "VLLM_MAX_AUDIO_CLIP_FILESIZE_MB=100"),
    ("ValueError: `limit_mm_per_prompt` is only supported for multimodal models.", "leave out --limit-mm-per-prompt"),
    ("Back-off restarting failed container vllm in pod vllm-0", "docker logs CONTAINER"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "change"), SAID)
def test_the_first_fix_is_the_one_for_this_message(line, change):
    """Not the first of the cause, whatever was said."""
    assert (triage(line).fixes[0].change or "").startswith(change)


def test_an_access_line_gives_no_words_to_search_for():
    """It holds an address and a path, which nobody else's report has."""
    answer = triage('INFO:     10.0.0.9:41000 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error')

    assert [] == [
        fix for fix in answer.fixes if "10.0.0.9" in (fix.change or "") or "issues for:" in (fix.change or "")
    ]
