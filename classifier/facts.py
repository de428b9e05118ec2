"""Collects what a log says about versions, hardware, model, arguments and memory, by vLLM's own names."""
from __future__ import annotations

import ast
import re
from typing import Any

from .lazy import LazyPattern
from .model import Line

INTEGERS = frozenset(
    """max_model_len max_num_seqs tensor_parallel_size pipeline_parallel_size data_parallel_size gpu_count kv_cache_tokens
    max_len_that_fits gpu_blocks cpu_blocks port running waiting http_500 num_attention_heads""".split()
)
NUMBERS = frozenset(
    """gpu_memory_utilization gpu_memory_total_gib gpu_memory_free_gib weights_gib kv_cache_available_gib kv_cache_needed_gib
    max_concurrency graph_memory_gib kv_cache_usage_percent prompt_throughput generation_throughput requested_gib
    non_torch_gib activation_gib init_seconds weights_seconds compile_seconds graph_seconds oom_tried_gib""".split()
)
LARGEST = frozenset({"weights_gib", "gpu_memory_total_gib", "kv_cache_needed_gib", "activation_gib", "non_torch_gib"})
SMALLEST = frozenset({"kv_cache_available_gib", "gpu_memory_free_gib", "kv_cache_tokens", "max_len_that_fits", "max_concurrency", "gpu_blocks"})
LATEST = frozenset({"kv_cache_usage_percent", "prompt_throughput", "generation_throughput", "running", "waiting", "driver_version"})

# How much a source is worth, where several tell one fact: what was resolved goes before what was asked for.
_BANNER, _PLAIN, _GIVEN = 3, 2, 1

_ARGUMENT_FACTS = frozenset(
    """model dtype quantization max_model_len gpu_memory_utilization kv_cache_dtype max_num_seqs enforce_eager
    tensor_parallel_size pipeline_parallel_size data_parallel_size port host served_model_name tokenizer trust_remote_code
    max_num_batched_tokens speculative_config enable_lora attention_backend load_format cpu_offload_gb swap_space""".split()
)
_BANNER_NAMES = {
    "model": "model", "dtype": "dtype", "max_seq_len": "max_model_len", "tensor_parallel_size": "tensor_parallel_size",
    "pipeline_parallel_size": "pipeline_parallel_size", "data_parallel_size": "data_parallel_size", "quantization": "quantization",
    "enforce_eager": "enforce_eager", "kv_cache_dtype": "kv_cache_dtype", "served_model_name": "served_model_name",
    "tokenizer": "tokenizer", "trust_remote_code": "trust_remote_code", "load_format": "load_format",
}  # fmt: skip
_BACKENDS = {
    "flashattention": "FLASH_ATTN", "flashinfer": "FLASHINFER", "xformers": "XFORMERS", "torchsdpa": "TORCH_SDPA", "triton": "TRITON_ATTN",
    "flashmla": "FLASHMLA", "tritonmla": "TRITON_MLA", "rocmflashattention": "ROCM_FLASH", "pallas": "PALLAS", "cutlassmla": "CUTLASS_MLA",
    "flexattention": "FLEX_ATTENTION", "rocmattention": "ROCM_ATTN", "aiterflashattention": "ROCM_AITER_FA", "hpuattention": "HPU_ATTN",
}  # fmt: skip
_PAIR = LazyPattern(r"(?P<name>[a-z_]\w*)=(?P<value>'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^{}]*\}|[^,\s()]+)")
_DEVICES = {"cuda": "cuda", "rocm": "rocm", "cpu": "cpu", "tpu": "tpu", "xpu": "xpu", "hpu": "hpu", "neuron": "neuron", "npu": "npu"}


