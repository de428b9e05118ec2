"""gpu_memory_utilization: down to what is free, up to what helps, away from an allocation that failed; and memory of a fixed size."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from ..patterns.lazy import LazyPattern
from .computed import GIB, Computed, needs, number, parse_bytes, release_at_least, value, whole

MARGIN = 0.02
"""Share of the GPU's memory left free beside what the log shows as free: other programs' use moves."""
STEP = 0.03
"""How far the share is raised where nothing tells how much is wanted."""
HIGHEST = 0.97
"""The driver and CUDA contexts keep the rest."""
UNTOLD = 0.1
"""Of the weights and the KV cache: what activations and others take at most beside them, where the log does not tell the GPU's memory."""
USUAL = 0.85
"""A share below this was chosen for some reason; raising it gives much."""
CONTEXT_GIB = 0.3
"""What CUDA's context and libraries take beside what PyTorch holds, at least."""
ONE_STEP_GIB = 0.7
"""What ``STEP`` gives on a GPU of 24 GiB."""
SMALL_CACHE_GIB = 0.5
"""The least KV cache that is worth a start, where the log does not tell what a request needs."""
LOWEST = 0.05
"""Below this no model is served."""


def default_utilization(facts: Mapping[str, object]) -> float:
    """Return vLLM's default of gpu_memory_utilization: 0.9, from 0.20 on 0.92 (vllm/config/cache.py)."""
    first = facts.get("engine") == "V0"  # removed in 0.11
    release = facts.get("vllm_version") or facts.get("assumed_release")
    return 0.9 if first or release_at_least(release, 0, 20) is False else 0.92


@value
def fit_gpu_memory_utilization(facts: Mapping[str, object]) -> Computed:
    """Return the share that fits into the free memory, less ``MARGIN``.

    vLLM refuses to start while ``free < ceil(total × gpu_memory_utilization)``
    (vllm/v1/worker/utils.py, request_memory).
    """
    free, total = number(facts, "gpu_memory_free_gib"), number(facts, "gpu_memory_total_gib")
    if free is None or not total or total < 0:
        absent = {"gpu_memory_free_gib": free is not None, "gpu_memory_total_gib": bool(total)}
        return needs(*(name for name, known in absent.items() if not known))
    inputs = {"gpu_memory_free_gib": free, "gpu_memory_total_gib": total}
    if free > total or free < 0:
        return Computed("", f"free {free:g} GiB of {total:g} GiB cannot be", inputs)
    most = math.floor(free / total * 100 + 1e-9) / 100
    share = round(most - MARGIN, 2)
    text = f"free {free:g} GiB of {total:g} GiB, so at most {most:.2f}; minus {MARGIN} margin"
    if share < LOWEST:
        return Computed("", f"{text} leaves nothing: free the GPU first", inputs)
    weights = number(facts, "weights_gib")
    if weights and share * total <= weights:
        inputs["weights_gib"] = weights
        return Computed(
            "",
            f"{text} → {share:.2f}, which is {share * total:.1f} GiB, less than the weights ({weights:g} GiB): "
            "free the GPU first",
            inputs,
        )
    return Computed(f"{share:.2f}", f"{text} → {share:.2f}", inputs)


@value
def room_beside_gib(facts: Mapping[str, object]) -> Computed:
    """Return the GiB of the GPU that another process leaves: its memory less what the driver says that the other holds."""
    total, other = number(facts, "gpu_memory_total_gib"), parse_bytes(str(facts.get("other_process") or ""))
    if not total or other is None:
        absent = {"gpu_memory_total_gib": bool(total), "other_process": other is not None}
        return needs(*(name for name, known in absent.items() if not known))
    left = total - other / GIB
    inputs = {"gpu_memory_total_gib": total, "other_process": other / GIB}
    text = f"{total:g} GiB - {other / GIB:.2f} GiB of the other process"
    if left <= 0:
        return Computed("", f"{text} leave nothing", inputs)
    return Computed(f"{left:.1f}", f"{text} = {left:.1f} GiB", inputs)


