"""Collects what a log says about versions, hardware, model, arguments and memory, by vLLM's own names."""

from __future__ import annotations

import re
from typing import Any

from ...corpus.types import Rule
from ..lines.types import Line
from . import arguments
from .kinds import BACKENDS, CHOOSERS, LARGEST, LATEST, PLATFORMS, PLUGINS, SMALLEST, convert, engine_of

# How much a source is worth, where several tell one fact: what was resolved goes before what was asked for.
_FINAL, _BANNER, _PLAIN, _GIVEN, _HINT = 4, 3, 2, 1, 0

_ARGUMENT_FACTS = frozenset(
    [
        "model",
        "dtype",
        "quantization",
        "max_model_len",
        "gpu_memory_utilization",
        "kv_cache_dtype",
        "max_num_seqs",
        "enforce_eager",
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "data_parallel_size",
        "port",
        "host",
        "served_model_name",
        "tokenizer",
        "trust_remote_code",
        "max_num_batched_tokens",
        "speculative_config",
        "enable_lora",
        "attention_backend",
        "load_format",
        "cpu_offload_gb",
        "swap_space",
    ]
)
_BANNER_NAMES = {
    name: name
    for name in [
        "model",
        "dtype",
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "data_parallel_size",
        "quantization",
        "enforce_eager",
        "kv_cache_dtype",
        "served_model_name",
        "tokenizer",
        "trust_remote_code",
        "load_format",
    ]
} | {"max_seq_len": "max_model_len"}
_INHERITED = frozenset(
    ("vllm_version engine platform architecture torch_version cuda_version driver_version gpu_name gpu_count").split()  # noqa: SIM905
)
# Rules whose match alone says something.
_MEANINGS = {
    "using-v1": ("engine", "V1", _PLAIN),
    "using-v0": ("engine", "V0", _PLAIN),
    "rocm-marks": ("platform", "rocm", _BANNER),
}


