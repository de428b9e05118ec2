"""The keys of a manifest that matter, found by their lines: commands, arguments, variables; and single values in YAML."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...corpus.records import Record, record, replace
from ..patterns.lazy import LazyPattern

# Plain words that no YAML reader, old or new, takes for anything but text.
_PLAIN = LazyPattern(r"(?:--?)?[A-Za-z_/][A-Za-z0-9_./@+=-]*(?::[A-Za-z0-9_./@+=-]+)*$")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n", "nan", "inf"})
_ESCAPE = LazyPattern(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def scalar(value: str) -> str:
    """Return a text as a YAML scalar: plain where that is safe, else in quotes."""
    if _PLAIN.match(value) and value.lower().lstrip("-") not in _WORDS:
        return value
    if '"' in value and value.isascii() and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return (
        '"' + "".join(_ESCAPES.get(sign) or (sign if " " <= sign < "\x7f" else _escaped(sign)) for sign in value) + '"'
    )


def quoted(value: str) -> str:
    """Return a text as a YAML scalar in quotes, which nobody takes for a number."""
    made = scalar(value)
    return made if made[0] in "\"'" else f'"{made}"'


def _escaped(sign: str) -> str:
    if sign.isprintable() and sign != "\ufeff":
        return sign
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def read_scalar(text: str) -> str:
    """Return the value of a scalar that stands on one line."""
    text = text.strip()
    if text.startswith('"'):
        return str(_ESCAPE.sub(_unescaped, text[1 : _closing_quote(text)]))
    if text.startswith("'"):
        return text[1 : _closing_quote(text)].replace("''", "'")
    return text.partition(" #")[0].strip()


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    return {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}.get(code, code)


def _closing_quote(text: str) -> int:
    sign, place = text[0], 1
    while place < len(text):
        if text[place] == "\\" and sign == '"':
            place += 1
        elif text[place] == sign:
            if sign == '"' or text[place + 1 : place + 2] != "'":
                return place
            place += 1
        place += 1
    return len(text)


def read_flow(text: str) -> tuple[list[str], int] | None:
    """Return the scalars of ``[a, "b"]`` and the place after its end; None where it is no such list."""
    items: list[str] = []
    place, begin = 1, 1
    while place < len(text):
        sign = text[place]
        if sign in "\"'" and not text[begin:place].strip():
            place += _closing_quote(text[place:])
        elif sign in ",]":
            if text[begin:place].strip():
                items.append(read_scalar(" ".join(text[begin:place].split("\n"))))
            begin = place + 1
            if sign == "]":
                return items, place + 1
        elif sign in "[{":
            return None
        place += 1
    return None


_KEY = LazyPattern(
    r"(?P<indent>[ \t]*(?:-[ \t]+)?)[\"']?(?P<key>command|args|entrypoint|environment|env)[\"']?[ \t]*:"
    r"(?:[ \t]+(?P<rest>.*))?$"
)
_ITEM = LazyPattern(r"(?P<indent>[ \t]*)-(?:[ \t]+(?P<rest>.*))?$")
_BLOCK = LazyPattern(r"[|>][+-]?\d?$")


@record(frozen=True, slots=True)
class Item(Record):
    """A value with the lines that it stands on (none in a list on one line)."""

    value: str
    lines: tuple[str, ...]


@record(frozen=True, slots=True)
class Block(Record):
    """A key with its value."""

    key: str
    column: int
    first: int
    end: int
    style: str
    """``flow``, ``list``, ``text``; for variables also ``table``."""
    items: tuple[Item, ...]
    head: str
    """The line up to the colon."""
    indent: str
    """What stands before an item of a list."""


def read_block(lines: list[str], place: int) -> Block | None:
    """Return the command, arguments or variables that begin on a line; None where none of them does."""
    found = _KEY.match(lines[place])
    if not found:
        return None
    key, column, rest = found["key"], len(found["indent"]), (found["rest"] or "").strip()
    head = lines[place].partition(":")[0].rstrip()
    if rest.startswith("["):
        return _flow_block(lines, place, Block(key, column, place, place + 1, "flow", (), head, ""), rest)
    end = place + 1
    while end < len(lines) and _belongs(lines[end], column):
        end += 1
    while end > place + 1 and not lines[end - 1].strip():
        end -= 1
    following = lines[place + 1 : end]
    variables = key in ("environment", "env")
    if rest and not rest.startswith("#"):
        style = "flow" if variables else "text"
        return Block(key, column, place, end, style, (Item(_joined(rest, following), tuple(following)),), head, "")
    items, indent = ([], "") if variables else _items(following)
    if not following or not (items or variables):
        return None
    return Block(key, column, place, end, "table" if variables else "list", tuple(items), head, indent)


def _belongs(line: str, column: int) -> bool:
    """Return whether a line belongs to the key that begins at ``column``, on a line above."""
    depth = depth_of(line)
    return not line.strip() or depth > column or (depth == column and line.lstrip().startswith("- "))


def _flow_block(lines: Sequence[str], place: int, block: Block, rest: str) -> Block | None:
    for end in range(place + 1, min(len(lines), place + 200) + 1):
        flow = read_flow("\n".join([rest, *lines[place + 1 : end]]))
        if flow is not None:
            return replace(block, end=end, items=tuple(Item(value, ()) for value in flow[0]))
    # Variables in a list of tables are added to, not read.
    return block if block.key in ("environment", "env") and rest.endswith("]") else None


def _joined(rest: str, following: Sequence[str]) -> str:
    lines = [line.strip() for line in following]
    if _BLOCK.match(rest.partition(" #")[0].strip()):
        return "\n".join(lines)
    return read_scalar(" ".join([rest, *lines]))


def _items(lines: Sequence[str]) -> tuple[list[Item], str]:
    items: list[Item] = []
    indent = ""
    place = 0
    while place < len(lines):
        found = _ITEM.match(lines[place])
        end = place + 1
        if found and (not items or found["indent"] == indent):
            indent = found["indent"]
            while end < len(lines) and (not lines[end].strip() or depth_of(lines[end]) > len(indent)):
                end += 1
            rest = (found["rest"] or "").strip()
            more = [line.strip() for line in lines[place + 1 : end]]
            value = (
                "\n".join(more)
                if _BLOCK.match(rest)
                else read_scalar(" ".join([rest, *more]) if more and not more[0].startswith("#") else rest)
            )
            items.append(Item(value, tuple(lines[place:end])))
        place = end
    return items, indent


def depth_of(line: str) -> int:
    """Return how far a line is indented."""
    return len(line) - len(line.lstrip(" "))
