"""Texts that an expression matches, so that each of its alternatives is drawn at least once. The same at every call."""

from __future__ import annotations

from typing import Any

import regex

from vllm_triage.corpus.expression_tree import op, parser

MOST = 60
"""Texts drawn of one expression at most."""
FEW = 4
"""A class of so few characters is a choice among them."""
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_GLUE = ((op.LITERAL, ord("a")),)
"""What stands against a place that an expression asks for: the end of a word, or of the text."""
_LETTERS = "a7_ -.x/:Z'\"(["
"""Tried in this order where a class says which characters it has; a blank goes first where it says which it has not."""


class Drawing:
    """Draws texts of one expression; a choice that no text has taken yet goes first.

    Choices are the alternatives of ``a|b``, the characters of a small class, and whether an optional part is there.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = regex.compile(pattern)
        self._tree = list(parser.parse(pattern))
        self._left: set[tuple[int, int]] = set()
        self._groups: dict[int, str] = {}
        self._barred: list[tuple[int, Any]] = []
        self._length = 0
        self._note(self._tree)

    def texts(self) -> list[str]:
        """Return texts that take every choice which can be taken."""
        found: dict[str, None] = {}
        for _ in range(MOST):
            left = len(self._left)
            text = self._text()
            if self._pattern.search(text):
                found[text] = None
            if not self._left or len(self._left) == left:
                break
        return list(found)

    def refused(self) -> list[str]:
        """Return texts that would match but for what a look-around bars, or a letter where the text or a word ends.

        One for each thing that is barred.
        """
        found: dict[str, None] = {}
        tried: set[int] = set()
        for _ in range(MOST):
            left = len(self._left)
            text = self._text()
            if self._pattern.search(text):
                for at, body in self._barred:
                    if id(body) in tried and body is not _GLUE:
                        continue
                    tried.add(id(body))
                    changed = [text[:at] + barred + text[at:] for barred in Drawing.of(body)]
                    found.update(dict.fromkeys(item for item in changed if not self._pattern.search(item)))
            if not self._left or len(self._left) == left:
                break
        return list(found)

    @staticmethod
    def of(body: Any) -> list[str]:
        """Return texts for a part of an expression, which need not match by itself."""
        part = Drawing("")
        part._tree = list(body)
        part._note(part._tree)
        return part.texts()

    def _text(self) -> str:
        self._groups, self._barred, self._length = {}, [], 0
        return self._all(self._tree)

    def _note(self, items: list[Any]) -> None:
        for item in items:
            parts = _choices(item)
            self._left.update((id(item), number) for number in range(len(parts)) if len(parts) > 1)
            for part in parts:
                self._note(part)

    def _fresh(self, items: list[Any]) -> bool:
        """Return whether a choice below was not taken yet."""
        return any(
            (id(item), number) in self._left or self._fresh(part)
            for item in items
            for number, part in enumerate(_choices(item))
        )

    def _all(self, items: list[Any]) -> str:
        return "".join(map(self._one, items))

    def _letter(self, code: Any, value: Any) -> str:
        if code is op.ASSERT_NOT:
            self._barred.append((self._length, value[1]))
        if code is op.AT:
            self._barred.append((self._length, _GLUE))
        letter = _plain(code, value)
        self._length += len(letter)
        return letter

    def _one(self, item: Any) -> str:
        code, value = item
        parts = _choices(item)
        number = next((at for at, part in enumerate(parts) if (id(item), at) in self._left or self._fresh(part)), 0)
        self._left.discard((id(item), number))
        if code in REPEATS:
            low = max(value[0], number if value[0] == 0 and value[1] == 1 else min(1, value[1]))
            return "".join(self._all(parts[number]) for _ in range(low))
        if code is op.GROUPREF:
            self._length += len(self._groups.get(value, ""))
            return self._groups.get(value, "")
        text = self._all(parts[number]) if parts else self._letter(code, value)
        if code is op.SUBPATTERN and value[0] is not None:
            self._groups[value[0]] = text
        return text


def _choices(item: Any) -> list[list[Any]]:
    """Return what may stand in the place of an item: one sequence, or several of which one is chosen."""
    code, value = item
    if code is op.BRANCH:
        return [list(part) for part in value[1]] if not isinstance(value[1], tuple) else list(value[1])
    if code is op.SUBPATTERN:
        return [value[3]]
    if code is op.ATOMIC_GROUP:
        return [value]
    if code in REPEATS:
        return [[], value[2]] if value[0] == 0 and value[1] == 1 else [value[2]]
    if code is op.IN and len(value) <= FEW and all(kind is op.LITERAL for kind, _ in value):
        return [[letter] for letter in value]
    return []


def _plain(code: Any, value: Any) -> str:
    """Return one character for an item that stands for one; nothing for those that stand for a place."""
    if code is op.LITERAL:
        return chr(value)
    if code in (op.NOT_LITERAL, op.IN, op.ANY):
        wide = code is not op.IN or value[0][0] is op.NEGATE
        return next((letter for letter in (" " if wide else "") + _LETTERS if _fits(code, value, letter)), "a")
    return ""


def _fits(code: Any, value: Any, letter: str) -> bool:
    if code is op.ANY:
        return True
    if code is op.NOT_LITERAL:
        return bool(ord(letter) != value)
    inside = any(_holds(kind, part, letter) for kind, part in value if kind is not op.NEGATE)
    return inside != bool(value[0][0] is op.NEGATE)


def _holds(kind: Any, part: Any, letter: str) -> bool:
    if kind is op.LITERAL:
        return bool(ord(letter) == part)
    if kind is op.RANGE:
        return bool(part[0] <= ord(letter) <= part[1])
    tests = {
        op.CATEGORY_DIGIT: letter.isdigit(), op.CATEGORY_NOT_DIGIT: not letter.isdigit(),
        op.CATEGORY_SPACE: letter.isspace(), op.CATEGORY_NOT_SPACE: not letter.isspace(),
        op.CATEGORY_WORD: letter.isalnum() or letter == "_", op.CATEGORY_NOT_WORD: not (letter.isalnum() or letter == "_"),
    }  # fmt: skip
    return bool(tests.get(part))
