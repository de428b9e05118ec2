"""Lines that differ in their values alone have one shape: the first step of putting them together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .unnamed import Unnamed

READ = 400
"""Characters of a line that are looked at."""
WORDS = 14
"""Words that tell shapes apart."""
VALUE = "\0"
"""Stands for a value among the tokens of a line."""
_VALUES = re.compile(
    # What is quoted, links, paths and names with a slash, lists (perhaps cut off), and whatever has a figure within.
    r"(?<!\w)[rub]?'[^'\n]{0,400}'(?!\w)|\"[^\"\n]{0,400}\"|`[^`\n]{0,200}`|\w{1,20}://[^\s'\"<>]+"
    r"|(?<![\w<])(?:[A-Za-z]:)?[~.\w@+%=-]{0,200}(?:[/\\][~.\w@+%=:-]+)+[/\\]?|\[[^\[\]{}]*(?:\]|$)|\{[^\[\]{}]*(?:\}|$)"
    r"|(?<![\w.:+%@~-])[\w.:+%@~-]{0,80}?\d[\w.:+%@~-]*"
)
_TOKENS = re.compile(rf"{VALUE}|\w+|[^\w{VALUE}]")


@dataclass(frozen=True, slots=True)
class Shape:
    """Starts whose telling lines have one shape."""

    key: str
    """Its words, ``#`` for values."""
    members: tuple[Unnamed, ...]

    @property
    def logs(self) -> int:
        """How many logs they stand in."""
        return logs_of(self.members)


def logs_of(members: Iterable[Unnamed]) -> int:
    """Return how many logs some starts stand in."""
    return sum({member.log: member.times for member in members}.values())


def shapes(found: Iterable[Unnamed]) -> list[Shape]:
    """Return the shapes of some starts' lines, the most frequent first."""
    groups: dict[str, list[Unnamed]] = {}
    for item in found:
        groups.setdefault(shape_of(item.line), []).append(item)
    made = [Shape(key, tuple(members)) for key, members in groups.items()]
    return sorted(made, key=lambda shape: (-shape.logs, shape.key))


def shape_of(line: str) -> str:
    """Return what a line says without its values: its first words, ``#`` for one or more values."""
    words: list[str] = []
    for token in tokens(line):
        word = "#" if token == VALUE else token.lower()
        if (word == "#" and words[-1:] != ["#"]) or (word != "#" and word[0].isalnum()):
            words.append(word)
    return " ".join(words[:WORDS]).removesuffix(" #")


def tokens(line: str) -> list[str]:
    """Return words, single signs, and ``VALUE`` for each value."""
    return _TOKENS.findall(_VALUES.sub(VALUE, line[:READ].replace(VALUE, " ")))


def without_values(line: str) -> str:
    """Return the words and signs of a line, a space for each value."""
    return "".join(" " if token == VALUE else token for token in tokens(line))


def common(lines: Sequence[str]) -> list[str]:
    """Return the tokens that all lines share in one order, ``VALUE`` where they differ."""
    from difflib import SequenceMatcher

    shared = tokens(lines[0])
    for line in lines[1:]:
        other, kept, last = tokens(line), [], (0, 0)
        for first, second, size in SequenceMatcher(None, shared, other, autojunk=False).get_matching_blocks():
            if (first, second) != last:
                kept.append(VALUE)
            kept += shared[first : first + size]
            last = (first + size, second + size)
        shared = kept
    return [token for index, token in enumerate(shared) if token != VALUE or shared[index - 1 : index] != [VALUE]]
