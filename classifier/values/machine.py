"""What kind of machine the log comes from, where fixes depend on it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .worked import Worked, needs, number, whole

_UNIFIED = re.compile(r"GB10|DGX Spark|GH200|Jetson|Orin|Xavier|AGX|Strix|Radeon 80[56]0S", re.IGNORECASE)
"""GPUs that share their memory with the CPU: vLLM's own examples (vllm/utils/mem_utils.py) and AMD's APUs."""


_SPARK = (118.0, 123.0)
"""GiB that DGX Spark and Jetson Thor report of their 128 GB; no card with memory of its own has that size."""


def unified_memory(facts: Mapping[str, object]) -> Worked:
    """Return which machine shares its memory between CPU and GPU; no value for any other."""
    name, total = str(facts.get("gpu_name") or ""), number(facts, "gpu_memory_total_gib")
    if not name and total is None:
        return needs("gpu_name")
    if name:
        shares = bool(_UNIFIED.search(name))
        said = f"{name} {'shares' if shares else 'does not share'} the CPU's memory"
        return Worked(name if shares else "", said, {"gpu_name": name})
    size = total or 0.0
    inside = _SPARK[0] < size < _SPARK[1]
    machine = f"a machine of {size:.4g} GiB (DGX Spark, Jetson Thor)" if inside else ""
    said = f"{size:g} GiB {'are what such machines report' if inside else 'tell no such machine'}"
    return Worked(machine, said, {"gpu_memory_total_gib": size})


def offloaded_gib(facts: Mapping[str, object]) -> Worked:
    """Return the GiB of host memory that --cpu-offload-gb asks for on all ranks: it is given for each GPU (vllm/config/cache.py)."""
    arguments = facts.get("arguments")
    given = arguments.get("cpu_offload_gb") if isinstance(arguments, Mapping) else None
    each = number({"cpu_offload_gb": facts.get("cpu_offload_gb") if given is None else given}, "cpu_offload_gb")
    if not each or each < 0:
        return Worked("", "no weights are kept in host memory")
    ranks = (whole(facts, "tensor_parallel_size") or 1) * (whole(facts, "pipeline_parallel_size") or 1)
    inputs = {"cpu_offload_gb": each, "tensor_parallel_size": ranks}
    return Worked(f"{each * ranks:g}", f"{each:g} GiB × {ranks} GPUs", inputs)
