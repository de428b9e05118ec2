"""How the lines that fact rules find are read: one function for each name that a rule's ``reader`` can have.

Most lines need none: their captures are facts of the same names.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ...corpus.types import Rule
from ..lines.types import Line
from . import arguments
from .book import ARGUMENT_FACTS, FactBook
from .continuation import unfinished
from .kinds import BACKENDS, CHOOSERS, PLATFORMS, PLUGINS
from .types import BANNER, FINAL, GIVEN, HINT, PLAIN, Captures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

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
        "disable_custom_all_reduce",
    ]
} | {"max_seq_len": "max_model_len"}
_ENGINE_OF_MODULE = {"core": "V1", "llm_engine": "V0"}


class Said:
    """A line that a fact rule found.

    Args:
        line: The line.
        captures: What the rule's expression captured.
    """

    __slots__ = ("captures", "line", "module")

    def __init__(self, line: Line, captures: Captures) -> None:
        self.line = line
        self.captures = captures
        self.module = line.source.rpartition("/")[2].partition(".")[0]
        """The module that wrote the line, without its folder; empty where the log does not tell."""

    def get(self, name: str) -> str:
        """Return a capture; empty where that part of the expression did not match."""
        return self.captures.get(name, "")

    def front(self) -> str:
        """Return what stands in front of the captured command and belongs to it."""
        command = self.get("command")
        return arguments.front_of(self.line.text.partition(command[:24])[0]) if command else ""


Reader: TypeAlias = Callable[[FactBook, Said], None]


def note(book: FactBook, rule: Rule, line: Line, captures: Captures) -> None:
    """Write into ``book`` what a line says that the fact rule ``rule`` found."""
    said = Said(line, captures)
    if said.module == "rocm":
        book.set("platform", "rocm", BANNER)
    if "EngineCore" in line.process:
        book.set("engine", "V1", HINT)
    elif line.process.startswith("VllmWorkerProcess"):
        book.set("engine", "V0", HINT)
    if rule.reader:
        READERS[rule.reader](book, said)
    else:
        _plain(book, said)


def _plain(book: FactBook, said: Said) -> None:
    for name, value in said.captures.items():
        if not name[-1].isdigit():
            book.set(name, value)


def _arguments(book: FactBook, said: Said) -> None:
    for name, value in arguments.table(said.get("table")).items():
        book.argument(name, value, better=True)


def _namespace(book: FactBook, said: Said) -> None:
    # All arguments, defaults included: all are facts, those that differ from the release's defaults were given.
    for name, value in arguments.pairs(said.get("table")):
        if name == "model_tag":
            # What stands at the command's end wins over the default of --model, which is printed later.
            book.set("model", value if value != "None" else "", GIVEN)
        elif name in ARGUMENT_FACTS and value != "None":
            book.set(name, value, GIVEN)
    from .defaults import given, namespace

    found = given(namespace(said.get("table")), str(book.value("vllm_version") or ""))
    for name in found:
        book.argument(name, found[name], better=True)


def _call(book: FactBook, said: Said) -> None:
    for name, value in arguments.call(said.get("table")).items():
        book.argument(name, value)


def _command(book: FactBook, said: Said) -> None:
    text = said.get("command").strip()
    command = arguments.cut_command(text)
    found = arguments.command_arguments(command)
    if unfinished("backslash", text):
        # The log ends before the command does: what is missing would be lost in a command made of the rest.
        book.set("model", dict(found).get("model", ""))
        return
    if found:
        book.started_by(said.front() + command)
    for name, value in found:
        book.argument(name, value)


def _listed_command(book: FactBook, said: Said) -> None:
    for name, value in arguments.word_arguments(arguments.listed_words(said.get("table"))):
        book.argument(name, value)


def _container_image(book: FactBook, said: Said) -> None:
    book.set("vllm_version", said.get("tag"), GIVEN)
    command = arguments.cut_command(said.get("command"))
    front = said.front()
    if command and " run " in front:
        book.started_by(front + command)
    _container_arguments(book, said)


def _container_arguments(book: FactBook, said: Said) -> None:
    for name, value in arguments.command_arguments(arguments.cut_command(said.get("command"))):
        book.argument(name, value)


def _engine_config(book: FactBook, said: Said) -> None:
    if version := said.get("vllm_version"):
        book.set("vllm_version", version, BANNER)
    # Up to 0.7.0 the line does not say which engine; the module that wrote it does.
    book.set("engine", said.get("engine") or _ENGINE_OF_MODULE.get(said.module, ""), BANNER)
    table = said.get("table")
    for name, value in arguments.pairs(table.partition("config:")[2] or table):
        _banner_setting(book, name, value)


def _banner_setting(book: FactBook, name: str, value: str) -> None:
    fact = _BANNER_NAMES.get(name)
    if name == "device_config" and value in PLATFORMS:
        book.set("platform", value, PLAIN)
    elif name == "quantization" and value == "None":
        book.set("quantization", "none", BANNER)
    elif fact and value != "None":
        book.set(fact, value.removeprefix("torch.") if fact == "dtype" else value, BANNER)


def _engine_v0(book: FactBook, _: Said) -> None:
    book.set("engine", "V0")


def _engine_v1(book: FactBook, _: Said) -> None:
    book.set("engine", "V1")


def _rocm(book: FactBook, _: Said) -> None:
    book.set("platform", "rocm", BANNER)


def _platform_plugin(book: FactBook, said: Said) -> None:
    name = said.get("plugin").lower()
    book.set("platform", PLUGINS.get(name, name), BANNER)


def _attention_words(book: FactBook, said: Said) -> None:
    name = re.sub(r"[^a-z0-9]", "", said.get("attention_name").lower())
    if said.module in CHOOSERS and name in BACKENDS:
        book.set("attention_backend", BACKENDS[name])


def _attention_name(book: FactBook, said: Said) -> None:
    if said.module in CHOOSERS:
        book.set("attention_backend", said.get("attention_backend"))


def _listed_gpu(book: FactBook, said: Said) -> None:
    book.set("gpu_name", said.get("gpu_name").partition(" (")[0])
    book.gpu(said.get("gpu_index"))


def _different_gpus(book: FactBook, said: Said) -> None:
    names = [name.strip() for name in said.get("names").split(",")][:64]
    book.set("gpu_name", names[0], GIVEN)
    book.set("gpu_count", len(names), GIVEN)


def _device_file(book: FactBook, said: Said) -> None:
    book.set("gpu_name", said.get("gpu_name").replace("_", " "), GIVEN)


def _driver_table(book: FactBook, said: Said) -> None:
    book.set("driver_version", said.get("driver_version"))
    # What the driver supports at most; the runtime's own version is said elsewhere, or nowhere.
    book.set("cuda_version", said.get("cuda_version"), GIVEN)


def _torch_build(book: FactBook, said: Said) -> None:
    version = said.get("torch_version")
    book.set("torch_version", version)
    if found := re.search(r"\+cu(\d\d)(\d)", version):
        book.set("cuda_version", f"{found[1]}.{found[2]}", HINT)


def _weights_took(book: FactBook, said: Said) -> None:
    # Up to 0.7.3 this line gave the size, since 0.8.0 the time.
    book.set("weights_seconds" if said.get("unit") == "seconds" else "weights_gib", said.get("weights_gib_old"))


def _memory_profile(book: FactBook, said: Said) -> None:
    for name, value in said.captures.items():
        if not name[-1].isdigit():
            # The size that loading told is the more exact one.
            book.set(name, value, GIVEN if name == "weights_gib" else PLAIN)


def _concurrency(book: FactBook, said: Said) -> None:
    book.set("kv_cache_tokens", said.get("kv_cache_tokens"))
    book.set("max_concurrency", said.get("max_concurrency"))
    book.set("max_model_len", said.get("concurrency_len"), GIVEN)


def _cache_tokens(book: FactBook, said: Said) -> None:
    book.attempt(said.get("max_model_len"), said.get("max_len_that_fits"))


def _auto_fit(book: FactBook, said: Said) -> None:
    book.set("max_len_that_fits", said.get("max_len_that_fits"))
    book.set("max_model_len", said.get("max_len_that_fits"), FINAL)


READERS: dict[str, Reader] = {
    "arguments": _arguments,
    "namespace": _namespace,
    "command": _command,
    "listed_command": _listed_command,
    "container_image": _container_image,
    "container_arguments": _container_arguments,
    "call": _call,
    "engine_config": _engine_config,
    "engine_v0": _engine_v0,
    "engine_v1": _engine_v1,
    "rocm": _rocm,
    "platform_plugin": _platform_plugin,
    "attention_words": _attention_words,
    "attention_name": _attention_name,
    "listed_gpu": _listed_gpu,
    "different_gpus": _different_gpus,
    "device_file": _device_file,
    "driver_table": _driver_table,
    "torch_build": _torch_build,
    "weights_took": _weights_took,
    "memory_profile": _memory_profile,
    "concurrency": _concurrency,
    "cache_tokens": _cache_tokens,
    "auto_fit": _auto_fit,
}
"""By the names of ``corpus.fact_keys.READERS``."""
