"""Keys of options that take JSON: a dotted key beside a JSON value would replace all of it, so it is put into that value."""

from __future__ import annotations

import json

from ...corpus.records import replace
from ..command.quoting import quoted
from ..diagnosis import Advice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..command.parts import Part

_JSON = ("compilation_config",)
"""Arguments of which some keys have options of their own."""


def within_json(fix: Advice, arguments: Mapping[str, object]) -> Advice:
    """Return a fix that sets keys with the whole value of their option, or with a word on how they are given.

    Args:
        fix: As it holds otherwise; all but flags with dotted keys are returned as they are.
        arguments: As given, by name with underscores; empty where the log does not tell them.
    """
    if fix.kind != "flag" or fix.change.startswith("leave out "):
        return fix
    from ..command.change import read_change

    read = read_change(fix.change)
    parts = [_as_given(part, arguments) for part in read[1]] if read is not None else []
    if read is None or read[0] or not any("." in part.name for part in parts):
        return fix
    made: list[Part] = []
    for part in parts:
        base = part.base()
        if part.name != base and not any(other.name == base for other in made):
            value = arguments.get(base[2:].replace("-", "_"))
            table = _table(value)
            if table is None:
                return _told(fix, parts) if value is not None or not arguments else fix
            made += _parts(base, table)
        made = _with(made, part)
    return replace(fix, change=" ".join(quoted(word.value) for part in made for word in part.words))


def _as_given(part: Part, arguments: Mapping[str, object]) -> Part:
    """Return an option as the key of the JSON in which it was given: vLLM refuses both side by side."""
    from ..command.parts import Part
    from ..command.words import Word

    key = part.name[2:].replace("-", "_")
    given = next((name for name in _JSON if key in (_table(arguments.get(name)) or {})), "")
    if "." in part.name or not given or len(part.values) != 1:
        return part
    name = f"--{given.replace('_', '-')}.{key}"
    return Part(name, [Word(name), *part.values], part.values)


def _parts(base: str, table: Mapping[str, object]) -> list[Part]:
    from ..command.parts import read
    from ..command.words import Word

    return read([Word(base), Word(json.dumps(table, ensure_ascii=False))])


def _with(parts: Sequence[Part], change: Part) -> list[Part]:
    from ..command.parts import put

    return put(parts, change)


def _table(value: object) -> dict[str, object] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) and value else None


def _told(fix: Advice, parts: Sequence[Part]) -> Advice:
    """Return a fix with what its keys are within the JSON, for who gives it so."""
    keys = [part for part in parts if "." in part.name and len(part.values) == 1]
    if "#" in fix.change or any(part.name.count(".") > 1 for part in keys):
        return fix
    inner = ", ".join(f'"{part.name.partition(".")[2]}": {_value(part.values[0].value)}' for part in keys)
    return replace(fix, change=f"{fix.change}   # or within the JSON of {keys[0].base()}: {inner}")


def _value(text: str) -> str:
    from ..command.parts import json_value

    return json.dumps(json_value(text), ensure_ascii=False)
