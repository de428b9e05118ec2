"""The KV cache's size where somebody has fixed it, rather than left it to what remains of the budget."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .worked import GIB, Worked, needs, number

MIB = 1 << 20
ROUNDING = 0.01
"""GiB by which a figure that vLLM prints with two digits may be too low."""


def fit_kv_cache_memory_bytes(facts: Mapping[str, object]) -> Worked:
    """Return the bytes that one request of the full context needs, for --kv-cache-memory-bytes, up to whole MiB."""
    needed = _needed(facts)
    if needed is None:
        return needs("kv_cache_needed_gib")
    size = math.ceil((needed + ROUNDING) * GIB / MIB) * MIB
    return Worked(
        str(size), f"{needed:g} GiB needed, {ROUNDING} for rounding → {size} bytes", {"kv_cache_needed_gib": needed}
    )


def fit_cpu_kvcache_space(facts: Mapping[str, object]) -> Worked:
    """Return the same in whole GiB, for VLLM_CPU_KVCACHE_SPACE (vllm/envs.py takes an integer)."""
    needed = _needed(facts)
    if needed is None:
        return needs("kv_cache_needed_gib")
    size = math.ceil(needed + ROUNDING)
    return Worked(str(size), f"{needed:g} GiB needed, up to whole GiB → {size}", {"kv_cache_needed_gib": needed})


def _needed(facts: Mapping[str, object]) -> float | None:
    found = number(facts, "kv_cache_needed_gib")
    return found if found and 0 < found < 1e6 else None
