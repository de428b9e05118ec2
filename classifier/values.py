"""Values worked out from a log's own numbers: small pure functions that fix texts name.

Each takes the facts (and captures) and returns text to paste, or "" where a number is missing.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

MARGIN = 0.02
"""Share of the GPU's memory left free beside what the log shows as free."""
STEP = 0.03
"""How far gpu_memory_utilization is raised at a time."""
HIGHEST = 0.97
"""The driver and other contexts keep the rest."""
BLOCK = 16
"""Tokens of a KV-cache block: lengths are rounded down to whole blocks."""


def fit_max_model_len(facts: Mapping[str, Any]) -> str:
    """Return the longest context (tokens) that fits: vLLM's own estimate, else in proportion to the KV cache left."""
    estimate = facts.get("max_len_that_fits")
    if isinstance(estimate, int) and estimate > 0:
        return str(estimate)
    wanted, needed, left = (_number(facts, name) for name in ("max_model_len", "kv_cache_needed_gib", "kv_cache_available_gib"))
    if wanted and needed and left and left > 0:
        tokens = int(wanted * left / needed) // BLOCK * BLOCK
        return str(tokens) if tokens >= BLOCK else ""
    return ""


def fit_gpu_memory_utilization(facts: Mapping[str, Any]) -> str:
    """Return the share that fits into free/total memory (GiB), less ``MARGIN``, rounded down to 0.01."""
    free, total = _number(facts, "gpu_memory_free_gib"), _number(facts, "gpu_memory_total_gib")
    if not free or not total or free > total:
        return ""
    share = math.floor((free / total - MARGIN) * 100 + 1e-9) / 100
    return f"{share:.2f}" if share >= 0.05 else ""


def raise_gpu_memory_utilization(facts: Mapping[str, Any]) -> str:
    """Return the next higher share, as far as the memory that was free at start-up allows."""
    now = _number(facts, "gpu_memory_utilization")
    if now is None:
        return "0.95"
    ceiling = HIGHEST
    fits = fit_gpu_memory_utilization(facts)
    if fits:
        ceiling = min(ceiling, float(fits))
    value = min(ceiling, now + STEP if now >= 0.85 else 0.9)
    return f"{value:.2f}" if value > now + 0.004 else ""


def lower_gpu_memory_utilization(facts: Mapping[str, Any]) -> str:
    """Return a share lowered by 0.05, for room outside vLLM's budget."""
    now = _number(facts, "gpu_memory_utilization") or 0.9
    return f"{max(0.1, now - 0.05):.2f}"


def fit_tensor_parallel_size(facts: Mapping[str, Any]) -> str:
    """Return the largest size that divides the attention heads and is no larger than the GPUs seen, nor than what was asked for."""
    heads = _number(facts, "num_attention_heads") or _number(facts, "num_heads")
    asked, gpus = _number(facts, "tensor_parallel_size"), _number(facts, "gpu_count")
    limits = [int(value) for value in (asked, gpus) if value and value >= 1]
    if not limits or (not heads and not gpus):
        return ""
    return str(next(size for size in range(min(limits), 0, -1) if not heads or int(heads) % size == 0))


def free_port(facts: Mapping[str, Any]) -> str:
    """Return the port after the one in use."""
    port = facts.get("port") or 8000
    try:
        number = int(port) + 1
    except (TypeError, ValueError):
        return ""
    return str(number if number < 65536 else 8001)


def halve_max_num_seqs(facts: Mapping[str, Any]) -> str:
    """Return half of max_num_seqs (vLLM's default of 256 where the log does not say)."""
    now = _number(facts, "max_num_seqs") or 256
    return str(max(1, int(now) // 2))


def _number(facts: Mapping[str, Any], name: str) -> float | None:
    value = facts.get(name)
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(str(value).replace(",", ""))
    except ValueError:
        return None


COMPUTED: dict[str, Callable[[Mapping[str, Any]], str]] = {
    function.__name__: function
    for function in (
        fit_max_model_len, fit_gpu_memory_utilization, raise_gpu_memory_utilization, lower_gpu_memory_utilization,
        fit_tensor_parallel_size, free_port, halve_max_num_seqs,
    )
}  # fmt: skip
"""What ``{name}`` in a fix may compute, by name."""
