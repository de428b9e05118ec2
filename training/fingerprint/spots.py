"""Which files of a release tracebacks go through, and which of their lines a frame can name."""

from __future__ import annotations

import re
from typing import NamedTuple

_FILES = re.compile(
    r"vllm/(?:"
    # From the command to the engine …
    r"__init__|scripts|utils|config|sequence|connections"
    r"|(?:engine|inputs|renderers|plugins|platforms|core)/.+|(?:config|transformers_utils|utils)/[a-z_]+"
    r"|entrypoints/(?!cli/benchmark/|openai/tool_parsers/).+"
    # … to the workers and what they load and run …
    r"|v1/(?:engine|executor|core|structured_output|sample)/.+|v1/(?:worker/)?[a-z_]+|v1/worker/gpu/(?:model_runner|[a-z]+)"
    r"|(?:executor|worker|compilation|multimodal|lora|device_allocator)/[a-z_]+"
    r"|distributed/(?:device_communicators/)?[a-z_]+|attention/(?:layer|selector)"
    # … and the parts of models that most models share.
    r"|model_executor/(?:model_loader/)?[a-z_]+"
    r"|model_executor/models/(?:llama|qwen2|qwen3|opt|utils|transformers|registry|vision|adapters)"
    r"|model_executor/layers/(?:linear|layernorm|vocab_parallel_embedding|fused_moe/layer|quantization/(?:__init__|fp8))"
    r")\.py"
)
_ASIDE = re.compile(
    r"/(?:tpu|hpu|xpu|neuron|openvino|video|audio)[a-z_0-9]*\.py$|/(?:tests|protocol|datasets|mcp|sagemaker)\b|_protocol\.py$"
)
_UNSERVED = re.compile(r"/(?:benchmarks?|tests?|third_party|examples|tools)/|/collect_env\.py$")
_CALL = re.compile(r"(?:\b(\w+)|[\])])\(")
_CHEAP = frozenset([
    "isinstance", "len", "str", "int", "float", "bool", "min", "max", "range", "print", "getattr", "hasattr",
    "list", "tuple", "set", "dict", "sum", "any", "all", "enumerate", "zip", "sorted", "repr", "field", "Field",
    "cast", "Optional", "if", "and", "or", "not", "in", "is", "return", "for", "elif", "while", "assert", "lambda",
    "logger",
])  # fmt: skip
"""Names before a parenthesis that hardly ever stand in a frame: nothing is called, or nothing that raises."""
_RAISE = re.compile(r"raise\b|assert\b|await\b|yield\b")
_LOGGING = re.compile(r"(?:self\.)?_?log(?:ger)?\.\w+\(")
_DEF = re.compile(r"(?:async )?def (\w+)\(")


class Spot(NamedTuple):
    """A line that a frame can name, or the first line of a function."""

    text: str
    """The line's code; the name of a function."""
    function: bool


def is_trunk(path: str) -> bool:
    """Return whether tracebacks of a server go through the file at ``path`` (``vllm/v1/engine/core.py``)."""
    return _FILES.fullmatch(path) is not None and _ASIDE.search(path) is None


def is_served(path: str) -> bool:
    """Return whether a server runs code of the file at ``path``: not that of tests, benchmarks and examples."""
    return path.startswith("vllm/") and path.endswith(".py") and _UNSERVED.search(path) is None


def spot_of(line: str) -> Spot | None:
    """Return what a line of a file is to a traceback; None where no frame can name it."""
    code = line.strip()
    if not code or code[0] in "#\"'@)]}":
        return None
    found = _DEF.match(code)
    if found:
        return Spot(found[1], True)
    if _LOGGING.match(code):
        return None
    if _RAISE.match(code) or any(name not in _CHEAP for name in _CALL.findall(code)):
        return Spot(code, False)
    return None
