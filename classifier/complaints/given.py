"""Complaints that are found by what was given: what the words name in another way, and settings that show by what came of them."""

from __future__ import annotations

import math
import re

from ..patterns.lazy import LazyPattern
from .case import Case, Complaint, of_words

_RELATION = LazyPattern(
    r"(?<![a-z])(?P<first>[a-z]{1,30}(?:_[a-z]{1,30}){1,8}) ?[(=:]? ?(?P<value>\d{1,18})\)? (?:must|should|needs to) be (?P<sign>>=|<=|greater than or equal to|at least|"
    r"less than or equal to|at most|no (?:more|less) than) (?P<second>[a-z]{1,30}(?:_[a-z]{1,30}){1,8}) ?[(=:]? ?(?P<other>\d{1,18})"
)
_DIVISOR = LazyPattern(
    r"(?<!\d)(?P<whole>\d{1,18})\)? must be divisible by (?P<size>[a-z_]{1,60}) ?[=(] ?(?P<value>\d{1,18})"
)
_SIZES = {
    "tp_size": "tensor_parallel_size", "pp_size": "pipeline_parallel_size", "dp_size": "data_parallel_size",
    "dcp_size": "decode_context_parallel_size", "pcp_size": "prefill_context_parallel_size",
}  # fmt: skip
_MISSING_KEY = LazyPattern(
    r"specify (?P<key>\w+) when (?P<other>\w+) is set, supported \w+ are (?P<list>[(\[{][^)\]}\n]{1,400})"
)
_MISSING_COUNT = LazyPattern(r"\bnum_speculative_tokens must be provided\b")
FIRST_DRAFT = "3"
"""Tokens to draft where nothing says how many: few enough that a poor acceptance costs little."""
_ATTRIBUTE = LazyPattern(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_REFUSES = LazyPattern(
    r"[Uu]nsupported|not (?:\w+ ){0,2}supported|[Uu]nknown|[Ii]nvalid|KeyError|not found|no such", re.IGNORECASE
)
_QUOTED = LazyPattern(r"['\"`]([\w./-]{2,100})['\"`]|(?<=type: )([\w./-]{2,100})")
_BAD_JSON = LazyPattern(
    r"[Ii]nvalid JSON (?:format |value |string )?(?:for|in) (?P<name>--[a-z][a-z-]+): (?P<given>.+)"
)
_UNSUPPORTED = LazyPattern(
    r"not (?:yet |currently )?(?:supported|compatible|available|implemented)|unsupported|only supported|must be greater than 0 when"
)
_ABSENT = LazyPattern(
    r"[Nn]o such file|does not exist|doesn't exist|not (?:be )?found|is not a (?:local|valid)|Invalid repository ID|[Cc]an't (?:load|find)|"
    r"[Uu]nable to read|must be (?:an? )?(?:existing )?(?:directory|file|path)|does not appear to|Repo id must|Not a directory"
)
"""How messages say that a file or folder is not there."""
_PLACE = LazyPattern(r"[/~]|\.{1,2}/|.*\.(?:json|ya?ml|jinja2?|py|txt|gguf)$")
"""Values that name a file or folder; ``org/name`` names a repository."""
_NOT_OURS = ("--model", "--ssl", "--lora-modules", "--hf-token", "--api-key", "--config")
"""Settings that nothing takes the place of, or that guard the server."""
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


def of_json(case: Case) -> list[Complaint]:
    """Return the option of which the message quotes the whole value as broken JSON."""
    found = _BAD_JSON.search(case.text)
    return [Complaint(found["name"], found["given"].strip(), kind="json")] if found else []


def of_path(case: Case) -> list[Complaint]:
    """Return the one setting whose file or folder is not there, where the message quotes its path."""
    if not _ABSENT.search(case.text):
        return []
    given = {f"--{name.replace('_', '-')}": value for name, value in case.arguments.items()} | case.variables
    named = [
        Complaint(name, value, kind="path")
        for name, value in given.items()
        if isinstance(value, str) and len(value) > 3 and _mentions(case.text, value)
    ]
    return named if len(named) == 1 and not named[0].name.startswith(_NOT_OURS) else []


def of_quoted(case: Case) -> list[Complaint]:
    """Return the key of a JSON value whose own value the message refuses in quotes."""
    if not _REFUSES.search(case.text):
        return []
    quoted = {word for pair in _QUOTED.made.findall(case.text) for word in pair if word}
    found = [
        Complaint(f"--{name.replace('_', '-')}.{key}", str(value[0] if isinstance(value, list) else value), kind="type")
        for name, table in case.arguments.items()
        if isinstance(table, dict)
        for key, value in table.items()
        if (isinstance(value, str) and value in quoted)
        or (isinstance(value, list) and len(value) == 1 and value[0] in quoted)
    ]
    return found if len(found) == 1 else []


def of_missing_key(case: Case) -> list[Complaint]:
    """Return the key that a JSON value lacks, with the values that the message lists for it, or one to begin with."""
    if _MISSING_COUNT.search(case.text) and isinstance(case.arguments.get("speculative_config"), dict):
        return [Complaint("--speculative-config.num_speculative_tokens", "", (FIRST_DRAFT,), kind="added")]
    found = _MISSING_KEY.search(case.text)
    if found is None:
        return []
    holders = [name for name, table in case.arguments.items() if isinstance(table, dict) and found["other"] in table]
    if len(holders) != 1:
        return []
    allowed = tuple(re.findall(r"'([\w.-]{1,60})'", found["list"]))
    return [Complaint(f"--{holders[0].replace('_', '-')}.{found['key']}", "", allowed, kind="added")]


def of_attribute(case: Case) -> list[Complaint]:
    """Return the option that names a class which its module does not have."""
    found = _ATTRIBUTE.search(case.text)
    if found is None:
        return []
    whole = (f"{found['module']}.{found['name']}", f"{found['module']}:{found['name']}")
    named = [name for name, value in case.arguments.items() if value in whole]
    return (
        [Complaint("--" + named[0].replace("_", "-"), str(case.arguments[named[0]]), kind="type")]
        if len(named) == 1
        else []
    )


def of_divisor(case: Case) -> list[Complaint]:
    """Return the size that does not divide another one: the largest that does, and is not above it, takes its place."""
    found = _DIVISOR.search(case.text)
    if found is None or not (option := of_words(_SIZES.get(found["size"], found["size"]), case)):
        return []
    size, whole = int(found["value"]), int(found["whole"])
    if not size or str(case.arguments.get(option[2:].replace("-", "_"))) != str(size):
        return []
    return [Complaint(option, str(size), (str(math.gcd(size, whole)),), kind="bound")]


def of_relation(case: Case) -> list[Complaint]:
    """Return the setting that must not be above, or below, another: the one that was given takes the other's value."""
    found = _RELATION.search(case.text)
    if found is None:
        return []
    name, given, bound = found["first"], found["value"], found["other"]
    if name not in case.arguments and found["second"] in case.arguments:
        name, given, bound = found["second"], bound, given
    option = of_words(name, case)
    return [Complaint(option, given, (bound,), kind="bound")] if option else []


def of_feature(case: Case) -> list[Complaint]:
    """Return the one switch whose feature the message calls unsupported: ``enable_sleep_mode`` for 'sleep mode'."""
    if not _UNSUPPORTED.search(case.text):
        return []
    plain = re.sub(r"[\s_-]+", " ", case.text.lower())
    named = [
        name for name, value in case.arguments.items()
        if value is True and (words := name.removeprefix("enable_").replace("_", " ")) in plain and " " in words
    ]  # fmt: skip
    return [Complaint("--" + named[0].replace("_", "-"), "unsupported", kind="none")] if len(named) == 1 else []


def _mentions(text: str, value: str) -> bool:
    """Return whether a text names a value that looks like a file or folder."""
    return _PLACE.match(value) is not None and re.search(rf"(?<![\w./-]){re.escape(value)}(?![\w/-])", text) is not None


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
