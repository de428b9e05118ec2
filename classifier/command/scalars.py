"""Single values in YAML: written so that every reader gets the same text back, and read as far as manifests need it."""

from __future__ import annotations

import re

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