class FactBook:
    """Facts of one server start. Where ranks or lines differ, the rule for the name decides (largest, smallest, first)."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[int, Any]] = {}
        self._arguments: dict[str, Any] = {}
        self._gpus: set[str] = set()
        self.command = ""

    def note(self, rule: Any, line: Line, captures: dict[str, str]) -> None:
        """Take the captures of a fact rule; a few rules carry whole tables and are read here."""
        name = rule.id.partition("/")[2]
        special = getattr(self, f"_read_{name.partition('.')[0].replace('-', '_')}", None)
        if special is not None:
            special(line, captures)
            return
        for key, value in captures.items():
            self.set(key, value, _PLAIN)

    def set(self, name: str, value: Any, worth: int = _PLAIN) -> None:
        """Set one fact unless a better source has told it."""
        value = convert(name, value)
        if value is None or value == "":
            return
        known = self._values.get(name)
        if known is None or worth > known[0]:
            self._values[name] = (worth, value)
            return
        if worth < known[0]:
            return
        if name in LATEST:
            self._values[name] = (worth, value)
        elif name in LARGEST and value > known[1]:
            self._values[name] = (worth, value)
        elif name in SMALLEST and value < known[1]:
            self._values[name] = (worth, value)

    def facts(self) -> dict[str, Any]:
        """Return all facts known, by name."""
        for name, value in self._arguments.items():
            if name in _ARGUMENT_FACTS and not isinstance(value, (dict, list)):
                self.set(name, value, _GIVEN)
        if "quantization" in self._values and str(self._values["quantization"][1]).lower() == "none":
            del self._values["quantization"]
        if self._gpus:
            self.set("gpu_count", len(self._gpus))
        facts = {name: value for name, (_, value) in sorted(self._values.items())}
        if self._arguments:
            facts["arguments"] = dict(self._arguments)
        if self.command:
            facts["command"] = self.command
        if "engine" not in facts and "vllm_version" in facts:
            era = engine_of(str(facts["vllm_version"]))
            if era:
                facts["engine"] = era
        return facts

    # Rules whose line holds a whole table.

    def _read_arguments(self, line: Line, captures: dict[str, str]) -> None:
        text = captures.get("table", "")
        try:
            table = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            table = dict(_loose_items(text))
        if isinstance(table, dict):
            for name, value in table.items():
                self._argument(str(name), value)

    def _read_namespace(self, line: Line, captures: dict[str, str]) -> None:
        # All arguments, defaults included: facts, but not «as given».
        for name, value in _pairs(captures.get("table", "")):
            if name == "model_tag":
                name = "model"
            if name in _ARGUMENT_FACTS and value not in (None, "None"):
                self.set(name, value, _GIVEN)

    def _read_engine_config(self, line: Line, captures: dict[str, str]) -> None:
        if version := captures.get("vllm_version"):
            self.set("vllm_version", version, _BANNER)
        if engine := captures.get("engine"):
            self.set("engine", engine, _BANNER)
        for name, value in _pairs(captures.get("table", "")):
            fact = _BANNER_NAMES.get(name)
            if fact and value not in (None, "None"):
                self.set(fact, str(value).replace("torch.", "") if fact == "dtype" else value, _BANNER)
            elif name == "device_config" and str(value) in _DEVICES:
                self.set("platform", value, _PLAIN)

    def _read_command(self, line: Line, captures: dict[str, str]) -> None:
        command = captures.get("command", "").strip().rstrip("\\").strip()
        if not command or len(command) > 4000:
            return
        self.command = self.command or command
        for name, value in _command_arguments(command):
            self._argument(name, value)

    def _read_weights_took(self, line: Line, captures: dict[str, str]) -> None:
        # Up to 0.7.3 this line gave the size, since 0.8.0 the time.
        self.set("weights_seconds" if captures.get("unit") == "seconds" else "weights_gib", captures.get("weights_gib_old"))

    def _read_profiling_v0(self, line: Line, captures: dict[str, str]) -> None:
        for name, value in captures.items():
            self.set(name.removesuffix("_v1"), value)

    def _read_attention_backend_old(self, line: Line, captures: dict[str, str]) -> None:
        name = captures.get("attention_name", "").lower().replace(" ", "").replace("-", "")
        self.set("attention_backend", _BACKENDS.get(name, captures.get("attention_name", "").upper().replace(" ", "_")))

    def _read_collected_gpus(self, line: Line, captures: dict[str, str]) -> None:
        self.set("gpu_name", captures.get("gpu_name", "").partition(" (")[0])
        self._gpus.add(captures.get("gpu_index", ""))

    def _read_moe_config_device(self, line: Line, captures: dict[str, str]) -> None:
        self.set("gpu_name", captures.get("gpu_name", "").replace("_", " "), _GIVEN)

    def _argument(self, name: str, value: Any) -> None:
        if name in ("model_tag", "model"):
            name = "model"
        if value is not None and name not in ("api_key", "hf_token"):
            self._arguments.setdefault(name, value)


def engine_of(version: str) -> str:
    """Return the engine generation that a release surely runs: V0 up to 0.6.3, V1 from 0.11 on, else unknown."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version)
    if not found or ".dev" in version and version.startswith("0.1."):
        return ""
    major, minor, patch = int(found[1]), int(found[2]), int(found[3] or 0)
    if (major, minor, patch) <= (0, 6, 3):
        return "V0"
    return "V1" if (major, minor) >= (0, 11) else ""


def convert(name: str, value: Any) -> Any:
    """Return ``value`` in the type that the fact ``name`` has; None where it does not fit."""
    if isinstance(value, str):
        value = value.strip().strip("'\"")
    try:
        if name in INTEGERS:
            return int(str(value).replace(",", "").replace("_", ""))
        if name in NUMBERS:
            return round(float(str(value).replace(",", "")), 4)
        if name == "enforce_eager" or name == "trust_remote_code":
            return str(value).lower() == "true"
    except ValueError:
        return None
    return value


def _pairs(text: str) -> list[tuple[str, Any]]:
    return [(found["name"], found["value"].strip("'\"")) for found in _PAIR.finditer(text[:20000])]


def _loose_items(text: str) -> list[tuple[str, Any]]:
    # A table cut short, or with values that are no literals.
    items: list[tuple[str, Any]] = []
    for found in re.finditer(r"'(\w+)': ('(?:[^'\\]|\\.)*'|\[[^\]]*\]|[\w.\-]+)", text[:20000]):
        try:
            items.append((found[1], ast.literal_eval(found[2])))
        except (ValueError, SyntaxError):
            items.append((found[1], found[2]))
    return items


def _command_arguments(command: str) -> list[tuple[str, Any]]:
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    found: list[tuple[str, Any]] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "serve" and index < len(words) and not words[index].startswith("-"):
            found.append(("model", words[index]))
            index += 1
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and index < len(words) and not words[index].startswith("--"):
                value = words[index]
                index += 1
            key = name.replace("-", "_")
            found.append((key, value if value else True))
        elif word in ("-tp", "-pp", "-dp") and index < len(words):
            key = {"-tp": "tensor_parallel_size", "-pp": "pipeline_parallel_size", "-dp": "data_parallel_size"}[word]
            found.append((key, words[index]))
            index += 1
    return found
