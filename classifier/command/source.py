"""Where the start command of a log comes from: the user, a command line, the arguments that vLLM lists, or its configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ...corpus import options
from ..patterns.lazy import LazyPattern
from .parts import Part
from .start import Start, read_words
from .words import Word, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..facts.types import Facts, FactValue
    from ..incidents.types import Incident
    from .start import Start

_LORA = LazyPattern(r"LoRAModulePath\(name='([^']+)', path='([^']+)'")
_OBJECT = LazyPattern(r"\b[A-Z]\w+\(\w+=|<[\w.]+ object|<\w+\.\w+: ")
_MANIFEST = LazyPattern(r"(?m)^[ \t]*(?:-[ \t]+)?[\"']?(?:command|args|entrypoint)[\"']?[ \t]*:(?:[ \t]|$)")

# Told by vLLM among the arguments as given, but no flag of its own, or said by the model's place in the command.
_NO_FLAGS = frozenset({"model", "model_tag", "subparser", "dispatch_function", "config", "command"})

# Of the engine's configuration line: what is worth a flag, and the value that needs none.
_CONFIGURED: tuple[tuple[str, object], ...] = (
    ("tokenizer", "model"), ("served_model_name", "model"), ("dtype", "auto"), ("max_model_len", None),
    ("kv_cache_dtype", "auto"), ("tensor_parallel_size", 1), ("pipeline_parallel_size", 1), ("data_parallel_size", 1),
    ("enforce_eager", False), ("trust_remote_code", False),
)  # fmt: skip


def start_of(facts: Mapping[str, object]) -> tuple[Start | None, str]:
    """Return the start command and what it was made of (``command``, ``arguments``, ``configuration``), if anything."""
    command = facts.get("command")
    arguments = facts.get("arguments")
    start = read_text(command) if isinstance(command, str) and command else None
    if start is not None and not (isinstance(arguments, dict) and _of_another(start, arguments)):
        return start, "command"
    if isinstance(arguments, dict) and arguments:
        words = _of_arguments(arguments, facts)
        return (read_words(words), "arguments") if words else (None, "")
    words = _of_configuration(facts)
    return (read_words(words), "configuration") if words else (None, "")


def _of_another(start: Start, arguments: Mapping[str, object]) -> bool:
    """Return whether a command is not that of the server whose arguments the log lists: a paste may show two."""
    model, given = start.model(), arguments.get("model") or arguments.get("model_tag")
    return model is not None and isinstance(given, str) and "$" not in model.value and model.value != given


def read_text(text: str) -> Start | None:
    """Read a command as a person gives it: a shell's, a list of words, a compose file, a manifest; else None."""
    if _MANIFEST.search(text):
        from .manifest import read_manifest

        return read_manifest(text.strip("\n"))
    text = text.strip()
    try:
        if text.startswith("["):
            from ..facts.arguments import listed_words

            listed = listed_words(text)
            return read_words([Word(word) for word in listed], bare=True) if listed else None
        return read_words(split(text))
    except ValueError:
        return None


def _of_arguments(arguments: Mapping[str, object], facts: Mapping[str, object]) -> list[Word]:
    model = arguments.get("model") or arguments.get("model_tag") or facts.get("model")
    if not model:
        return []
    values = ["vllm", "serve", str(model)]
    release = str(facts.get("vllm_version") or facts.get("assumed_release") or "")
    for name, value in arguments.items():
        if name in _NO_FLAGS:
            continue
        if name == "lora_modules" and (pairs := _LORA.made.findall(str(value))):
            values += ["--lora-modules", *(f"{adapter}={path}" for adapter, path in pairs)]
        elif not isinstance(value, dict) and _OBJECT.search(str(value)):
            return []  # a Python object's repr: no command line can be made of it
        else:
            try:
                values += _flag(str(name), value, release)
            except (TypeError, ValueError):
                return []
    # What the log quotes of a call may be a part of it; how many GPUs the engine runs on, its configuration tells.
    for name in ("tensor_parallel_size", "pipeline_parallel_size"):
        degree = facts.get(name)
        if name not in arguments and isinstance(degree, int) and degree > 1:
            values += _flag(name, degree)
    return [Word(value) for value in values]


