"""Rows from the catalogue of messages: what the packages around vLLM print, and frames alone, where words say nothing."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from ....corpus.messages import Row as Message
from ...examples.row import Row
from .label import BESIDE, BY_READING, LEAST, by_place
from .stacks import above

BY_MODULE, FRAMES_ALONE = 0.22, 0.22
"""Weights of a label by the module alone: of a message that nobody has read, and of an error of Python's own."""
DRAWN = 0.25
"""Share of the messages that nobody has read: what their modules say takes few of them."""
ROOT = '  File "/opt/venv/lib/python3.12/site-packages/'
FOLDERS = {
    "flashinfer-python": "flashinfer", "compressed-tensors": "compressed_tensors", "mistral-common": "mistral_common",
    "lm-format-enforcer": "lmformatenforcer", "openai-harmony": "openai_harmony", "pyzmq": "zmq", "vllm-ascend": "vllm_ascend",
    "vllm-spyre": "vllm_spyre", "mooncake-transfer-engine": "mooncake",
}  # fmt: skip
"""Where the folder of a package has another name than its distribution."""
NATIVE = frozenset({"cuda", "nccl", "nixl", "python"})
"""What has no module that a traceback would name."""
NUMBERS = re.compile(
    r"(?:num|len|size|count|rank|max|min|world|bits|bytes|memory|port|timeout|dim|got|code)[\w ]*\W{0,3}$"
)
WORDS = ("harbor", "bfloat16", "layers.0.mlp", "auto", "cuda", "None", "qwen3", "fp8", "default", "/data/models/harbor")
FIGURES = ("0", "1", "2", "3", "8", "64", "4096", "131072")
NAMES = ("hidden_states", "config", "scale", "layer", "kwargs", "mask", "positions", "cache", "request", "value", "x")
METHODS = ("forward", "load", "update", "build", "get", "run", "process")
PYTHONS = (
    "TypeError: {method}() got an unexpected keyword argument '{name}'",
    "TypeError: {method}() missing 1 required positional argument: '{name}'",
    "TypeError: {method}() takes {figure} positional arguments but {figure} were given",
    "TypeError: 'NoneType' object is not subscriptable",
    "TypeError: 'NoneType' object is not iterable",
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
    "TypeError: unhashable type: 'list'",
    "AttributeError: 'NoneType' object has no attribute '{name}'",
    "AttributeError: 'dict' object has no attribute '{name}'",
    "AttributeError: '{name}' object has no attribute '{name}'",
    "KeyError: '{name}'",
    "KeyError: {figure}",
    "IndexError: list index out of range",
    "ValueError: not enough values to unpack (expected {figure}, got {figure})",
    "ValueError: too many values to unpack (expected {figure})",
    "ValueError: {figure} is not in list",
    "UnboundLocalError: cannot access local variable '{name}' where it is not associated with a value",
    "NameError: name '{name}' is not defined",
    "ZeroDivisionError: integer division or modulo by zero",
    "RuntimeError: shape '[{figure}, {figure}]' is invalid for input of size {figure}",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied ({figure}x{figure} and {figure}x{figure})",
    "RuntimeError: The size of tensor a ({figure}) must match the size of tensor b ({figure}) at non-singleton dimension {figure}",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "AssertionError",
)  # fmt: skip
"""What Python and torch say whatever the code is about."""


