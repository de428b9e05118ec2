"""What a log says of its situation decides which fixes are shown: a trainer, another platform, a message, a number."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

FIT = "ValueError: Free memory on device (30.1/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
OWN = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/{}", line 5, in {}
    {}
{}"""
CUMEM = "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:139"
SAID = [
    (FIT, "nvidia-smi ", "What holds the memory"),
    (f"(WorkerDict pid=7) {FIT}", "What holds the memory is the trainer's", "nvidia-smi"),
    ("AssertionError: Memory usage increased after sleeping.", "Let no other process", "nvidia-smi"),
    (OWN.format("vllm/v1/worker/gpu_worker.py", "wake_up", "allocator.wake_up(tags)", CUMEM), "Put the other model to sleep", "See that the trainer"),
    (OWN.format("verl/workers/rollout.py", "resume", 'engine.wake_up(tags=["weights"])', CUMEM), "See that the trainer", "wake_up?tags"),
    ("Fatal Python error: Bus error", "df -h /dev/shm", ""),
    ("ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", "docker run --ipc=host", ""),
    ("RuntimeError: DataLoader worker (pid 812) is killed by signal: Killed.", "dmesg -T", ""),
    ("Memory cgroup out of memory: Killed process 4211 (VLLM::EngineCor) total-vm:1kB", "Raise the memory limit", "dmesg"),
    (OWN.format("vllm/v1/worker/gpu_model_runner.py", "_allocate_kv_cache_tensors", "tensor = torch.zeros(", "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 1207959552 bytes. Error code 12 (Cannot allocate memory)"), "VLLM_CPU_KVCACHE_SPACE=4", "overcommit"),
    ("openai.OpenAIError: The api_key client option must be set either by passing api_key to the client or by setting the variable", 'Pass api_key="EMPTY"', "--api-key KEY"),
    ("curl: (1) Received HTTP/0.9 when not allowed", "ss -ltnp", "--ssl-certfile"),
    ("httpx.ConnectError: [SSL: WRONG_VERSION_NUMBER] wrong version number", "base_url = http://", "ss -ltnp"),
    ("ValueError: truncate_prompt_tokens value is greater than max_model_len. Please, select a smaller truncation size.", "Send truncate_prompt_tokens below", "Drop old turns"),
    ("ValueError: max_tokens must be at least 1, got -212.", "Trim the conversation", "Set max_tokens"),
    ("'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 16384 tokens and your request has 9127 input tokens (8192 > 16384 - 9127).", "Set max_tokens (or max_completion_tokens) to at most 7257", ""),
    (OWN.format("vllm/utils/network_utils.py", "get_open_port", 's.bind(("", 0))', "OSError: [Errno 98] Address already in use"), "ss -s; sysctl net.ipv4.ip_local_port_range", "VLLM_PORT"),
    ("ValueError: Mistral tokenizer is not supported for the 'lm-format-enforcer' structured output backend. Please use ['xgrammar', 'outlines'] backends or tokenizer_mode='hf' instead.", "--structured-outputs-config '{\"backend\": \"xgrammar\"}'", "Remove the unsupported keyword"),
    ("vllm.exceptions.VLLMValidationError: The decoder prompt cannot be empty", "Leave out prompts", "Read the message"),
    ("ValueError: Target modules {'q_proj'} not found in the base model.", "grep -E 'base_model_name_or_path", ""),
    ("ValueError: Cannot find any model weights with `/data/saves/qwen-sft/export`", "Look for the folder", "hf download"),
    ("ValueError: Cannot find any model weights with `/models/qwen`", "hf download", ""),
    (OWN.format("lmcache/v1/cache_engine.py", "create", "raise ValueError(", "ValueError: Azure url must include a container: azure://<container_name>"), "Change it in the file of LMCACHE", "compatibility table"),
    ("RuntimeError: Every node should have a unique IP address. Got 2 nodes with node ids ['a', 'b'] and 1 unique IP addresses {'10.0.0.1'}.", "export VLLM_HOST_IP", "ray stop"),
    ("RuntimeError: Gloo connectFullMesh failed with [x]\nifa != nullptr. Unable to find address for: eth0", "export GLOO_SOCKET_IFNAME", "getent hosts"),
    ("openai.BadRequestError: Error code: 400 - {'error': {'message': 'Grammar error: Unimplemented keys: [\"uniqueItems\"]'}}", "Take the keys or constructs", "guidance"),
    ("E20260602 03:41:22.640881   331 rdma_transport.cpp:398] RdmaTransport: No available RNIC\nRuntimeError: Mooncake Transfer Engine initialization failed. MooncakeConnector", "--kv-transfer-config.kv_connector_extra_config.mooncake_protocol tcp", "metadata_server"),
    ("RuntimeError: Configuration mismatch detected for engine 8. All DP workers must have identical configurations for parameters that affect collective communication", "Compare the start commands", "--data-parallel-size"),
    ("ValueError: num_speculative_tokens must be provided with speculative model unless the draft model config contains an n_predict parameter.", "--speculative-config.num_speculative_tokens 3", "DRAFT"),
    ("ValueError: Cannot get the vocabulary of the tokenizer <class 'acme.Tokenizer'>. The tokenizer should have a get_vocab method.", "Give --tokenizer a repository", "fresh environment"),
    ("OSError: It looks like the config file at '/models/mine/config.json' is not a valid JSON file.", "python -m json.tool", "hf download"),
    ("OSError: It looks like the config file at '/root/.cache/huggingface/hub/models--a--b/snapshots/1/config.json' is not a valid JSON file.", "python -m json.tool", ""),
    (f"Cell In[9], line 1\n{FIT}", "Restart the kernel", ""),
    ("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.\n--nnodes 2 --master-addr gpu-1", "nc -vz", "VLLM_HOST_IP"),
    ("ValueError: /adapters/half doesn't contain tensors", "ls -l /adapters/half", "--lora-modules"),
    ("[1] ib_device.c:1204 UCX  ERROR ibv_create_ah(dlid=1) for RC DEVX QP connect on mlx5_2 failed\nnixl._bindings.nixlBackendError: NIXL_ERR_BACKEND", "UCX_TLS=tcp,cuda_copy", "recompute"),
    ("pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n  Value error, RecoverSSM currently requires pipeline_parallel_size=1", "--pipeline-parallel-size 1", "pip install"),
    ("pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n  Value error, num_speculative_tokens:3 must be divisible by n_predict=2 [type=value_error]", "--speculative-config.num_speculative_tokens 2", "DRAFT"),
    ("ValueError: VLLM_ALLOW_RUNTIME_LORA_UPDATING cannot be used with api_server_count > 1", "--api-server-count 1", "--enable-lora and"),
    ("RuntimeError: Data processing error: CAS service error : https://cas-server.xethub.hf.co ReqwestMiddleware Error: Request failed after 5 retries", "HF_HUB_", ""),
    ("ValueError: Non-MoE models do not support external data parallel mode. For external load balancing, launch independent vLLM instances without --data-parallel-* arguments.", "One 'vllm serve' per GPU group", "--data-parallel-size"),
    ("This model's maximum context length is 32768 tokens. However, you requested 24577 output tokens and your prompt contains at least 8192 input tokens, for a total of at least 32769 tokens.", "Leave max_tokens", "at most"),
    ("[rank3]: DeepEP error: timeout (dispatch CPU)", "Search the log", "NCCL_P2P_DISABLE"),
    ("node-1:812:1190 [1] NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory", "ulimit -l unlimited", "VLLM_HOST_IP"),
]  # fmt: skip


@pytest.mark.parametrize(("log", "first", "absent"), SAID)
def test_the_fixes_fit_what_the_log_says(log: str, first: str, absent: str) -> None:
    """The first is the one for this situation, and what belongs to another one is not shown."""
    changes = [fix.change or "" for fix in triage(log).fixes]

    assert changes[0].startswith(first)
    assert [change for change in changes if absent and absent in change] == []
