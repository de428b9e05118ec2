"""No fix is shown that leaves a request without the memory that the log says is missing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixes import context as situation
from tests.fixes import made as fix
from tests.fixes import tried

MISSING = {"kv_cache_needed_gib": 16.0, "kv_cache_available_gib": 5.0, "max_model_len": 131072, "platform": "cuda"}
SMALL = {
    "kv_cache_available_gib": 2.31, "max_concurrency": 1.85, "max_model_len": 8192, "gpu_memory_total_gib": 12.0,
    "gpu_memory_utilization": 0.97,
}  # fmt: skip
"""A cache that hardly holds two requests of the full context."""
MUCH_MISSING = {**MISSING, "kv_cache_available_gib": 2.0}


@pytest.mark.parametrize(
    ("change", "facts", "shown"),
    [
        ("--gpu-memory-utilization 0.95", {**MISSING, "gpu_memory_total_gib": 79.1}, "--gpu-memory-utilization 0.95 --max-model-len 60304"),
        ("--gpu-memory-utilization 0.95", {**MISSING, "gpu_memory_total_gib": 79.1, "gpu_memory_utilization": 0.8},
         "--gpu-memory-utilization 0.95"),
        ("--gpu-memory-utilization 0.95", {**MISSING, "gpu_memory_total_gib": 79.1, "gpu_memory_utilization": 0.85},
         "--gpu-memory-utilization 0.95 --max-model-len 105584"),
        ("--gpu-memory-utilization 0.91", {**MISSING, "gpu_memory_total_gib": 79.1, "gpu_memory_utilization": 0.9}, ""),
        ("--gpu-memory-utilization 0.93", {**MISSING, "weights_gib": 14.0, "gpu_memory_utilization": 0.9}, ""),
        ("--gpu-memory-utilization 0.93", {**MISSING, "gpu_memory_utilization": 0.9}, ""),
        ("--gpu-memory-utilization 0.93", {"gpu_memory_utilization": 0.9}, "--gpu-memory-utilization 0.93"),
        ("--kv-cache-dtype fp8", {**MISSING, "kv_cache_available_gib": 9.0}, "--kv-cache-dtype fp8"),
        ("--kv-cache-dtype fp8", MISSING, "--kv-cache-dtype fp8 --max-model-len 81792"),
        ("--kv-cache-dtype fp8", {**MISSING, "kv_cache_dtype": "fp8_e5m2"}, ""),
        ("--tensor-parallel-size 2", {**MISSING, "weights_gib": 14.0}, "--tensor-parallel-size 2"),
        ("--tensor-parallel-size 2", {**MISSING, "weights_gib": 14.0, "num_key_value_heads": 1},
         "--tensor-parallel-size 2 --max-model-len 98144"),
        ("--tensor-parallel-size 2", {**MUCH_MISSING, "weights_gib": 1.0}, "--tensor-parallel-size 2 --max-model-len 40832"),
        ("--gpu-memory-utilization 0.93", {"kv_cache_available_gib": -6.0, "weights_gib": 27.6, "gpu_memory_utilization": 0.9}, ""),
        ("--kv-cache-dtype fp8", {"kv_cache_available_gib": -6.0, "weights_gib": 27.6}, ""),
        ("--tensor-parallel-size 2", {"kv_cache_available_gib": -6.0, "weights_gib": 27.6}, "--tensor-parallel-size 2"),
        ("--kv-cache-dtype fp8", {"max_len_that_fits": 7344, "max_model_len": 32768}, "--kv-cache-dtype fp8 --max-model-len 14688"),
        ("--gpu-memory-utilization 0.93", {"max_len_that_fits": 7344, "max_model_len": 32768, "gpu_memory_utilization": 0.9},
         "--gpu-memory-utilization 0.93 --max-model-len 7344"),
        ("--gpu-memory-utilization 0.5", {"gpu_memory_free_gib": 1.54, "gpu_memory_total_gib": 22.05}, ""),
        ("--kv-cache-memory-bytes 1 --gpu-memory-utilization 0.5", {"gpu_memory_free_gib": 1.54, "gpu_memory_total_gib": 22.05}, ""),
        ("--gpu-memory-utilization 0.5", {"gpu_memory_free_gib": 21.0, "gpu_memory_total_gib": 22.05}, "--gpu-memory-utilization 0.5"),
        ("--gpu-memory-utilization 0.85", SMALL, "--gpu-memory-utilization 0.85 --max-model-len 5136"),
        ("--gpu-memory-utilization 0.92", SMALL, "--gpu-memory-utilization 0.92"),
        ("--gpu-memory-utilization 0.85", {**SMALL, "max_concurrency": 9.0}, "--gpu-memory-utilization 0.85"),
        ("--gpu-memory-utilization 0.5", SMALL, ""),
        ("--max-num-seqs 8", SMALL, "--max-num-seqs 8"),
        ("--max-model-len 65536", MISSING, ""),
        ("--max-model-len 32768", MISSING, "--max-model-len 32768"),
    ],
)  # fmt: skip
def test_what_the_ledger_excludes_is_joined_or_left_out(change: str, facts: dict[str, Any], shown: str) -> None:
    """Too little alone is given with the context that fits then; what gains next to nothing is left out, with the sum."""
    kept, withheld = tried([fix(change, title="this"), fix("--seed 7", title="that")], situation(**facts))
    changes = [each.change for each in kept if each.title.startswith("this")]
    assert changes == ([shown] if shown else [])
    assert [title for title, _ in withheld] == ([] if shown else ["this"])
    assert all("GiB" in reason or "already" in reason for _, reason in withheld)


@pytest.mark.parametrize(
    ("change", "facts", "reason"),
    [
        (
            "--gpu-memory-utilization 0.15",
            {"weights_gib": 15.0, "gpu_memory_total_gib": 93.0},
            "15.0 GiB on each of 1 GPUs, of which 13.9",
        ),
        ("--gpu-memory-utilization 0.30", {"weights_gib": 15.0, "gpu_memory_total_gib": 93.0}, ""),
        ("--tensor-parallel-size 2", {"model": "a/b-7B", "gpu_memory_total_gib": 6.0}, "6.5 GiB on each of 2 GPUs"),
        ("--tensor-parallel-size 4", {"model": "a/b-7B", "gpu_memory_total_gib": 6.0}, ""),
        ("--pipeline-parallel-size 2", {"model": "a/b-7B", "gpu_memory_total_gib": 6.0}, "6.5 GiB on each of 2 GPUs"),
        ("--tensor-parallel-size 2", {"model": "a/b", "gpu_memory_total_gib": 6.0}, ""),
        ("--tensor-parallel-size 2", {"model": "a/b-7B"}, ""),
    ],
)
def test_weights_that_do_not_fit_exclude_a_fix(change: str, facts: dict[str, Any], reason: str) -> None:
    """Whatever a fix does for the KV cache: where the weights have no room it does not help."""
    kept, withheld = tried([fix(change), fix("--seed 7")], situation(**facts))
    assert len(kept) == (1 if reason else 2)
    assert reason in (withheld[0][1] if withheld else "")