def message_rows(messages: Iterable[Message], known: Collection[str], salt: int) -> Iterator[Row]:
    """Yield the rows of messages that the releases did not yield.

    Args:
        messages: The catalogue.
        known: Groups of the rows of releases: the longest literal piece of a message each.
        salt: Seed; each message draws by itself.
    """
    for message in messages:
        piece = max((" ".join(part.split()) for part in message.template.split("{}")), key=len)
        weight = {"read": BY_READING, "rule": BY_READING, "place": BY_MODULE}[message.label.by]
        if piece in known or len(piece) < LEAST or (message.package == "vllm" and message.label.by == "place"):
            continue
        bucket, cause = message.label.bucket, message.label.cause
        group = f"{message.package}: {piece}"
        seed = random.Random(f"{salt}:{message.package}:{message.template}")  # noqa: S311 (nothing is secret here)
        text = filled(message.template, seed)
        if message.label.by == "place" and (
            bucket in ("unknown", "no_failure") or message.kind == "log" or seed.random() >= DRAWN
        ):
            continue
        if message.kind == "log" and (bucket == "no_failure" or message.name in ("WARNING", "INFO")):
            shown = f"{message.name or 'WARNING'} 11-02 10:00:00 [{_file(message.path)}:{seed.randint(1, 999)}] {text}"
            yield Row(shown, bucket, group, "healthy", _release(message), "", 0.3 * weight)
            continue
        weight = BESIDE if message.label.fatal == "never" else weight
        cause = "" if message.label.by == "place" or bucket == "no_failure" else cause
        yield Row(_shown(message, text, seed), bucket, group, "release", _release(message), "", weight, cause)


def frame_rows(messages: Iterable[Message], salt: int) -> Iterator[Row]:
    """Yield an error of Python's own in each of vLLM's modules: there only the place can tell the bucket.

    Args:
        messages: The catalogue, for its modules and functions.
        salt: Seed; each module draws by itself.
    """
    functions: dict[str, set[str]] = defaultdict(set)
    first: dict[str, str] = {}
    for message in messages:
        if message.package == "vllm" and message.kind in ("raise", "assert", "log"):
            functions[message.path].add(message.function)
            first.setdefault(message.path, message.first)
    for path, names in sorted(functions.items()):
        seed = random.Random(f"{salt}:{path}")  # noqa: S311
        function, error = seed.choice(sorted(names)), _python(seed)
        bucket = by_place(f"vllm/{path}.py", "AssertionError" if error == "AssertionError" else "")
        if path.startswith("entrypoints/") and bucket == "invalid_argument":
            # What Python itself raises there is no refusal of what somebody asked for.
            bucket = "engine_bug"
        if bucket and bucket != "unknown":
            here = f'{ROOT}vllm/{path}.py", line {seed.randint(20, 2000)}, in {function}\n'
            text = f"Traceback (most recent call last):\n{above(seed)}{here}{_code(seed)}{error}"
            yield Row(text, bucket, f"frames: {path}", "release", first[path], "", FRAMES_ALONE)


def filled(template: str, seed: random.Random) -> str:
    """Return a message with values in its slots."""
    pieces = template.split("{}")
    text = pieces[0]
    for piece in pieces[1:]:
        text += seed.choice(FIGURES if NUMBERS.search(text[-24:].lower()) else WORDS) + piece
    return text


def _shown(message: Message, text: str, seed: random.Random) -> str:
    if message.kind == "log":
        return f"{message.name} 11-02 10:00:00 [{_file(message.path)}:{seed.randint(1, 999)}] {text}"
    kind = "AssertionError" if message.kind == "assert" else message.name or "RuntimeError"
    if message.kind == "argparse":
        return f"vllm serve: error: {text}"
    if message.kind in ("answer", "native") or message.package in NATIVE:
        return f"{kind}: {text}" if message.kind == "native" else text
    folder = FOLDERS.get(message.package, message.package)
    here = f'{ROOT}{folder}/{message.path}.py", line {seed.randint(20, 2000)}, in {message.function}\n'
    return f"Traceback (most recent call last):\n{above(seed)}{here}    raise {kind}(\n{kind}: {text}"


def _file(path: str) -> str:
    return f"{path.rpartition('/')[2]}.py"


def _release(message: Message) -> str:
    # Of other packages the newest release alone was read: their words belong to no release of vLLM's.
    return message.first if message.package == "vllm" else ""


def _python(seed: random.Random) -> str:
    text = seed.choice(PYTHONS)
    for slot, choices in (("{method}", METHODS), ("{name}", NAMES), ("{figure}", FIGURES)):
        while slot in text:
            text = text.replace(slot, seed.choice(choices), 1)
    return text


def _code(seed: random.Random) -> str:
    if seed.random() < 0.3:
        return ""
    return f"    {seed.choice(NAMES)} = self.{seed.choice(METHODS)}({seed.choice(NAMES)}, {seed.choice(NAMES)})\n"