@value
def raise_gpu_memory_utilization(facts: Mapping[str, object]) -> Computed:
    """Return a higher share: what the missing KV cache needs where the log tells it, else one step.

    The KV cache gets ``total × gpu_memory_utilization - weights - activations`` (vllm/v1/worker/gpu_worker.py,
    determine_available_memory), so each 0.01 adds a hundredth of the GPU's memory to it.
    """
    given = number(facts, "gpu_memory_utilization")
    now = given if given is not None else default_utilization(facts)
    inputs: dict[str, object] = {"gpu_memory_utilization": now}
    ceiling, why = HIGHEST, f"the driver keeps the rest, so at most {HIGHEST}"
    free, total = number(facts, "gpu_memory_free_gib"), number(facts, "gpu_memory_total_gib")
    fits = fit_gpu_memory_utilization({"gpu_memory_free_gib": free, "gpu_memory_total_gib": total})
    if fits and float(fits.value) < ceiling:
        ceiling, why = float(fits.value), fits.formula
        inputs |= fits.inputs
    said = f"{now:g}" if given is not None else f"{now:g} (vLLM's default)"
    target = now + STEP if now >= USUAL else 0.9
    how = f"{said} + {STEP}" if now >= USUAL else f"{said} is low; 0.9 is usual"
    needed, left = number(facts, "kv_cache_needed_gib"), number(facts, "kv_cache_available_gib")
    enough = True
    if needed is not None and left is not None and total and needed > left:
        inputs |= {"kv_cache_needed_gib": needed, "kv_cache_available_gib": left, "gpu_memory_total_gib": total}
        target = math.ceil((now + (needed - left) / total) * 100 - 1e-9) / 100 + 0.01
        how = f"{said} + ({needed:g} - {left:g}) GiB missing ÷ {total:g} GiB, plus 0.01 margin → {target:.2f}"
        enough = target <= ceiling
    elif needed is None and left is not None and left < 0 and total:
        inputs |= {"kv_cache_available_gib": left, "gpu_memory_total_gib": total}
        target = math.ceil((now + (SMALL_CACHE_GIB - left) / total) * 100 - 1e-9) / 100
        how = f"{said} + ({-left:g} GiB lacking + {SMALL_CACHE_GIB} for a small cache) ÷ {total:g} GiB → {target:.2f}"
        enough = target <= ceiling
    share = math.floor(min(ceiling, target) * 100 + 1e-9) / 100
    if share <= now + 0.004:
        return Computed("", f"{said} is as high as it goes: {why}", inputs)
    if target > ceiling:
        how += f"; {why}"
        how += "" if enough else " (not enough alone)"
    return Computed(f"{share:.2f}", how if how.endswith(f"{share:.2f}") else f"{how} → {share:.2f}", inputs)


@value
def lower_gpu_memory_utilization(facts: Mapping[str, object]) -> Computed:
    """Return a lower share: by what a failed allocation lacked where the log tells it, else by 0.05.

    What lies outside the share (CUDA graphs before 0.20, cuBLAS and NCCL buffers, request spikes) is taken from what
    the share leaves.
    """
    given = number(facts, "gpu_memory_utilization")
    now = given if given is not None else default_utilization(facts)
    inputs: dict[str, object] = {"gpu_memory_utilization": now}
    said = f"{now:g}" if given is not None else f"{now:g} (vLLM's default)"
    down, how = 0.05, f"{said} - 0.05"
    tried, free = (parse_bytes(str(facts.get(name) or "")) for name in ("oom_tried", "oom_free"))
    total = number(facts, "gpu_memory_total_gib") or (parse_bytes(str(facts.get("oom_total") or "")) or 0) / GIB
    if tried and total:
        lacking = max(0.0, (tried - (free or 0)) / GIB)
        inputs |= {"oom_tried": facts["oom_tried"], "gpu_memory_total_gib": round(total, 2)}
        if lacking / total + MARGIN > down:
            down = lacking / total + MARGIN
            how = f"{said} - {lacking:.2f} GiB that were lacking ÷ {total:.4g} GiB - {MARGIN} margin"
    share = max(0.1, math.floor((now - down) * 100 + 1e-9) / 100)
    if share >= now:
        return Computed("", f"{said} is as low as it goes", inputs)
    return Computed(f"{share:.2f}", f"{how} → {share:.2f}", inputs)


