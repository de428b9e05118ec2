"""The corrected start as Python: ``LLM(...)`` with the engine's arguments; the server's own stand as remarks."""

from __future__ import annotations

from collections.abc import Iterable

from ..patterns.lazy import LazyPattern
from .parts import Flag, Part, flag, json_value
from .start import Start
from .words import Word, join

_WHOLE = LazyPattern(r"[+-]?\d+$")
_SHORT = LazyPattern(r"(\d+(?:\.\d+)?)([kmgtKMGT])$")
_PAIRS = LazyPattern(r"\w+=[^,=]+(?:,\w+=[^,=]+)*$")
_SCALE = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
"""vLLM's short forms of whole numbers: 16k is 16,000, 16K is 16,384."""


def python(start: Start) -> str:
    """Return the lines of a Python program that makes the same engine."""
    # What is handed on from the surrounding environment is there already.
    given = [(name, value) for name, value in start.variables() if value.value not in (f"${name}", f"${{{name}}}")]
    variables = [f"os.environ[{_text(name)}] = {_shown(value)}" for name, value in given]
    model = start.model()
    made, others = arguments_of(start.others())
    arguments = {**({"model": _shown(model)} if model is not None else {}), **made}
    server = [join(part.words) for part in others]
    called = [f"    {name}={value}," for name, value in arguments.items()]
    body = ["from vllm import LLM", "", "llm = LLM(", *called, ")"]
    if variables or any("os.path." in line for line in called):
        body = ["import os", "", *variables, *([""] if variables else []), *body]
    if server:
        body += ["# Options of the server, not of the engine:", *(f"#   {_one_line(option)}" for option in server)]
    return "\n".join(body) + "\n"


def arguments_of(parts: Iterable[Part]) -> tuple[dict[str, str], list[Part]]:
    """Return the arguments of ``LLM(...)`` that options stand for, as Python writes them, and the options that it lacks."""
    arguments: dict[str, object] = {}
    others = []
    for part in parts:
        about = flag(part.base())
        if about.engine:
            _add(arguments, about, part)
        else:
            others.append(part)
    return {name: _shown(value) for name, value in arguments.items()}, others


def _add(arguments: dict[str, object], about: Flag, part: Part) -> None:
    name = about.name[2:].replace("-", "_")
    path = part.name.split(".")[1:]
    if not path:
        arguments[name] = _value(about, part)
        return
    table = arguments
    for key in (name, *path[:-1]):
        inner = table.get(key)
        below: dict[str, object] = inner if isinstance(inner, dict) else {}
        table[key] = below
        table = below
    table[path[-1]] = json_value(part.values[0].value) if part.values else True


def _value(about: Flag, part: Part) -> object:
    if part.negative:
        return False
    if not part.values:
        return True
    if any(word.expands for word in part.values):
        return part.values[0]
    values = [word.value for word in part.values]
    if about.many and not (about.name == "--served-model-name" and len(values) == 1):
        return [_typed(about, value) for value in values]
    return _typed(about, values[0])


def _typed(about: Flag, value: str) -> object:
    if about.kind in ("switch", "bool") or about.boolean:
        return {"true": True, "false": False}.get(value.lower(), value)
    if about.kind in ("int", "float") or about.name == "--max-model-len":
        return _number(about, value)
    if about.kind == "json" or _is_object(value):
        if _PAIRS.match(value):
            # As --limit-mm-per-prompt was written up to 0.9: image=4,video=1.
            pairs = (pair.partition("=") for pair in value.split(","))
            return {key: json_value(item) for key, _, item in pairs}
        return json_value(value)
    return value


def _is_object(value: str) -> bool:
    """Return whether a value is JSON whatever the table says of its option; an empty pair of braces may be a text as well."""
    return value.lstrip().startswith("{") and bool(json_value(value)) and not isinstance(json_value(value), str)


def _number(about: Flag, value: str) -> object:
    if about.kind != "float":
        if short := _SHORT.match(value):
            return round(float(short[1]) * _SCALE[short[2]])
        return int(value) if _WHOLE.match(value) else value
    try:
        return float(value)
    except ValueError:
        return value


def _shown(value: object) -> str:
    if isinstance(value, Word):
        return f"os.path.expandvars({_text(value.value)})" if value.expands else _text(value.value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_shown(key)}: {_shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124 - not a number
        return f'float("{value}")'
    return repr(value)


def _text(value: str) -> str:
    shown = repr(value)
    return f'"{shown[1:-1]}"' if shown[0] == "'" and '"' not in shown else shown


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
