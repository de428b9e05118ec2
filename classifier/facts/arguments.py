"""Reads how a server was started: printed tables of arguments, command lines, lists of words in YAML or JSON.

Everything here takes text from a log, never raises, and looks at a bounded piece of it.
"""

from __future__ import annotations

import re

from ..patterns.lazy import LazyPattern
from .literals import evaluated
from .types import Facts, FactValue

TABLE = 20000
"""Characters of a printed table that are read."""
COMMAND = 4000
"""Characters of a command line that are read."""
VALUE = 600
"""Characters kept of a value that is no literal (a nested object)."""

SECRETS = frozenset({"api_key", "hf_token", "api_keys", "token", "password"})
"""Arguments that are never kept."""

_SHORT = {
    "-tp": "tensor_parallel_size",
    "-pp": "pipeline_parallel_size",
    "-dp": "data_parallel_size",
    "-q": "quantization",
    "-n": "nnodes",
}
_PLACES = {"model_tag": "model", "dp_size": "data_parallel_size", "tp_size": "tensor_parallel_size"}
_OPERATORS = frozenset({"&&", "||", "|", "&", ";", ">", ">>", "<", "2>&1", "2>", "1>", "&>", "|&", "\\"})
_PAIR = LazyPattern(r"(?P<name>[a-z_]\w*)=(?P<value>'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^{}]*\}|[^,\s()]+)")
_NUMBER = LazyPattern(r"-?\d+(?:\.\d+)?$")
_NAME = LazyPattern(r"[a-z][a-z0-9_]{0,60}$")
_CALL = LazyPattern(
    r"(?P<name>[a-z_]\w{1,40})\s*=\s*(?P<value>'[^'\n]{0,300}'|\"[^\"\n]{0,300}\"|-?\d[\d_]*(?:\.\d+)?(?=[\s,)]|$)|True|False)"
)
_PROSE = frozenset(
    [
        "on",
        "in",
        "with",
        "and",
        "or",
        "command",
        "is",
        "to",
        "the",
        "a",
        "an",
        "for",
        "using",
        "as",
        "from",
        "by",
        "via",
        "at",
        "server",
        "process",
        "api",
        "it",
    ]
)
_NO_LITERAL = (ValueError, SyntaxError, MemoryError, RecursionError, TypeError)
_CLOSERS = {"{": "}", "[": "]", "(": ")"}


def pairs(text: str) -> list[tuple[str, str]]:
    """Return the ``name=value`` pairs of a printed configuration (engine banner, ``Namespace``)."""
    return [(found["name"], found["value"].strip("'\"")) for found in _PAIR.finditer(text[:TABLE])]


def table(text: str) -> Facts:
    """Return a printed dictionary, as far as it can be read: cut short, or with objects among its values."""
    text = text[:TABLE]
    try:
        whole: object = evaluated(text)
    except _NO_LITERAL:
        whole = None
    if isinstance(whole, dict):
        return {_place(str(name)): value for name, value in whole.items()}
    found: Facts = {}
    for item, ended in split_items(text.partition("{")[2]):
        name, colon, value = item.partition(":")
        name = name.strip().strip("'\"")
        # The last item of a table that is cut short may be half a value.
        if colon and ended and _NAME.match(name) and name not in found:
            found[name] = literal(value.strip())
    return {_place(name): value for name, value in found.items()}


def call(text: str) -> Facts:
    """Return the plain values among the arguments of a printed Python call, ``LLM(model="x", max_model_len=4096)``."""
    found: Facts = {}
    for match in _CALL.finditer(text[:COMMAND]):
        found.setdefault(match["name"], literal(match["value"]))
    first = re.match(r"\s*(['\"])([^'\"\n]{2,300})\1", text[:400])
    if first:
        found.setdefault("model", first[2])
    return found


def literal(text: str) -> FactValue:
    """Return a Python literal, or the text itself where it is none."""
    try:
        return evaluated(text[:TABLE])
    except _NO_LITERAL:
        return text[:VALUE]


_SENTENCE = LazyPattern(
    r"\s(?:--|—|–|//|=>|->|<-|→|←)\s|,\s+[A-Za-z]|\s\((?=\w)|"
    r"\s(?:on|with|and|gives?|gave|fails?|failed|crash(?:es|ed)?|gets?|in|for|then|when|which|where|after|because|but|it|is|was|works?|worked|from)\s+(?=\S)"
)
"""What begins the sentence behind a command that somebody quotes: no option of vLLM takes such a word."""


def command_arguments(command: str) -> list[tuple[str, FactValue]]:
    """Return (name, value) for what a command line gives to vLLM; nothing where it is prose about a command."""
    return word_arguments(_words(command[:COMMAND]))


def cut_command(command: str) -> str:
    """Return a command line without what a shell does with its output, and without a comment behind it."""
    found = re.search(r"\s(?:#(?=\s)|&&|\|\|?|&|;|[12&]?>{1,2}|<)(?=[\s&/\w.]|$)|;\s|;$", command[:COMMAND])
    command = command[: found.start()] if found else command[:COMMAND]
    command = _without_prose(command).strip()
    if command.count('"') % 2 or command.count("'") % 2:
        command = command.rstrip("\"'`])}., ")
    return command.rstrip("`\\ ")


