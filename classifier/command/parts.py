"""vLLM's arguments, taken apart as its own parser does, and changed one option at a time; what its table says about a flag."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from ...corpus import options
from ..patterns.lazy import LazyPattern
from .words import SECRET, Word, is_secret, masked

_NUMBER = LazyPattern(r"-(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$")
_LEVEL = LazyPattern(r"-O\d$")
_WHOLE = frozenset({"--speculative-config", "--kv-transfer-config"})
"""Configurations of one thing: a whole new one replaces the old one, their keys are not mixed."""


class Part:
    """An option with its values, or a word that stands for itself.

    Attributes:
        name: The option's long form (``--max-model-len``, or ``--compilation-config.mode``); "" for other words.
        negative: Given as ``--no-…``.
        words: As they stand in the command.
        values: What the option is set to.
        joined: Written ``--option=value``.
    """

    __slots__ = ("joined", "name", "negative", "values", "words")

    def __init__(
        self, name: str, words: list[Word], values: list[Word], *, negative: bool = False, joined: bool = False
    ) -> None:
        self.name = name
        self.words = words
        self.values = values
        self.negative = negative
        self.joined = joined

    def base(self) -> str:
        """Return the option's name without a dotted key."""
        return self.name.partition(".")[0]


def read(words: Sequence[Word]) -> list[Part]:
    """Take arguments apart."""
    parts: list[Part] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not _is_option(word.value):
            parts.append(Part("", [word], [word]))
            continue
        spelled, equals, value = word.value.partition("=")
        name, negative = long_name(spelled)
        if equals:
            parts.append(Part(name, [word], [_value_of(word, value)], negative=negative, joined=True))
            continue
        count = _values(name, negative, words[index:])
        values = list(words[index : index + count])
        parts.append(Part(name, [word, *values], values, negative=negative))
        index += count
    return parts


def long_name(spelled: str) -> tuple[str, bool]:
    """Return an option's long form, with its dotted key, and whether it was denied (``--no-…``)."""
    head, dot, path = spelled.partition(".")
    if not head.startswith("--"):
        # -O.mode is a key of the compilation's configuration; -O3 a word of its own.
        return flag(head).name + dot + path, False
    head = head.replace("_", "-")
    if head.startswith("--no-") and not flag(head).known:
        return "--" + head[5:] + dot + path, True
    return head + dot + path, False


def _is_option(value: str) -> bool:
    return len(value) > 1 and value[0] == "-" and value != "--" and not _NUMBER.match(value)


def _values(name: str, negative: bool, following: Sequence[Word]) -> int:
    """Return how many of the following words are the option's values."""
    about = flag(name.partition(".")[0])
    if negative or _LEVEL.match(name):
        return 0
    free = 0
    while free < len(following) and not _is_option(following[free].value):
        free += 1
    if about.many and "." not in name:
        return free
    if (
        about.switch
        and "." not in name
        and not (about.boolean and free and following[0].value.lower() in ("true", "false"))
    ):
        return 0
    return min(free, 1)


def _value_of(word: Word, value: str) -> Word:
    raw = word.raw.partition("=")[2]
    plain = "'" not in word.raw and '"' not in word.raw and "\\" not in word.raw
    return Word(value, raw) if plain else _quoted(word, value)


def _quoted(word: Word, value: str) -> Word:
    made = Word(value)
    made.expands = word.expands
    return made


def put(parts: Sequence[Part], change: Part) -> list[Part]:
    """Return the parts with one option set: its value replaced where it stands, else added at the end."""
    merged = _into_json(parts, change)
    if merged is not None:
        return merged
    made: list[Part] = []
    placed = False
    for part in parts:
        if part.name != change.name:
            made.append(part)
        elif not placed:
            made.append(_respelled(part, change))
            placed = True
    return made if placed else [*made, change]


def without(parts: Sequence[Part], name: str) -> list[Part]:
    """Return the parts without an option, or without one key of an option that takes JSON (``--option.key``)."""
    made: list[Part] = []
    base, _, path = name.partition(".")
    for part in parts:
        level = name == "--optimization-level" and _LEVEL.match(part.name)
        if level or part.name == name or part.name.startswith(f"{name}."):
            continue
        table = _object(part.values[0].value) if path and part.name == base and len(part.values) == 1 else None
        if table is None or not _has(table, path.split(".")):
            made.append(part)
        elif kept := _without_key(table, path.split(".")):
            value = Word(json.dumps(kept, ensure_ascii=False))
            made.append(_respelled(part, Part(base, [Word(base), value], [value])))
    return made


def _has(table: dict[str, object], path: Sequence[str]) -> bool:
    inner = table.get(path[0])
    return path[0] in table and (len(path) == 1 or (isinstance(inner, dict) and _has(inner, path[1:])))


def _without_key(table: dict[str, object], path: Sequence[str]) -> dict[str, object]:
    if len(path) == 1:
        return {key: value for key, value in table.items() if key != path[0]}
    inner = table[path[0]]
    return {**table, path[0]: _without_key(inner, path[1:])} if isinstance(inner, dict) else table


