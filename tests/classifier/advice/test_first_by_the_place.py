"""What a frame, a number or a package beside vLLM tells decides which fix comes first, and which is left out."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.values import COMPUTED

HEAD = "Traceback (most recent call last):\n"
FRAME = '  File "{}", line 12, in {}\n    {}\n'
SITE = "/opt/venv/lib/python3.12/site-packages/"


def stack(*frames: tuple[str, str, str], error: str) -> str:
    return HEAD + "".join(FRAME.format(*frame) for frame in frames) + error + "\n"


FETCHED = stack(
    (SITE + "aiohttp/streams.py", "_wait", "await waiter"),
    error="asyncio.exceptions.CancelledError",
) + "\nThe above exception was the direct cause of the following exception:\n\n" + stack(
    (SITE + "vllm/multimodal/utils.py", "fetch_video_async", "return await self.load_from_url_async("),
    (SITE + "vllm/connections.py", "async_get_bytes", "return await r.read()"),
    (SITE + "aiohttp/helpers.py", "__exit__", "raise asyncio.TimeoutError from exc_val"),
    error="TimeoutError",
)  # fmt: skip
KILLED = (
    "INFO 02-20 10:00:36 [api_server.py:1272] vLLM API server version 0.14.1\n"
    "INFO 02-20 10:00:36 [utils.py:263] non-default args: {{'model': 'acme/x-70b', 'tensor_parallel_size': 4, {given}}}\n{told}"
    "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n"
)
PERIODIC = (
    "INFO 01-09 10:{:02}:00 [loggers.py:206] Engine 000: Avg prompt throughput: 3280.0 tokens/s, Avg generation throughput: 121.8 tokens/s, "
    "Running: 12 reqs, Waiting: {} reqs, Preemptions: {}, GPU KV cache usage: 98.4%, Prefix cache hit rate: 3.1%\n"
)
QUEUED = "vllm serve acme/x --gpu-memory-utilization {}\n"


def test_a_timeout_made_of_a_cancelled_task_is_the_failure() -> None:
    assert triage(FETCHED).cause == "multimodal/media_unreadable"


def test_a_cancelled_task_alone_is_none() -> None:
    assert triage(FETCHED.partition("\nThe above")[0]).bucket == "no_failure"


def test_words_pasted_behind_a_message_do_not_outweigh_the_frame() -> None:
    pasted = (
        "prompt = tokenizer.apply_chat_template(messages, tokenize=False) messages = [{'role': 'user', 'content': text}] "
        * 3
    )
    log = stack(
        (SITE + "vllm/model_executor/models/minicpmv.py", "_get_image_bounds", "return torch.hstack(["),
        error=f"RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 3 but got size 4. {pasted}",
    )
    assert triage(log).bucket == "multimodal"


@pytest.mark.parametrize(
    ("facts", "lacks"),
    [
        ({"kv_cache_available_gib": -1.1}, "1.1"),
        ({"kv_cache_available_gib": -0.1}, ""),
        ({"kv_cache_available_gib": -1.1, "gpu_memory_total_gib": 24.0}, ""),
        ({"kv_cache_available_gib": -1.1, "gpu_memory_utilization": 0.5}, ""),
        ({"kv_cache_available_gib": -1.1, "gpu_memory_utilization": 0.97}, ""),
        ({}, ""),
    ],
)
def test_much_lacks_where_a_step_of_the_share_may_give_less(facts: dict[str, object], lacks: str) -> None:
    assert COMPUTED["too_much_lacks"](facts) == lacks


def test_the_share_is_raised_by_what_lacks_before_any_cache() -> None:
    facts = {"kv_cache_available_gib": -2.0, "gpu_memory_total_gib": 80.0, "gpu_memory_utilization": 0.9}
    assert COMPUTED["raise_gpu_memory_utilization"](facts) == "0.94"


@pytest.mark.parametrize(
    ("frame", "folder"),
    [
        ("/src/our-flashinfer/flashinfer/gemm/kernels.py:<module>", "/src/our-flashinfer"),
        ("/home/u/lmcache/lmcache/v1/cache.py:get", "/home/u/lmcache"),
        ("/work/vllm/vllm/engine.py:go", ""),
        ("flashinfer/gemm.py:go", ""),
        ("/srv/app/tools/gemm.py:go", ""),
    ],
)
def test_a_checkout_is_told_by_its_folder(frame: str, folder: str) -> None:
    assert COMPUTED["asking_checkout"]({"frame": frame, "package": "cutlass.cute"}) == folder


def test_what_is_kept_in_host_memory_is_told_for_all_ranks() -> None:
    fixes = triage(KILLED.format(given="'cpu_offload_gb': 24.0", told="")).fixes
    assert "above 96 GiB for --cpu-offload-gb" in fixes[0].why


@pytest.mark.parametrize(("waiting", "told"), [(90, True), (9, False)])
def test_fewer_sequences_are_said_to_shorten_no_wait(waiting: int, told: bool) -> None:
    log = QUEUED.format(0.95) + "".join(PERIODIC.format(at, waiting, 20 + at) for at in range(20, 40))
    fewer = next(fix for fix in triage(log).fixes if fix.option == "--max-num-seqs")
    assert ("with a larger KV cache only" in fewer.why) is told
