"""Tables and commands that go on over the next lines, where a terminal or a person wrapped them."""

from __future__ import annotations

from collections.abc import Callable

from ..lines.prefix import split_line
from ..patterns.lazy import LazyPattern

JOINED, JOINED_LINES = 8192, 60
"""Bytes and lines after a table or a command that may continue it."""


_ITEM = LazyPattern(r"""(?:- +)?(?:"(?P<quoted>[^"]*)"|(?P<word>'[^']*'|(?!\w+: |\w+:$)[^"'].*))""")
"""A word of a YAML list, of a folded text, or of ``kubectl describe``; a key with its value is none."""


def capture_of(sign: str) -> str:
    """Return the name of the capture that holds the text of a rule with ``continues = sign``."""
    return "command" if sign in ("backslash", "items") else "table"


def joined(sign: str, text: str, after: bytes) -> str:
    """Return a table or a command with what stands of it on the following lines.

    Args:
        sign: The rule's ``continues``: what tells that it is unfinished (``corpus.fact_keys.CONTINUATIONS``).
        text: What stands on the rule's own line.
        after: What follows that line; ``JOINED`` bytes of it are looked at.
    """
    for piece in after[:JOINED].split(b"\n")[:JOINED_LINES]:
        if not unfinished(sign, text):
            break
        line = split_line(0, piece.rstrip(b"\r").decode("utf-8", "replace"))
        if line.logged or line.level or not line.text.strip():
            break
        if sign == "items":
            item = _ITEM.fullmatch(line.text.strip())
            if item is None:
                break
            text = f"{text} {item['quoted'] or item['word']}".strip()
            continue
        if sign == "backslash":
            text = text.rstrip().removesuffix("\\") + " " + line.text.strip()
        else:
            text += line.text
    return text


def unfinished(sign: str, text: str) -> bool:
    """Return whether a table or a command goes on after ``text``.

    Raises:
        KeyError: ``sign`` is none of ``corpus.fact_keys.CONTINUATIONS``.
    """
    return _UNFINISHED[sign](text)


_UNFINISHED: dict[str, Callable[[str], bool]] = {
    "braces": lambda text: text.count("{") > text.count("}"),
    "parentheses": lambda text: text.count("(") >= text.count(")"),
    "brackets": lambda text: text.count("[") > text.count("]"),
    "settings": lambda text: "kv_cache_dtype=" not in text or "device_config=" not in text,
    "backslash": lambda text: text.rstrip().endswith("\\"),
    "items": lambda _: True,
}