def _without_prose(command: str) -> str:
    """Return a command line without the sentence that goes on behind it: ``… on two A100 and get``."""
    start = max(command.find("serve "), command.find("api_server"), 0)
    for found in _SENTENCE.finditer(command, start):
        before = command[: found.start()]
        # Within quotes it is a value.
        if not before.count('"') % 2 and not before.count("'") % 2:
            return before
    return command


def front_of(before: str) -> str:
    """Return what belongs to a command of the text in front of it: variables, and a container engine's ``run``."""
    before = before[-COMMAND:]
    at = max(before.rfind(f"{engine} run ") for engine in ("docker", "podman", "nerdctl"))
    run = before[at:] if at >= 0 else ""
    words = (before[:at] if run else before).split(" ")
    if words and (not words[-1] or words[-1].endswith("/")):
        words.pop()  # nothing, or the program's path (ExecStart=/opt/venv/bin/)
    front: list[str] = []
    while words and (words[-1] in ("sudo", "env") or re.fullmatch(r"[A-Za-z_]\w*=[^\s\"'`$(]*", words[-1])):
        front.insert(0, words.pop())
    return "".join(f"{word} " for word in front) + run


def listed_words(text: str) -> list[str]:
    """Return the words of a printed list, ``['vllm', 'serve', 'x']`` or its JSON or YAML form; [] where it is none."""
    text = text[:COMMAND]
    for found in re.finditer(r"\[", text):
        end = _closing(text, found.start())
        if end < 0:
            continue
        whole = literal(text[found.start() : end + 1])
        if isinstance(whole, list) and len(whole) > 1 and all(isinstance(word, (str, int, float)) for word in whole):
            return [str(word) for word in whole]
    return []


def word_arguments(words: list[str]) -> list[tuple[str, FactValue]]:
    """Return (name, value) for the words of a command."""
    found: list[tuple[str, FactValue]] = []
    index = 0
    while index < len(words):
        word = words[index]
        if word in _OPERATORS or word.startswith((">", "2>", "#")):
            break
        if word == "serve":
            index = _take_model(words, index, found)
        elif word.startswith("--") and len(word) > 2:
            index = _take_option(words, index, found)
        elif word.partition("=")[0] in _SHORT:
            index = _take_short(words, index, found)
        else:
            index += 1
    return [(name, value) for name, value in found if name not in SECRETS and not _is_placeholder(value)]


def _take_model(words: list[str], index: int, found: list[tuple[str, FactValue]]) -> int:
    """Note the model after ``serve`` at ``index``; return where to go on, as the two below."""
    if index + 1 >= len(words) or not _is_model(words, index + 1):
        return index + 1
    found.append(("model", words[index + 1]))
    return index + 2


def _take_option(words: list[str], index: int, found: list[tuple[str, FactValue]]) -> int:
    name, equals, value = words[index][2:].partition("=")
    given: FactValue = value
    index += 1
    if not equals:
        given = True
        if index < len(words) and not (
            words[index].startswith("--") or words[index] in _OPERATORS or words[index] in _SHORT
        ):
            given = words[index]
            index += 1
    key = _place(name.replace("-", "_"))
    if _NAME.match(key):
        found.append((key, _typed(given)))
    return index


def _take_short(words: list[str], index: int, found: list[tuple[str, FactValue]]) -> int:
    short, equals, value = words[index].partition("=")
    index += 1
    if not equals and index < len(words):
        value = words[index]
        index += 1
    if value:
        found.append((_SHORT[short], _typed(value)))
    return index


def _is_placeholder(value: FactValue) -> bool:
    """Return whether a value stands for another: a shell's variable, a place to fill in."""
    return isinstance(value, str) and ("$" in value or value.startswith(("<", "{{")))


def _words(command: str) -> list[str]:
    import shlex

    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _is_model(words: list[str], index: int) -> bool:
    word = words[index]
    if word.startswith(("-", "<", "[", "(", "$", "`")) or word.lower() in _PROSE or word[-1:] in ",:;":
        return False
    return any(sign in word for sign in "/-_.0123456789") or index + 1 == len(words) or words[index + 1].startswith("-")


def _place(name: str) -> str:
    return _PLACES.get(name, name)


def _typed(value: FactValue) -> FactValue:
    if isinstance(value, str) and len(value) < 20 and _NUMBER.match(value):
        return float(value) if "." in value else int(value)
    return value


def split_items(text: str) -> list[tuple[str, bool]]:
    """Split a printed table at the commas of the outermost level; tell of each item whether its end was seen."""
    items: list[tuple[str, bool]] = []
    depth, quote, start, position = 0, "", 0, 0
    while position < len(text):
        sign = text[position]
        if quote:
            if sign == "\\":
                position += 1
            elif sign == quote:
                quote = ""
        elif sign in "'\"":
            quote = sign
        elif sign in "{[(":
            depth += 1
        elif sign in "}])":
            depth -= 1
            if depth < 0:
                items.append((text[start:position], True))
                return items
        elif sign == "," and depth == 0:
            items.append((text[start:position], True))
            start = position + 1
        position += 1
    items.append((text[start:], False))
    return items


def _closing(text: str, start: int) -> int:
    depth, quote = 0, ""
    for position in range(start, len(text)):
        sign = text[position]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == text[start]:
            depth += 1
        elif sign == _CLOSERS[text[start]]:
            depth -= 1
            if depth == 0:
                return position
    return -1
