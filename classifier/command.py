"""The start command with a fix applied, ready to paste."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from .lazy import LazyPattern
from .model import Advice

_LORA = LazyPattern(r"LoRAModulePath\(name='([^']+)', path='([^']+)'")
_OBJECT = LazyPattern(r"\b[A-Z]\w+\(\w+=|<[\w.]+ object|<\w+\.\w+: ")

# Told by vLLM among the arguments as given, but no flag of its own, or said by the model's place in the command.
_NO_FLAGS = frozenset({"model", "model_tag", "subparser", "dispatch_function", "config", "command"})


def corrected_command(facts: Mapping[str, Any], fixes: Sequence[Advice]) -> str:
    """Return the start command that the log tells of, with the first fix that can be pasted as it is; "" where there is none.

    Args:
        facts: Facts of the log: ``command`` (a command line seen) or ``arguments`` (as vLLM lists those that were given).
        fixes: The fixes in their order; only flags and variables whose values are all known count.
    """
    words = command_words(facts)
    if not words:
        return ""
    for fix in fixes:
        if fix.exact and fix.kind in ("flag", "env") and fix.safety != "destructive":
            changed = apply_change(words, fix)
            if changed != words:
                return quote(changed)
    return ""


def command_words(facts: Mapping[str, Any]) -> list[str]:
    """Return the start command as words, variables in front; [] where the log does not tell it."""
    command = facts.get("command")
    if isinstance(command, str) and command:
        try:
            return shlex.split(command)
        except ValueError:
            return []
    arguments = facts.get("arguments")
    if not isinstance(arguments, dict):
        return []
    model = arguments.get("model") or arguments.get("model_tag") or facts.get("model")
    if not model:
        return []
    words = ["vllm", "serve", str(model)]
    for name, value in arguments.items():
        if name in _NO_FLAGS:
            continue
        if name == "lora_modules" and (pairs := _LORA.findall(str(value))):
            words += ["--lora-modules", *(f"{adapter}={path}" for adapter, path in pairs)]
        elif _OBJECT.search(str(value)) and not isinstance(value, dict):
            return []  # a Python object's repr: no command line can be made of it
        else:
            words += _flag(str(name), value)
    return words


def _flag(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is None:
        return []
    if value is True:
        return [flag]
    if value is False:
        return ["--no-" + flag[2:]]
    if isinstance(value, dict):
        return [flag, json.dumps(value)]
    if isinstance(value, (list, tuple)):
        return [flag, *(str(item) for item in value)] if value else []
    return [flag, str(value)]


def apply_change(words: Sequence[str], fix: Advice) -> list[str]:
    """Return the command with one fix: a variable set in front, a flag added or its value replaced."""
    try:
        change = shlex.split(fix.change)
    except ValueError:
        return list(words)
    if fix.kind == "env":
        return _with_variables(words, change)
    made = list(words)
    index = 0
    while index < len(change):
        if not change[index].startswith("-"):
            return list(words)
        flag, equals, joined = change[index].partition("=")
        values = [joined] if equals else []
        index += 1
        while index < len(change) and not change[index].startswith("--"):
            values.append(change[index])
            index += 1
        made = _with_flag(made, flag, values)
    return made


def _with_variables(words: Sequence[str], change: Sequence[str]) -> list[str]:
    names = [word.partition("=")[0] for word in change if "=" in word and word.partition("=")[0].isidentifier()]
    if len(names) != len(change):
        return list(words)
    return [*change, *(word for word in words if word.partition("=")[0] not in names)]


def _with_flag(words: list[str], flag: str, values: list[str]) -> list[str]:
    opposite = flag[:2] + flag[5:] if flag.startswith("--no-") else "--no-" + flag[2:]
    made: list[str] = []
    placed = False
    index = 0
    while index < len(words):
        word = words[index]
        name = word.partition("=")[0].replace("_", "-") if word.startswith("--") else word
        if name not in (flag, opposite):
            made.append(word)
            index += 1
            continue
        index += 1
        if "=" not in word:
            while index < len(words) and not words[index].startswith("-"):
                index += 1
        if not placed:
            made += [flag, *values]
            placed = True
    return made if placed else [*made, flag, *values]


def quote(words: Sequence[str]) -> str:
    """Return the words as one shell command; variables in front keep their equals sign bare."""
    parts = []
    leading = True
    for word in words:
        name, equals, value = word.partition("=")
        if leading and equals and name.isidentifier():
            parts.append(f"{name}={shlex.quote(value)}")
            continue
        leading = False
        parts.append(shlex.quote(word))
    return " ".join(parts)
