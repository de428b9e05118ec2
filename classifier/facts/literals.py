"""Python literals as logs print them. ``ast`` reads them all, but takes longer to import than a table to be read.

What ``repr`` makes of plain values is read here; of anything else ``ast`` decides, so that the outcome is always its own.
"""

from __future__ import annotations

from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .types import FactValue

_TOKEN = LazyPattern(
    r" *(?:(?P<mark>[\[\](){},:])"
    r"|'(?P<single>[^'\\\x00-\x1f\ud800-\udfff]*)'|\"(?P<double>[^\"\\\x00-\x1f\ud800-\udfff]*)\""
    r"|(?P<number>-?(?:0|[1-9]\d{0,14})(?P<part>\.\d{1,17})?(?:e[+-]?\d{1,2})?)(?![\w.])"
    r"|(?P<word>True|False|None)(?!\w))"
)
_WORDS = {"True": True, "False": False, "None": None}
_DEEPEST = 30


class _OtherError(Exception):
    """Not the plain literal that it looked like."""


def evaluated(text: str) -> FactValue:
    """Return the value of a Python literal.

    Raises:
        ValueError: As all below: it is none, as ``ast.literal_eval`` raises them.
        SyntaxError: See there.
        TypeError: See there.
        MemoryError: See there.
        RecursionError: See there.
    """
    try:
        return _Reader(text.lstrip(" ")).whole()
    except _OtherError:
        from ast import literal_eval

        value: FactValue = literal_eval(text)
        return value


class _Reader:
    __slots__ = ("_at", "_deep", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._deep = 0

    def whole(self) -> FactValue:
        value = self._value(*self._next())
        if self._text[self._at :].strip(" "):
            raise _OtherError
        return value

    def _next(self) -> tuple[str, FactValue]:
        """Return the next mark, or "" and the next value."""
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise _OtherError
        self._at = found.end()
        kind, told = found.lastgroup, found[0].lstrip(" ")
        if kind == "mark":
            return told, None
        if kind in ("single", "double"):
            return "", told[1:-1]
        if kind == "word":
            return "", _WORDS[told]
        return "", float(told) if "." in told or "e" in told else int(told)

    def _value(self, mark: str, plain: FactValue) -> FactValue:
        if not mark:
            return plain
        self._deep += 1
        if self._deep > _DEEPEST or mark not in "[{":
            raise _OtherError
        value = self._list() if mark == "[" else self._table()
        self._deep -= 1
        return value

    def _list(self) -> FactValue:
        items: list[FactValue] = []
        mark, plain = self._next()
        while mark != "]":
            items.append(self._value(mark, plain))
            mark, plain = self._after("]")
        return items

    def _table(self) -> FactValue:
        table: dict[str, FactValue] = {}
        mark, plain = self._next()
        while mark != "}":
            if mark or not isinstance(plain, str) or self._next()[0] != ":":
                raise _OtherError
            table[plain] = self._value(*self._next())
            mark, plain = self._after("}")
        return table

    def _after(self, end: str) -> tuple[str, FactValue]:
        """Return what follows an item: the end, or, behind a comma, the next token."""
        mark, _ = self._next()
        if mark == end:
            return mark, None
        if mark != ",":
            raise _OtherError
        return self._next()
