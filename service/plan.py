"""Plans (does a model fit some GPUs?) as every way in asks for them and shows them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Protocol

from ..classifier.sizing.placement import Setup

if TYPE_CHECKING:
    from ..classifier.sizing.planning import Plan


class Wanted(Protocol):
    """What is asked besides sizes, which each way in reads for itself; None and 0 where vLLM or the plan shall choose."""

    gpus: int
    vllm_version: str | None
    tensor_parallel_size: int | None
    pipeline_parallel_size: int
    gpu_memory_utilization: float | None
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    max_model_len: int | None
    kv_cache_dtype: str
    quantization: str
    enforce_eager: bool


def setup_of(wanted: Wanted, gpu_memory: int, weights: int = 0, overhead: int = 0) -> Setup:
    """Return what a plan is made for.

    Args:
        wanted: What is asked.
        gpu_memory: Bytes of one GPU.
        weights: Bytes of all weights; 0 works them out.
        overhead: Bytes that activations, graphs and contexts take on each GPU; 0 takes the usual allowance.
    """
    setup = Setup(gpu_memory, wanted.gpus, (wanted.vllm_version or "").removeprefix("v"))
    setup.tensor = wanted.tensor_parallel_size or 0
    setup.pipeline = wanted.pipeline_parallel_size
    setup.utilization = wanted.gpu_memory_utilization or setup.utilization
    setup.max_num_seqs = wanted.max_num_seqs or setup.max_num_seqs
    setup.max_num_batched_tokens = wanted.max_num_batched_tokens or 0
    setup.max_model_len = wanted.max_model_len or 0
    setup.kv_dtype, setup.quantization = wanted.kv_cache_dtype, wanted.quantization
    setup.weights, setup.overhead = weights, overhead
    setup.enforce_eager = wanted.enforce_eager
    return setup


def start_command(plan: Plan, name: str) -> str:
    """Return the command to start with; "" where nothing fits."""
    if plan.verdict not in ("fits", "fits_shorter"):
        return ""
    flags = (f"{option} {value}".rstrip() for option, value in plan.flags())
    return " ".join(["vllm serve", shlex.quote(name), *flags])


def unknown_options(plan: Plan) -> list[str]:
    """Return what the plan's release does not take, in words (corpus/options.py): an option, or a value of one."""
    from ..corpus.options import describe, exists

    version, found = plan.setup.version, []
    for option, value in plan.flags() if version else []:
        if exists(option, version) is False:
            found.append(f"vLLM {version} has no {option}.")
        elif (known := describe(option, version)) and known.choices and value not in map(str, known.choices):
            found.append(f"{option} of vLLM {version} takes {', '.join(map(str, known.choices))}; not {value}.")
    return found


def plan_data(plan: Plan, name: str) -> dict[str, object]:
    """Return a plan as plain values for JSON; what is not known is left out."""
    found: dict[str, object] = {
        "verdict": plan.verdict,
        "problem": plan.problem,
        "command": start_command(plan, name),
        "vllm_version": plan.setup.version,
    }
    if fit := plan.fit:
        gib = 1 << 30
        found |= {
            "tensor_parallel_size": fit.tensor,
            "gpu_memory_gib": round(plan.setup.gpu_memory / gib, 3),
            "gpu_memory_utilization": plan.setup.utilization,
            "parameters": fit.weighed.inputs.get("parameters"),
            "weights_gib": round(fit.weights / gib, 3) if fit.weights else None,
            "overhead_gib": round(fit.overhead / gib, 3),
            "kv_cache_available_gib": round(fit.kv_memory / gib, 3),
            "kv_cache_bytes_per_token": fit.layout.token_bytes,
            "kv_cache_needed_gib": round(fit.needed / gib, 3),
            "kv_cache_tokens": fit.layout.pool_tokens(fit.kv_memory),
            "max_model_len": fit.wanted,
            "max_len_that_fits": fit.longest,
            "max_concurrency": round(fit.concurrency(min(fit.wanted, fit.longest)), 2),
        }
    found["flags"] = [{"option": option, "value": value} for option, value in plan.flags()]
    found["changes"] = [{"change": change, "gives": gives} for change, gives in plan.changes]
    found["notes"] = plan.notes + unknown_options(plan)
    return {key: value for key, value in found.items() if value not in (None, "", [])}
