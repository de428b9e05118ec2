"""Simulated starts: no fix of an answer about a GPU's memory fails the check that failed."""

from __future__ import annotations

import itertools

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.training.prove.simulated import CAUSES, of_report, passes, section, simulated

CONTEXT, BLOCKS, BUDGET = CAUSES
V1 = """(APIServer pid=7) INFO 11-02 10:00:00 [api_server.py:1] vLLM API server version {release}
(APIServer pid=7) INFO 11-02 10:00:01 [utils.py:233] non-default args: {{'model': 'acme/harbor-8b', 'gpu_memory_utilization': {share}}}
(EngineCore_DP0 pid=77) INFO 11-02 10:00:09 [core.py:77] Initializing a V1 LLM engine (v{release}) with config: model='acme/harbor-8b', kv_cache_dtype=auto, device_config=cuda
(EngineCore_DP0 pid=77) INFO 11-02 10:00:20 [gpu_model_runner.py:2653] Model loading took {weights} GiB and 9.5 seconds
"""
TOO_LONG = """(EngineCore_DP0 pid=77) ERROR 11-02 10:00:40 [core.py:710] ValueError: To serve at least one request with the model's max seq len ({length}), ({needed} GiB KV cache is needed, which is larger than the available KV cache memory ({available} GiB). {estimate}Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
"""
NO_ROOM = """(EngineCore_DP0 pid=77) ERROR 11-02 10:00:40 [core.py:710] ValueError: Free memory on device cuda:0 ({free}/{total} GiB) on startup is less than desired GPU memory utilization ({share}, {budget} GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.
"""
GRID = list(itertools.product((0.2, 2.5, 5.12), (6.0, 16.0, 44.25), (32768, 131072), ("0.11.0", "0.32.0"), (0.5, 0.9)))


def log(needed: float, available: float, length: int, release: str, share: float) -> str:
    """Return a start whose KV cache holds less than one request; vLLM's estimate as it is for layers of one kind."""
    fits = int(length * available / needed) // 16 * 16
    estimate = f"Based on the available memory, the estimated maximum model length is {fits}. " if fits else ""
    return V1.format(release=release, share=share, weights=14.99) + TOO_LONG.format(
        length=length, needed=needed, available=available, estimate=estimate
    )


@pytest.mark.parametrize(("available", "needed", "length", "release", "share"), GRID)
def test_no_fix_leaves_the_cache_too_small(
    available: float, needed: float, length: int, release: str, share: float
) -> None:
    """The first fix passes the check; none of the first three fails it."""
    rows = list(of_report("x", shared().report(log(needed, available, length, release, share))))
    assert {CONTEXT} == {row.cause for row in rows}
    assert rows[0].passes
    assert [] == [row.change for row in rows if row.passes is False]


@pytest.mark.parametrize(("free", "total"), [(11.24, 23.56), (40.0, 79.1), (15.9, 93.0), (70.2, 79.1)])
def test_no_fix_asks_for_more_than_is_free(free: float, total: float) -> None:
    """vLLM compares whole bytes: the share that is given leaves a margin. Where little is free, who holds it is asked first."""
    text = V1.format(release="0.11.0", share=0.9, weights=1.0) + NO_ROOM.format(
        free=free, total=total, share=0.9, budget=round(total * 0.9, 2)
    )
    rows = list(of_report("x", shared().report(text)))
    assert {BUDGET} == {row.cause for row in rows}
    asked = [row for row in rows if not row.change.startswith("nvidia-smi")]
    assert asked or free < total / 4
    assert all(row.passes for row in asked[:1])
    assert all(row.passes is not False for row in rows)


@pytest.mark.parametrize(
    ("cause", "facts", "options", "answer"),
    [
        (CONTEXT, {"kv_cache_available_gib": 5.0, "kv_cache_needed_gib": 16.0, "max_model_len": 131072}, {"--max-model-len": "65536"}, False),
        (CONTEXT, {"kv_cache_available_gib": 5.0, "kv_cache_needed_gib": 16.0, "max_model_len": 131072}, {"--max-model-len": "32768"}, True),
        (CONTEXT, {"kv_cache_available_gib": 5.0, "kv_cache_needed_gib": 16.0}, {"--kv-cache-dtype": "fp8"}, False),
        (CONTEXT, {"kv_cache_available_gib": 8.5, "kv_cache_needed_gib": 16.0}, {"--kv-cache-dtype": "fp8"}, True),
        (CONTEXT, {"kv_cache_available_gib": 5.0, "kv_cache_needed_gib": 6.0}, {"--gpu-memory-utilization": "0.95"}, None),
        (CONTEXT, {"kv_cache_available_gib": 5.0, "kv_cache_needed_gib": 6.0, "gpu_memory_total_gib": 80.0, "gpu_memory_utilization": 0.9},
         {"--gpu-memory-utilization": "0.92"}, True),
        (CONTEXT, {"kv_cache_needed_gib": 6.0}, {"--max-model-len": "1"}, None),
        (CONTEXT, {"kv_cache_available_gib": 5.0, "kv_cache_needed_gib": 6.0}, {"--max-num-seqs": "1"}, None),
        (BLOCKS, {"kv_cache_available_gib": -6.0, "weights_gib": 27.6}, {"--tensor-parallel-size": "2"}, True),
        (BLOCKS, {"kv_cache_available_gib": -6.0, "weights_gib": 7.6}, {"--tensor-parallel-size": "2"}, False),
        (BUDGET, {"gpu_memory_free_gib": 11.2, "gpu_memory_total_gib": 23.6}, {"--gpu-memory-utilization": "0.48"}, False),
        (BUDGET, {"gpu_memory_free_gib": 11.2, "gpu_memory_total_gib": 23.6}, {"--gpu-memory-utilization": "0.45"}, True),
    ],
)  # fmt: skip
def test_the_check_is_computed_as_vllm_does(
    cause: str, facts: dict[str, object], options: dict[str, str], answer: bool | None
) -> None:
    """Numbers that are missing leave it open."""
    assert answer is passes(cause, facts, options)


@pytest.mark.slow
def test_the_page_tells_it_apart_from_proof() -> None:
    """Of the repository's own logs no fix fails again."""
    rows = list(simulated())
    assert len({row.log for row in rows}) > 3
    assert [] == [row for row in rows if row.passes is False]
    text = "\n".join(section(rows))
    assert "No proof, arithmetic" in text
    assert ", 0 of " in text