def _of_configuration(facts: Mapping[str, object]) -> list[Word]:
    """Make a command of the resolved configuration; that names no option of the server itself."""
    model = facts.get("model")
    if not model or not facts.get("max_model_len"):
        return []
    values = ["vllm", "serve", str(model)]
    for name, usual in _CONFIGURED:
        value = facts.get(name)
        if value is not None and value != (model if usual == "model" else usual):
            values += _flag(name, value)
    return [Word(value) for value in values]


def _flag(name: str, value: object, release: str = "") -> list[str]:
    """Return an argument as words of a command, in the way that the release takes it; none where no words say it."""
    flag = "--" + name.replace("_", "-")
    if value is None:
        return []
    if isinstance(value, bool):
        return _switch(flag, value, release)
    if isinstance(value, dict):
        # A configuration that the log prints whole has every field in it: what is nothing was not set.
        return [flag, json.dumps(_set_in(value), ensure_ascii=False)]
    if isinstance(value, (list, tuple)):
        if _kind(flag, release) == "json":
            return [flag, json.dumps(list(value), ensure_ascii=False)]
        items = [
            json.dumps(item, ensure_ascii=False) if isinstance(item, (dict, list)) else str(item) for item in value
        ]
        return [flag, *items] if items else []
    # An argument that begins with a dash would be taken for an option.
    text = str(value)
    return [f"{flag}={text}"] if text.startswith("-") and not isinstance(value, (int, float)) else [flag, text]


def _set_in(table: Mapping[str, object]) -> dict[str, object]:
    told = {key: _set_in(value) if isinstance(value, dict) else value for key, value in table.items()}
    return {key: value for key, value in told.items() if value not in (None, "", {})}


def _switch(flag: str, value: bool, release: str) -> list[str]:
    from ...corpus import options

    option = options.describe(flag, release) if release else None
    if option is not None and option.kind == "bool":
        return [flag, "true" if value else "false"]
    if value:
        return [flag]
    return [] if option is not None and not option.negated else ["--no-" + flag[2:]]


def _kind(flag: str, release: str) -> str:
    from ...corpus import options

    option = options.describe(flag, release) if release else None
    return option.kind if option is not None else ""


NO_START = "--command was left out: it starts no vLLM. Give a `vllm serve` or `docker run` command, or a manifest."


def know_command(incidents: Iterable[Incident], command: str) -> str:
    """Enter a start command into the facts of all starts of a log; return the note for the user where it is none.

    What vLLM itself lists of the arguments stays: it is what arrived.
    """
    start = read_text(command)
    if start is None:
        return NO_START
    for incident in incidents:
        facts = incident.facts
        release = str(facts.get("vllm_version") or options.releases()[-1])
        told = facts.get("arguments")
        facts["command"] = command
        joined = _joined(given_arguments(start, release), told if isinstance(told, dict) else {})
        if (named := start.model()) and ("model" in joined or "model_tag" in joined):
            # Who says what was run is believed: the log may hold another server's arguments.
            joined = {**{name: value for name, value in joined.items() if name != "model_tag"}, "model": named.value}
        facts["arguments"] = joined
        if model := start.model():
            facts.setdefault("model", model.value)
    return ""


def _joined(given: Facts, told: Facts) -> Facts:
    """Return what was given, with vLLM's own values but for objects of which it prints their Python form."""
    objects = {
        name for name, value in given.items() if isinstance(value, dict) and not isinstance(told.get(name), dict)
    }
    return {**given, **{name: value for name, value in told.items() if name not in objects}}


def given_arguments(start: Start, release: str) -> Facts:
    """Return the arguments of a start command by name with underscores, typed as the release's parser types them."""
    found: Facts = {}
    for part in start.others():
        name = part.name.lstrip("-").replace("-", "_")
        if "." not in name:
            found[name] = _value(part, release)
    return found


def _value(part: Part, release: str) -> FactValue:
    if not part.values:
        return not part.negative
    texts = [word.value for word in part.values]
    if len(texts) > 1:
        return list(texts)
    about = options.describe(part.name, release)
    text, kind = texts[0], about.kind if about is not None else ""
    try:
        if kind == "json" or text.startswith(("{", "[")):
            value: FactValue = json.loads(text)
            return value
        if kind in ("int", "float") or not kind:
            return float(text) if "." in text else int(text)
    except (ValueError, RecursionError):
        pass  # that is what the error is about
    return text