def _respelled(part: Part, change: Part) -> Part:
    """Return the change in the spelling of the part that it replaces: alias, underscores, equals sign."""
    if part.negative or change.negative:
        return change
    spelled = part.words[0].value.partition("=")[0]
    if part.joined and len(change.values) == 1:
        return Part(change.name, [Word(f"{spelled}={change.values[0].value}")], change.values, joined=True)
    return Part(change.name, [Word(spelled), *change.values], change.values)


def _into_json(parts: Sequence[Part], change: Part) -> list[Part] | None:
    """Merge a change of a JSON option with what the command says of it.

    vLLM makes one JSON value of all dotted keys and lets it replace a JSON value given beside them: both may not stand.
    """
    base = change.base()
    given = [part for part in parts if part.base() == base]
    update = _keys(change)
    if update is None or (base in _WHOLE and base == change.name) or not given:
        return None
    made = list(parts)
    for place, part in enumerate(made):
        if (part.name == base and not part.joined and len(part.values) == 1) or (part.name == base and part.joined):
            table = _object(part.values[0].value)
            if table is not None:
                value = Word(json.dumps(_merge(table, update), ensure_ascii=False))
                made[place] = _respelled(part, Part(base, [Word(base), value], [value]))
                return made
    if any(part.name == base for part in given):
        return None  # its value is not JSON object: it is replaced
    for key, told in update.items():
        text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        dotted = f"{base}.{key}"
        spelled = given[0].words[0].value.partition("=")[0].partition(".")[0] + f".{key}"
        made = [part for part in made if not part.name.startswith(f"{dotted}.")]
        made = _put_plain(made, Part(dotted, [Word(f"{spelled}={text}")], [Word(text)], joined=True))
    return made


def _put_plain(parts: list[Part], change: Part) -> list[Part]:
    places = [place for place, part in enumerate(parts) if part.name == change.name]
    if not places:
        return [*parts, change]
    return [change if place == places[0] else part for place, part in enumerate(parts) if place not in places[1:]]


def _keys(change: Part) -> dict[str, object] | None:
    """Return what a change sets, as a table; None where it sets no table."""
    if len(change.values) != 1:
        return None
    path = change.name.split(".")[1:]
    text = change.values[0].value
    if not path:
        return _object(text)
    value = {path[-1]: json_value(text)}
    for key in reversed(path[:-1]):
        value = {key: value}
    return value


def json_value(text: str) -> object:
    """Return the value of JSON, or the text itself where it is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _object(text: str) -> dict[str, object] | None:
    value = json_value(text) if text.lstrip().startswith("{") else None
    return value if isinstance(value, dict) else None


def _merge(table: dict[str, object], update: dict[str, object]) -> dict[str, object]:
    made = dict(table)
    for key, value in update.items():
        inner = made.get(key)
        made[key] = _merge(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return made


def safe(parts: Iterable[Part]) -> list[Part]:
    """Return the parts without their secrets."""
    made = []
    for part in parts:
        if part.name and is_secret(part.name) and part.values and not part.values[0].expands:
            value = Word(SECRET)
            spelled = part.words[0].value.partition("=")[0]
            words = [Word(f"{spelled}={SECRET}")] if part.joined else [part.words[0], value]
            made.append(Part(part.name, words, [value], joined=part.joined))
        elif any(masked(word) is not word for word in part.words):
            words = [masked(word) for word in part.words]
            made.append(read(words)[0])
        else:
            made.append(part)
    return made


# Fields of AsyncEngineArgs alone; the mined engine arguments hold them, LLM(...) refuses them.
_SERVER_ONLY = frozenset({"disable_log_requests", "enable_log_requests", "engine_use_ray", "max_log_len"})


class Flag:
    """A flag of vLLM's command line.

    Attributes:
        name: Its long form, dashes throughout.
        known: Whether any release has it.
        switch: It takes no value (or none is needed).
        boolean: True and false are values of it.
        many: It takes all values that follow.
        kind: ``int``, ``float``, ``json``, ``bool``, ``switch``, or "" for text.
        engine: ``LLM(...)`` takes it by the same name.
    """

    __slots__ = ("boolean", "engine", "kind", "known", "many", "name", "switch")

    def __init__(self, name: str, entry: Mapping[str, Sequence[Sequence[object]]] | None) -> None:
        kinds = [change[1] for change in (entry or {}).get("kind", ()) if len(change) > 1]
        self.name = name
        self.known = entry is not None
        self.switch = "switch" in kinds
        self.boolean = "bool" in kinds
        self.many = any(change[-1] is True for change in (entry or {}).get("many", ()))
        self.kind = kinds[-1] if kinds else ""
        argument = name[2:].replace("-", "_")
        self.engine = options.is_engine_argument(argument) and argument not in _SERVER_ONLY


@lru_cache(512)
def flag(name: str) -> Flag:
    """Return what is known about a flag: its long form or an alias, without a value, without a dotted key."""
    return Flag(*(options.flag_of(name) or (name, None)))