class FactBook:
    """Facts of one server start.

    Where ranks or lines differ, the rule for the name decides (largest, smallest, first).
    """

    def __init__(self) -> None:
        self._values: dict[str, tuple[int, Any]] = {}
        self._arguments: dict[str, Any] = {}
        self._gpus: set[str] = set()
        self._module = ""
        self.command = ""

    def note(self, rule: Rule, line: Line, captures: dict[str, str]) -> None:
        """Take the captures of a fact rule; a few rules carry whole tables and are read here."""
        name = rule.id.partition("/")[2]
        module = line.source.rpartition("/")[2].partition(".")[0]
        if module == "rocm":
            self.set("platform", "rocm", _BANNER)
        if "EngineCore" in line.process:
            self.set("engine", "V1", _HINT)
        elif line.process.startswith("VllmWorkerProcess"):
            self.set("engine", "V0", _HINT)
        if name in _MEANINGS:
            self.set(*_MEANINGS[name])
            return
        self._module = module
        if name in ("command", "docker-image") and captures.get("command"):
            before = line.text.partition(captures["command"][:24])[0]
            captures = {**captures, "front": arguments.front_of(before)}
        special = getattr(self, f"_read_{name.replace('-', '_')}", None)
        if special is not None:
            special(captures)
            return
        for key, value in captures.items():
            if not key[-1].isdigit():
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
        largest, smallest = name in LARGEST and value > known[1], name in SMALLEST and value < known[1]
        if name in LATEST or largest or smallest:
            self._values[name] = (worth, value)

    def inherit(self, other: FactBook) -> None:
        """Take over how another start in the same log was configured, for one whose own beginning is missing."""
        for name, (_, value) in other._values.items():
            if name in _ARGUMENT_FACTS or name in _INHERITED:
                self.set(name, value, _HINT)
        self._arguments = dict(other._arguments)
        self.command = other.command

    def value(self, name: str) -> Any:
        """Return a fact as known so far, or None."""
        known = self._values.get(name)
        return None if known is None else known[1]

    def hint(self, name: str, value: Any) -> None:
        """Set a fact that is only inferred: whatever the log says itself goes before."""
        self.set(name, value, _HINT)

    def facts(self) -> dict[str, Any]:
        """Return all facts known, by name."""
        for name, value in self._arguments.items():
            plain = value[0] if name == "served_model_name" and isinstance(value, list) and value else value
            if name in _ARGUMENT_FACTS and not isinstance(plain, (dict, list)):
                self.set(name, plain, _GIVEN)
        if str(self._values.get("quantization", (0, ""))[1]).lower() == "none":
            del self._values["quantization"]
        if self._gpus:
            self.set("gpu_count", len(self._gpus))
        if str(self._values.get("gpu_name", (0, ""))[1]).startswith("AMD "):
            self.set("platform", "rocm", _BANNER)
        facts = {name: value for name, (_, value) in sorted(self._values.items())}
        if self._arguments:
            facts["arguments"] = dict(self._arguments)
        if self.command:
            facts["command"] = self.command
        era = engine_of(str(facts.get("vllm_version", "")))
        if era and self._values.get("engine", (_HINT, ""))[0] == _HINT:
            facts["engine"] = era
        return facts

    # Rules whose line holds a whole table.

    def _read_arguments(self, captures: dict[str, str]) -> None:
        for name, value in arguments.table(captures.get("table", "")).items():
            self._argument(name, value, better=True)

    def _read_namespace(self, captures: dict[str, str]) -> None:
        # All arguments, defaults included: facts, but not «as given».
        for name, value in arguments.pairs(captures.get("table", "")):
            if name == "model_tag":
                # What stands at the command's end wins over the default of --model, which is printed later.
                self.set("model", value if value != "None" else "", _GIVEN)
            elif name in _ARGUMENT_FACTS and value != "None":
                self.set(name, value, _GIVEN)

    def _read_llm_call(self, captures: dict[str, str]) -> None:
        for name, value in arguments.call(captures.get("table", "")).items():
            self._argument(name, value)

    def _read_engine_config(self, captures: dict[str, str]) -> None:
        if version := captures.get("vllm_version"):
            self.set("vllm_version", version, _BANNER)
        # Up to 0.7.0 the line does not say which engine; the module that wrote it does.
        engine = captures.get("engine") or {"core": "V1", "llm_engine": "V0"}.get(self._module, "")
        self.set("engine", engine, _BANNER)
        for name, value in arguments.pairs(
            captures.get("table", "").partition("config:")[2] or captures.get("table", "")
        ):
            fact = _BANNER_NAMES.get(name)
            if name == "device_config" and value in PLATFORMS:
                self.set("platform", value, _PLAIN)
            elif name == "quantization" and value == "None":
                self.set("quantization", "none", _BANNER)
            elif fact and value != "None":
                self.set(fact, value.removeprefix("torch.") if fact == "dtype" else value, _BANNER)

    _read_engine_dump = _read_engine_config

    def _read_command(self, captures: dict[str, str]) -> None:
        command = arguments.cut_command(captures.get("command", "").strip())
        found = arguments.command_arguments(command)
        if found:
            self.command = self.command or captures.get("front", "") + command
        for name, value in found:
            self._argument(name, value)

    def _read_listed_command(self, captures: dict[str, str]) -> None:
        for name, value in arguments.word_arguments(arguments.listed_words(captures.get("table", ""))):
            self._argument(name, value)

    def _read_docker_image(self, captures: dict[str, str]) -> None:
        self.set("vllm_version", captures.get("tag", ""), _GIVEN)
        command = arguments.cut_command(captures.get("command", ""))
        if command and " run " in captures.get("front", ""):
            self.command = self.command or captures["front"] + command
        for name, value in arguments.command_arguments(command):
            self._argument(name, value)

    _read_compose_command = _read_docker_image

    def _read_weights_took(self, captures: dict[str, str]) -> None:
        # Up to 0.7.3 this line gave the size, since 0.8.0 the time.
        self.set(
            "weights_seconds" if captures.get("unit") == "seconds" else "weights_gib", captures.get("weights_gib_old")
        )

    def _read_profiling_v0(self, captures: dict[str, str]) -> None:
        for name, value in captures.items():
            if not name[-1].isdigit():
                # The size that loading told is the more exact one.
                self.set(name, value, _GIVEN if name == "weights_gib" else _PLAIN)

    def _read_max_concurrency(self, captures: dict[str, str]) -> None:
        self.set("kv_cache_tokens", captures.get("kv_cache_tokens"))
        self.set("max_concurrency", captures.get("max_concurrency"))
        self.set("max_model_len", captures.get("concurrency_len"), _GIVEN)

    _read_kv_cache_size = _read_max_concurrency

    def _read_kv_tokens_v0(self, captures: dict[str, str]) -> None:
        self.set("max_model_len", captures.get("max_model_len"))
        self.set("max_len_that_fits", captures.get("max_len_that_fits"))
        self.set("kv_cache_tokens", captures.get("max_len_that_fits"))

    def _read_auto_fit(self, captures: dict[str, str]) -> None:
        self.set("max_len_that_fits", captures.get("max_len_that_fits"))
        self.set("max_model_len", captures.get("max_len_that_fits"), _FINAL)

    def _read_attention_backend_old(self, captures: dict[str, str]) -> None:
        name = re.sub(r"[^a-z0-9]", "", captures.get("attention_name", "").lower())
        if self._module in CHOOSERS and name in BACKENDS:
            self.set("attention_backend", BACKENDS[name])

    def _read_attention_backend_enum(self, captures: dict[str, str]) -> None:
        if self._module in CHOOSERS:
            self.set("attention_backend", captures.get("attention_backend"))

    def _read_platform_plugin(self, captures: dict[str, str]) -> None:
        name = captures.get("plugin", "").lower()
        self.set("platform", PLUGINS.get(name, name), _BANNER)

    def _read_collected_gpus(self, captures: dict[str, str]) -> None:
        self.set("gpu_name", captures.get("gpu_name", "").partition(" (")[0])
        self._gpus.add(captures.get("gpu_index", ""))

    _read_smi_gpu = _read_collected_gpus

    def _read_different_gpus(self, captures: dict[str, str]) -> None:
        names = [name.strip() for name in captures.get("names", "").split(",")][:64]
        self.set("gpu_name", names[0], _GIVEN)
        self.set("gpu_count", len(names), _GIVEN)

    def _read_smi_cuda(self, captures: dict[str, str]) -> None:
        self.set("driver_version", captures.get("driver_version"))
        # What the driver supports at most; the runtime's own version is said elsewhere, or nowhere.
        self.set("cuda_version", captures.get("cuda_version"), _GIVEN)

    def _read_collected_torch(self, captures: dict[str, str]) -> None:
        self.set("torch_version", captures.get("torch_version"))
        if found := re.search(r"\+cu(\d\d)(\d)", captures.get("torch_version", "")):
            self.set("cuda_version", f"{found[1]}.{found[2]}", _HINT)

    def _read_moe_config_device(self, captures: dict[str, str]) -> None:
        self.set("gpu_name", captures.get("gpu_name", "").replace("_", " "), _GIVEN)

    def _argument(self, name: str, value: Any, better: bool = False) -> None:
        if value is None:
            return
        if name in arguments.SECRETS:
            value = "<secret>"  # that one was given matters: without it the rebuilt command starts an open server
        if better:
            self._arguments[name] = value
        else:
            self._arguments.setdefault(name, value)
