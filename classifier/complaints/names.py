"""Which option or variable a message is about: by its name, by a field of a configuration, or by the value it quotes."""

from __future__ import annotations

import re

from ...corpus import options
from ..patterns.lazy import LazyPattern
from .case import Case

_OBJECTS = {
    "CompilationConfig": "--compilation-config", "SpeculativeConfig": "--speculative-config",
    "KVTransferConfig": "--kv-transfer-config", "KVEventsConfig": "--kv-events-config",
    "StructuredOutputsConfig": "--structured-outputs-config", "PoolerConfig": "--pooler-config",
    "EPLBConfig": "--eplb-config", "PassConfig": "--compilation-config", "ProfilerConfig": "--profiler-config",
    "AttentionConfig": "--attention-config", "KernelConfig": "--kernel-config", "ReasoningConfig": "--reasoning-config",
    "ECTransferConfig": "--ec-transfer-config", "WeightTransferConfig": "--weight-transfer-config",
}  # fmt: skip
"""Configurations that are given as one JSON value, by vLLM's class."""
_FIELDS = {
    "cache_dtype": "--kv-cache-dtype", "model_weights": "--model", "method": "", "backend": "",
    "expert_parallel": "--enable-expert-parallel", "num_gpu_blocks": "--num-gpu-blocks-override",
    "pipeline_parallel": "--pipeline-parallel-size", "device": "--device",
}  # fmt: skip
"""Fields that are no option's name."""
_SAID = {
    "gpu memory utilization": "--gpu-memory-utilization", "attention backend": "--attention-backend",
    "quantization method": "--quantization", "load format": "--load-format", "block size": "--block-size",
    "reasoning parser": "--reasoning-parser", "tool parser": "--tool-call-parser", "tool call parser": "--tool-call-parser",
    "kv cache dtype": "--kv-cache-dtype", "dtype": "--dtype", "compilation mode": "--compilation-config.mode",
    "optimization level": "-O", "tokenizer mode": "--tokenizer-mode", "scheduling policy": "--scheduling-policy",
    "speculative method": "--speculative-config.method", "runner": "--runner", "task": "--task",
}  # fmt: skip
"""What messages call options."""
_VARIABLE = LazyPattern(r"\bVLLM_[A-Z][A-Z0-9_]+\b")
_FLAG = LazyPattern(r"--[a-z][a-z0-9-]*(?:[._][a-z0-9_.-]+)?")


def of_field(owner: str, path: list[str], case: Case) -> str:
    """Return the option that sets a field of one of vLLM's configurations; "" where none does.

    Args:
        owner: The configuration's class; "" where it is not told.
        path: The field, and keys within it.
        case: For the release, and what was given.
    """
    if not path:
        return _OBJECTS.get(owner, "") if options.exists(_OBJECTS.get(owner, ""), case.release) else ""
    if owner in _OBJECTS and options.exists(_OBJECTS[owner], case.release):
        return f"{_OBJECTS[owner]}.{'.'.join(path)}"
    flag = _FIELDS.get(path[0], "--" + path[0].replace("_", "-"))
    option = options.describe(flag, case.release) if flag else None
    if option is None:
        return ""
    return ".".join([flag, *path[1:]]) if option.kind == "json" and len(path) > 1 else flag


def of_words(text: str, case: Case) -> str:
    """Return the option or variable that a sentence names, in whatever words; "" where it names none."""
    if found := _VARIABLE.search(text):
        return str(found[0])
    for flag in _FLAG.findall(text):
        if options.exists(flag, case.release):
            return str(flag)
    plain = re.sub(r"[\s_`'\"]+", " ", text.lower())
    for words, flag in _SAID.items():
        if words in plain and (flag == "-O" or options.exists(flag.partition(".")[0], case.release)):
            return str(flag)
    for word in re.findall(r"[a-z]+(?:_[a-z]+)+", text):
        name = f"--{word.replace('_', '-')}"
        if options.exists(name, case.release):
            return name
    return ""


def of_value(given: str, case: Case) -> str:
    """Return the one argument, or variable of the command, that was given this value; "" where none or several were."""
    if len(given) < 2:
        return ""
    # vLLM reads some variables in capitals.
    if len(named := [name for name, value in case.variables.items() if given in (value, value.upper())]) == 1:
        return named[0]
    found = [
        name for name, value in case.arguments.items() if str(value) == given and name not in ("model", "model_tag")
    ]
    if len(found) == 1:
        return "--" + found[0].replace("_", "-")
    nested = [
        f"{name.replace('_', '-')}.{key}"
        for name, value in case.arguments.items()
        if isinstance(value, dict)
        for key, item in value.items()
        if str(item) == given
    ]
    return f"--{nested[0]}" if len(nested) == 1 and not found else ""
