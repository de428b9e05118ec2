"""An error with the start that it refused, what it finds fault with, and how the words of errors name settings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...corpus import options
from ...corpus.actions import Action
from ...corpus.records import Record, record
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incidents.types import Incident
    from ..matching.types import Hit

FOLLOWING = 4
"""Lines after an error's own that belong to it (an error of argparse that goes on as pydantic's does)."""
LONGEST = 8000
"""Characters of an error that are read."""


class Case:
    """An error, and the start that it refused.

    Attributes:
        text: The error's lines.
        code: The lines of source code in its stack, innermost last.
        captures: What the deciding rule captured.
        arguments: As given, by name with underscores.
        facts: Of the server start.
        release: The one whose options count.
        variables: Set in the start command, by name.
    """

    __slots__ = ("_complaints", "arguments", "captures", "code", "facts", "release", "text", "variables")

    def __init__(
        self,
        text: str,
        facts: Mapping[str, object],
        release: str,
        captures: Mapping[str, object] | None = None,
        code: str = "",
    ) -> None:
        self.text = text[:LONGEST]
        self.code = code
        self.captures = dict(captures or {})
        self.facts = facts
        given = facts.get("arguments")
        self.arguments: dict[str, object] = dict(given) if isinstance(given, dict) else {}
        self.release = release
        self.variables = _variables(str(facts.get("command") or ""))
        self._complaints: list[Complaint] | None = None

    @property
    def complaints(self) -> list[Complaint]:
        """What the error finds fault with; empty where it does not say, or in words that are not known."""
        if self._complaints is None:
            from .read import read

            self._complaints = read(self)
        return self._complaints

    @classmethod
    def of(cls, hit: Hit | None, incident: Incident, release: str) -> Case:
        """Gather the words of the deciding hit: its exception with all lines, or its line with those around it."""
        if hit is None:
            return cls("", incident.facts, release)
        trace = hit.trace
        code = "\n".join(frame.code for frame in trace.frames[-4:]) if trace is not None else ""
        parts: list[str] = []
        if trace is not None:
            parts.append(f"{trace.kind}: {trace.message}")
        if trace is None or hit.line.text.strip() not in parts[0]:
            around = incident.contexts.lines(hit.line.number)
            before = [text for number, text, _ in around if hit.line.number - 3 < number < hit.line.number]
            after = [text for number, text, _ in around if 0 < number - hit.line.number <= FOLLOWING]
            parts += [*_heading(before), hit.line.text, *_continued(after)]
        return cls("\n".join(parts), incident.facts, release, hit.captures, code)


def _heading(lines: list[str]) -> list[str]:
    """Return the lines before that begin the same error: ``N validation errors for X``, and the field's name."""
    for place, text in enumerate(lines):
        if "validation error" in text:
            return lines[place:]
    return []


def _continued(lines: list[str]) -> list[str]:
    """Return the lines after that go on with the same error; ended by whatever looks like another line of a log."""
    found: list[str] = []
    for text in lines:
        if not text.strip() or text.startswith(("Traceback", "usage:", "INFO", "WARNING", "ERROR", "(", "[")):
            break
        found.append(text)
    return found


def _variables(command: str) -> dict[str, str]:
    """Return the variables that a start command sets."""
    if "=" not in command:
        return {}
    from ..command.source import read_text

    start = read_text(command)
    return {name: word.value for name, word in start.variables()} if start is not None else {}


@record(frozen=True, slots=True)
class Complaint(Record):
    """What was refused, and what would have been accepted."""

    name: str
    """The option (``--dtype``, with the key of a JSON value behind a dot) or the variable."""
    given: str = ""
    """The value that was refused; "" where the message does not quote it."""
    allowed: tuple[str, ...] = ()
    """All that is accepted, where it is a list."""
    kind: str = ""
    """What is accepted otherwise: ``int``, ``float``, ``bool``, ``json``, ``switch``, ``type`` (of another type), ``value`` (one is missing), ``none``
    (it may not stand there), ``path`` (the file in ``given`` is not there), ``added`` (a key that is missing), ``bound`` (it takes the
    value in ``allowed``, another setting's), ``needs`` (it wants the option in ``given`` beside it), ``set`` (the
    message tells to set it to ``given``)."""
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    """Whether ``low`` itself is refused."""
    open_high: bool = False

    @property
    def variable(self) -> bool:
        """Whether it is a variable of the environment."""
        return not self.name.startswith("-")


@record(frozen=True)
class Change(Record):
    """One correction."""

    title: str
    put: tuple[Action, ...]
    """What to set; nothing where something is only left out."""
    dropped: tuple[Action, ...]
    """What is left out; nothing where nothing is."""
    why: str
    option: str
    value: str = ""
    env: bool = False


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
