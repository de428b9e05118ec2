"""Settings that an error is about without naming them: it shows what came of their value."""

from __future__ import annotations

import re

from ...patterns.lazy import LazyPattern
from .case import Case
from .complaint import Complaint

_OF_NOTHING = LazyPattern(
    r"ZeroDivisionError|(?:division|modulo) by zero|input_value=(?:0|-\d+)\b|must be (?:a )?positive|> 0\b"
)
_NO_LAYERS = LazyPattern(r"available_memory // (?:bytes_per_block|page_size // num_layers)")
"""Code that divides the KV cache among a rank's layers: by nothing where there are more pipeline stages than layers."""
_COUNTS = (
    "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "num_gpu_blocks_override", "block_size",
    "max_num_seqs", "max_num_batched_tokens", "max_model_len",
)  # fmt: skip
"""Settings of which none makes no sense."""
_CLASS_SPLIT = LazyPattern(r"not enough values to unpack \(expected 2, got 1\)")
_CLASSES = ("distributed_executor_backend", "scheduler_cls", "worker_cls", "worker_extension_cls")
"""Settings that take a class by its path, which vLLM parts at the last dot (resolve_obj_by_qualname)."""
_NAMED_EXECUTORS = ("ray", "mp", "uni", "external_launcher")
_CORES = LazyPattern(
    r"Failed to parse CPU string: (?P<given>\S{1,80})|invalid literal for int\(\) with base 10: '(?P<part>[^']{1,80})'"
)
_BINDING = "VLLM_CPU_OMP_THREADS_BIND"
_NO_MEMORY = LazyPattern(r"DefaultCPUAllocator: can't allocate memory: you tried to allocate (?P<bytes>\d+) bytes")
_SPACE = "VLLM_CPU_KVCACHE_SPACE"
_LAYERS = 200
"""The space for keys and values is allocated layer by layer: no model has more."""


def of_nothing(case: Case) -> list[Complaint]:
    """Return the counts that were given as none, or leave a rank nothing: what follows from them is refused, or divided by."""
    if not _OF_NOTHING.search(case.text):
        return []
    stages = case.arguments.get("pipeline_parallel_size")
    if _NO_LAYERS.search(case.code) and isinstance(stages, int) and stages > 1:
        return [Complaint("--pipeline-parallel-size", str(stages), kind="type")]
    return [
        Complaint(f"--{name.replace('_', '-')}", str(value), low=1)
        for name in _COUNTS
        if isinstance(value := case.arguments.get(name), int) and not isinstance(value, bool) and value < 1
        if not (name == "max_model_len" and value == -1)  # as long as fits, from 0.14 on
    ]


def of_class(case: Case) -> list[Complaint]:
    """Return the one setting whose value vLLM took for the path of a class, and which is none."""
    if not _CLASS_SPLIT.search(case.text):
        return []
    found = [
        name
        for name in _CLASSES
        if isinstance(value := case.arguments.get(name), str) and "." not in value and value not in _NAMED_EXECUTORS
    ]
    if len(found) != 1:
        return []
    allowed = _NAMED_EXECUTORS if found[0] == _CLASSES[0] else ()
    return [Complaint(f"--{found[0].replace('_', '-')}", str(case.arguments[found[0]]), allowed, "type")]


def of_cores(case: Case) -> list[Complaint]:
    """Return the variable that binds threads to cores, where the error shows its value, or a part of it between marks."""
    found = _CORES.search(case.text)
    given = case.variables.get(_BINDING, "")
    if found is None or not given:
        return []
    said = found["given"] or found["part"]
    return [Complaint(_BINDING, given, kind="type")] if said in (given, *re.split(r"[|,:-]", given)) else []


def of_host_memory(case: Case) -> list[Complaint]:
    """Return the space for keys and values on a CPU, where an allocation failed that is a part of it."""
    found = _NO_MEMORY.search(case.text)
    given = case.variables.get(_SPACE, "")
    if found is None or not re.fullmatch(r"\d{1,6}", given):
        return []
    parts = int(given) * 2**30 / int(found["bytes"]) if int(found["bytes"]) else 0
    whole = abs(parts - round(parts)) < 0.01 * parts
    return [Complaint(_SPACE, given, kind="type")] if 1 <= parts <= _LAYERS and whole else []


def of_override(case: Case) -> list[Complaint]:
    """Return the one key of --hf-overrides whose number the error shows in brackets behind a word of the key."""
    table = case.arguments.get("hf_overrides")
    if not isinstance(table, dict):
        return []
    found = [
        Complaint(f"--hf-overrides.{key}", str(value), kind="type")
        for key, value in table.items()
        if isinstance(value, int) and not isinstance(value, bool)
        if re.search(rf"\b(?:\w+_)?{re.escape(key.rpartition('_')[2])} \({value}\)", case.text)
    ]
    return found if len(found) == 1 else []


UNNAMED = (of_nothing, of_class, of_cores, of_host_memory, of_override)
