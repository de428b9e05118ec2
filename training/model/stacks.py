"""The usual ways to an error: the frames that stand above it in every release, so that the model does not take them for the fault."""

from __future__ import annotations

import random

# Each way: (path, function), outermost first, as vLLM's own start-up and request code calls down.
_WAYS = (
    "vllm/entrypoints/cli/main.py:main vllm/entrypoints/cli/serve.py:cmd vllm/entrypoints/openai/api_server.py:run_server vllm/engine/arg_utils.py:create_engine_config vllm/config/vllm.py:__post_init__",
    "vllm/entrypoints/openai/api_server.py:build_async_engine_client vllm/v1/engine/async_llm.py:from_vllm_config vllm/v1/engine/core_client.py:__init__ vllm/v1/engine/utils.py:launch_core_engines",
    "vllm/v1/engine/core.py:run_engine_core vllm/v1/engine/core.py:__init__ vllm/v1/executor/abstract.py:__init__ vllm/v1/executor/multiproc_executor.py:_init_executor vllm/v1/worker/gpu_worker.py:init_device",
    "vllm/v1/engine/core.py:run_engine_core vllm/v1/executor/uniproc_executor.py:collective_rpc vllm/v1/worker/gpu_worker.py:load_model vllm/v1/worker/gpu_model_runner.py:load_model vllm/model_executor/model_loader/base_loader.py:load_model",
    "vllm/v1/engine/core.py:_initialize_kv_caches vllm/v1/worker/gpu_worker.py:determine_available_memory vllm/v1/worker/gpu_model_runner.py:profile_run vllm/v1/worker/gpu_model_runner.py:_dummy_run",
    "vllm/v1/engine/core.py:_initialize_kv_caches vllm/v1/executor/abstract.py:initialize_from_config vllm/v1/worker/gpu_worker.py:initialize_from_config vllm/v1/worker/gpu_model_runner.py:initialize_kv_cache",
    "vllm/v1/worker/gpu_worker.py:compile_or_warm_up_model vllm/v1/worker/gpu_model_runner.py:capture_model vllm/compilation/cuda_graph.py:__call__",
    "vllm/v1/engine/core.py:run_busy_loop vllm/v1/engine/core.py:step vllm/v1/executor/abstract.py:execute_model vllm/v1/worker/gpu_worker.py:execute_model vllm/v1/worker/gpu_model_runner.py:execute_model",
    "vllm/entrypoints/openai/api_server.py:create_chat_completion vllm/entrypoints/openai/serving_chat.py:create_chat_completion vllm/entrypoints/openai/serving_engine.py:_preprocess_chat",
    "vllm/entrypoints/llm.py:__init__ vllm/engine/llm_engine.py:from_engine_args vllm/engine/llm_engine.py:__init__ vllm/executor/executor_base.py:__init__ vllm/worker/worker.py:init_device",
    "vllm/engine/multiprocessing/engine.py:run_mp_engine vllm/engine/llm_engine.py:__init__ vllm/executor/gpu_executor.py:_init_executor vllm/worker/worker.py:load_model vllm/worker/model_runner.py:load_model vllm/model_executor/model_loader/loader.py:load_model",
    "vllm/engine/async_llm_engine.py:run_engine_loop vllm/engine/async_llm_engine.py:engine_step vllm/worker/worker_base.py:execute_model vllm/worker/model_runner.py:execute_model vllm/model_executor/models/llama.py:forward",
)
_BELOW = (
    "torch/nn/modules/module.py:_call_impl", "torch/utils/_contextlib.py:decorate_context", "transformers/models/auto/configuration_auto.py:from_pretrained",
    "huggingface_hub/utils/_http.py:hf_raise_for_status", "pydantic/_internal/_dataclasses.py:__init__", "torch/_ops.py:__call__",
)  # fmt: skip


def above(seed: random.Random) -> str:
    """Return the frames of one usual way, cut at random, as a traceback prints them."""
    frames = seed.choice(_WAYS).split(" ")
    return "".join(_printed(frame, seed) for frame in frames[seed.randint(0, len(frames) - 2) :])


def below(seed: random.Random) -> str:
    """Return a frame of another package, or nothing."""
    return _printed(seed.choice(_BELOW), seed) if seed.random() < 0.4 else ""


def _printed(frame: str, seed: random.Random) -> str:
    path, _, function = frame.partition(":")
    return f'  File "/opt/venv/lib/python3.12/site-packages/{path}", line {seed.randint(20, 2000)}, in {function}\n'