@value
def filled_before_profiling(facts: Mapping[str, object]) -> Computed:
    """Return, in words, that PyTorch holds all that vLLM may take before a step was run; nothing where it holds less.

    It goes by ``oom_allocated``, which rules capture where next to nothing but weights is there yet.
    """
    held = (parse_bytes(str(facts.get("oom_allocated") or "")) or 0) / GIB
    total = number(facts, "gpu_memory_total_gib") or (parse_bytes(str(facts.get("oom_total") or "")) or 0) / GIB
    given = number(facts, "gpu_memory_utilization")
    share = given if given is not None else default_utilization(facts)
    if not held or not total or held + CONTEXT_GIB < share * total:
        return Computed("", "the log does not show the memory full of weights")
    inputs: dict[str, object] = {"oom_allocated": facts["oom_allocated"], "gpu_memory_total_gib": round(total, 2)}
    return Computed(f"The weights fill {held:.2f} of {total:.2f} GiB, of which vLLM may take {share:g}", "", inputs)


@value
def held_by_others(facts: Mapping[str, object]) -> Computed:
    """Return how many GiB others hold where less than half of what this server wants is free; nothing where more is."""
    free, total = number(facts, "gpu_memory_free_gib"), number(facts, "gpu_memory_total_gib")
    given = number(facts, "gpu_memory_utilization")
    share = given if given is not None else default_utilization(facts)
    if free is None or not total or free >= share * total / 2:
        return Computed("", "most of what this server asks for is free")
    return Computed(f"{total - free:.1f}", "", {"gpu_memory_free_gib": free, "gpu_memory_total_gib": total})


@value
def too_much_lacks(facts: Mapping[str, object]) -> Computed:
    """Return the GiB that lack before there is any KV cache, where the log does not tell the GPU and a step may give less."""
    left = number(facts, "kv_cache_available_gib")
    given = number(facts, "gpu_memory_utilization")
    now = given if given is not None else default_utilization(facts)
    if (
        left is None
        or left > -ONE_STEP_GIB
        or number(facts, "gpu_memory_total_gib")
        or not USUAL <= now < HIGHEST - STEP
    ):
        return Computed("", "little is lacking, the GPU's memory is known, or the share has room for more than a step")
    return Computed(f"{-left:g}", "", {"kv_cache_available_gib": left})


@value
def enough_gpu_memory_utilization(facts: Mapping[str, object]) -> Computed:
    """Return the share with which max_num_seqs requests of the full context fit; less exactly worked out, one step down.

    The KV cache takes all that is left of the share, whether or not as many requests may run as would fill it.
    """
    cache, tokens = number(facts, "kv_cache_available_gib"), whole(facts, "kv_cache_tokens")
    seqs, length = whole(facts, "max_num_seqs"), whole(facts, "max_model_len")
    weights, total = number(facts, "weights_gib"), number(facts, "gpu_memory_total_gib")
    given = number(facts, "gpu_memory_utilization")
    now = given if given is not None else default_utilization(facts)
    if not cache or not tokens or not seqs or not length or not weights or seqs * length >= tokens or now <= 0:
        return lower_gpu_memory_utilization(facts)
    needed = cache * seqs * length / tokens
    whole_gpu = total or (weights + cache) * (1 + UNTOLD) / now
    share = math.ceil((now - (cache - needed) / whole_gpu + MARGIN) * 100 - 1e-9) / 100
    if not LOWEST <= share < now - STEP:
        return lower_gpu_memory_utilization(facts)
    inputs = {"kv_cache_available_gib": cache, "kv_cache_tokens": tokens, "max_num_seqs": seqs, "max_model_len": length}
    about = f"{total:.4g} GiB" if total else f"about {whole_gpu:.0f} GiB"
    how = f"{seqs} requests of {length} tokens need {needed:.1f} of the {cache:g} GiB of KV cache; {now:g} - {cache - needed:.1f} ÷ {about} + {MARGIN} margin"
    return Computed(f"{share:.2f}", f"{how} → {share:.2f}", inputs)


