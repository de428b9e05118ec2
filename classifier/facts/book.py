"""Collects what a log says about versions, hardware, model, arguments and memory, by vLLM's own names."""

from __future__ import annotations

from .arguments import SECRETS
from .kinds import LARGEST, LATEST, SMALLEST, convert, engine_of
from .types import BANNER, GIVEN, HINT, PLAIN, Facts, FactValue

ARGUMENT_FACTS = frozenset(
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
_INHERITED = frozenset(
    ("vllm_version engine platform architecture torch_version cuda_version driver_version gpu_name gpu_count").split()  # noqa: SIM905
)
"""What a start whose own beginning is missing has of the one before, beside its arguments."""


class FactBook:
    """Facts of one server start.

    Where ranks or lines differ, the rule for the name decides (largest, smallest, first).
    """

    def __init__(self) -> None:
        self._values: dict[str, tuple[int, FactValue]] = {}
        self._arguments: Facts = {}
        self._gpus: set[str] = set()
        self._command = ""
        self._shortest = 0

    def attempt(self, length: str, tokens: str) -> None:
        """Note a context that did not fit, and the tokens that the KV cache held in that try.

        Of several tries in one text the one with the shortest context counts: without chunked prefill a shorter one leaves
        more for the cache. Ranks of one try have the same length, and the smallest cache counts.

        Args:
            length: ``max_model_len`` of the try, as captured; "" where the line does not tell it.
            tokens: What its KV cache held, likewise.
        """
        tried = int(length) if length.isdigit() else self._shortest
        if self._shortest and tried > self._shortest:
            return
        names = ("max_model_len", "max_len_that_fits", "kv_cache_tokens")
        if tried < self._shortest:
            for name in names:
                if self._values.get(name, (HINT, ""))[0] == PLAIN:
                    del self._values[name]
        self._shortest = tried
        for name, value in zip(names, (length, tokens, tokens), strict=True):
            self.set(name, value)

    def set(self, name: str, value: FactValue, worth: int = PLAIN) -> None:
        """Set one fact unless a better source has told it.

        Args:
            name: The fact.
            value: As captured; one that does not fit the fact's kind is left out.
            worth: That of its source, ``HINT`` to ``FINAL``.
        """
        value = convert(name, value)
        if value is None or value == "":
            return
        known = self._values.get(name)
        if known is None or worth > known[0]:
            self._values[name] = (worth, value)
            return
        if worth == known[0] and _wins(name, value, known[1]):
            self._values[name] = (worth, value)

    def argument(self, name: str, value: FactValue, better: bool = False) -> None:
        """Note an argument as it was given; the first source counts, or one that is ``better``."""
        if value is None:
            return
        if name in SECRETS:
            value = "<secret>"  # that one was given matters: without it the rebuilt command starts an open server
        if better:
            self._arguments[name] = value
        else:
            self._arguments.setdefault(name, value)

    def gpu(self, index: str) -> None:
        """Note a GPU that a table lists, by its number there."""
        self._gpus.add(index)

    def started_by(self, command: str) -> None:
        """Note the command line that started the server; the first one counts."""
        self._command = self._command or command

    def inherit(self, other: FactBook) -> None:
        """Take over how another start in the same log was configured, for one whose own beginning is missing."""
        for name, (_, value) in other._values.items():
            if name in ARGUMENT_FACTS or name in _INHERITED:
                self.set(name, value, HINT)
        self._arguments = dict(other._arguments)
        self._command = other._command

    def value(self, name: str) -> FactValue:
        """Return a fact as known so far, or None."""
        known = self._values.get(name)
        return None if known is None else known[1]

    def facts(self) -> Facts:
        """Return all facts known, by name."""
        for name, value in self._arguments.items():
            plain = value[0] if name == "served_model_name" and isinstance(value, list) and value else value
            if name in ARGUMENT_FACTS and not isinstance(plain, (dict, list)):
                self.set(name, plain, GIVEN)
        if str(self._values.get("quantization", (0, ""))[1]).lower() == "none":
            del self._values["quantization"]
        if self._gpus:
            self.set("gpu_count", len(self._gpus))
        if str(self._values.get("gpu_name", (0, ""))[1]).startswith("AMD "):
            self.set("platform", "rocm", BANNER)
        facts: Facts = {name: value for name, (_, value) in sorted(self._values.items())}
        if self._arguments:
            facts["arguments"] = dict(self._arguments)
        if self._command:
            facts["command"] = self._command
        era = engine_of(str(facts.get("vllm_version", "")))
        if era and self._values.get("engine", (HINT, ""))[0] == HINT:
            facts["engine"] = era
        return facts


def _wins(name: str, value: FactValue, known: FactValue) -> bool:
    """Return whether ``value`` replaces what a source of the same worth has told."""
    if name in LATEST:
        return True
    if not isinstance(value, (int, float)) or not isinstance(known, (int, float)):
        return False
    return (name in LARGEST and value > known) or (name in SMALLEST and value < known)