MIB = 1 << 20
ROUNDING = 0.01
"""GiB by which a figure that vLLM prints with two digits may be too low."""


@value
def fit_kv_cache_memory_bytes(facts: Mapping[str, object]) -> Computed:
    """Return the bytes that one request of the full context needs, for --kv-cache-memory-bytes, up to whole MiB."""
    needed = _needed(facts)
    if needed is None:
        return needs("kv_cache_needed_gib")
    size = math.ceil((needed + ROUNDING) * GIB / MIB) * MIB
    return Computed(
        str(size), f"{needed:g} GiB needed, {ROUNDING} for rounding → {size} bytes", {"kv_cache_needed_gib": needed}
    )


@value
def fit_cpu_kvcache_space(facts: Mapping[str, object]) -> Computed:
    """Return the same in whole GiB, for VLLM_CPU_KVCACHE_SPACE (vllm/envs.py takes an integer)."""
    needed = _needed(facts)
    if needed is None:
        return needs("kv_cache_needed_gib")
    size = math.ceil(needed + ROUNDING)
    return Computed(str(size), f"{needed:g} GiB needed, up to whole GiB → {size}", {"kv_cache_needed_gib": needed})


def _needed(facts: Mapping[str, object]) -> float | None:
    found = number(facts, "kv_cache_needed_gib")
    return found if found and 0 < found < 1e6 else None


_UNIFIED = LazyPattern(r"GB10|DGX Spark|GH200|Jetson|Orin|Xavier|AGX|Strix|Radeon 80[56]0S", re.IGNORECASE)
"""GPUs that share their memory with the CPU: vLLM's own examples (vllm/utils/mem_utils.py) and AMD's APUs."""


_SPARK = (118.0, 123.0)
"""GiB that DGX Spark and Jetson Thor report of their 128 GB; no card with memory of its own has that size."""


@value
def unified_memory(facts: Mapping[str, object]) -> Computed:
    """Return which machine shares its memory between CPU and GPU; no value for any other."""
    name, total = str(facts.get("gpu_name") or ""), number(facts, "gpu_memory_total_gib")
    if not name and total is None:
        return needs("gpu_name")
    if name:
        shares = bool(_UNIFIED.search(name))
        said = f"{name} {'shares' if shares else 'does not share'} the CPU's memory"
        return Computed(name if shares else "", said, {"gpu_name": name})
    size = total or 0.0
    inside = _SPARK[0] < size < _SPARK[1]
    machine = f"a machine of {size:.4g} GiB (DGX Spark, Jetson Thor)" if inside else ""
    said = f"{size:g} GiB {'are what such machines report' if inside else 'tell no such machine'}"
    return Computed(machine, said, {"gpu_memory_total_gib": size})


@value
def offloaded_gib(facts: Mapping[str, object]) -> Computed:
    """Return the GiB of host memory that --cpu-offload-gb asks for on all ranks: it is given for each GPU (vllm/config/cache.py)."""
    arguments = facts.get("arguments")
    given = arguments.get("cpu_offload_gb") if isinstance(arguments, Mapping) else None
    each = number({"cpu_offload_gb": facts.get("cpu_offload_gb") if given is None else given}, "cpu_offload_gb")
    if not each or each < 0:
        return Computed("", "no weights are kept in host memory")
    ranks = (whole(facts, "tensor_parallel_size") or 1) * (whole(facts, "pipeline_parallel_size") or 1)
    inputs = {"cpu_offload_gb": each, "tensor_parallel_size": ranks}
    return Computed(f"{each * ranks:g}", f"{each:g} GiB × {ranks} GPUs", inputs)
