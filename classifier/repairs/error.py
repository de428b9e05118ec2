"""What an exception says was wrong: what was missing, where, and which names of the failing line it hung on."""

from __future__ import annotations

from ...corpus.records import Record, record
from ..patterns.lazy import LazyPattern

ATTRIBUTE, KEY, INDEX, NONE, GIVEN, LACKING, NAME, IMPORT, ASSERT, ZERO, UNPACK, DTYPE, DEVICE, SHAPE, RAISED = range(
    15
)
"""Ways to fail: an attribute, key or index that is not there; None where something else was needed; an argument too many, one too
few; a name that is not set; an import; an assertion; a division; a number of values; types, devices, shapes of tensors; on purpose."""

_SPEC = (
    (ATTRIBUTE, r"(?:type object )?'(?P<owner>[\w.]+)' object has no attribute '(?P<name>\w+)'"),
    (ATTRIBUTE, r"type object '(?P<owner>[\w.]+)' has no attribute '(?P<name>\w+)'"),
    (ATTRIBUTE, r"module '(?P<owner>[\w.]+)' has no attribute '(?P<name>\w+)'"),
    (GIVEN, r"(?P<owner>[\w.]+)\(\) got an unexpected keyword argument '(?P<name>\w+)'"),
    (GIVEN, r"got multiple values for (?:keyword )?argument '(?P<name>\w+)'"),
    (LACKING, r"(?P<owner>[\w.]+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: '(?P<name>\w+)'"),
    (LACKING, r"Can't instantiate abstract class (?P<owner>\w+) with(?:out an implementation for)? abstract methods? '?(?P<name>\w+)"),
    (GIVEN, r"(?P<owner>[\w.]+)\(\) takes (?:from )?\d+ .*?(?P<name>)arguments? but \d+"),
    (NONE, r"'NoneType' object (?:is not|cannot be)|NoneType|(?:must be|expected) .{1,60}, not None"),
    (NAME, r"name '(?P<name>\w+)' is not defined"),
    (NAME, r"(?:local )?variable '(?P<name>\w+)'"),
    (IMPORT, r"cannot import name '(?P<name>\w+)' from (?:partially initialized module )?'(?P<owner>[\w.]+)'"),
    (IMPORT, r"No module named '(?P<owner>[\w.]+)'(?P<name>)"),
    (INDEX, r"(?:list|tuple|string|deque|pop).{0,20}(?:index out of range|from empty)|index \S+ is out of bounds"),
    (UNPACK, r"(?:not enough|too many) values to unpack|empty (?:sequence|iterable)"),
    (ZERO, r"division or modulo by zero|division by zero|float floor division by zero|modulo by zero"),
    (DTYPE, r"dtypes?\b|\b(?:BFloat16|Half|Float8\w*|scalar type|c10::\w+|float16|bfloat16)\b|to have the same type"),
    (DEVICE, r"same device|not compiled with|on (?:cpu|cuda|device)|cpu and cuda|device (?:type|index)|pin(?:ned)? memory|meta tensor"),
    (SHAPE, r"\b(?:shapes?|sizes?|dimensions?|strides?|broadcast|contiguous|view|reshape|mat1|multiplied|split_with_sizes)\b"),
)  # fmt: skip
_WAYS = tuple((way, LazyPattern(words)) for way, words in _SPEC)
_OF_KIND = {
    "KeyError": KEY, "IndexError": INDEX, "ZeroDivisionError": ZERO, "AssertionError": ASSERT, "ModuleNotFoundError": IMPORT,
}  # fmt: skip
_KEY = LazyPattern(r"^['\"]?(?P<name>.{1,120}?)['\"]?$")
_PYTHONS = {ATTRIBUTE: "AttributeError", GIVEN: "TypeError", LACKING: "TypeError", NONE: "TypeError"}


@record(frozen=True, slots=True)
class Wrong(Record):
    """What an exception says was wrong.

    Attributes:
        way: ``ATTRIBUTE`` … ``RAISED``.
        name: What was missing or too much: attribute, key, argument, name; "" where it names none.
        owner: Of which class, function or module.
    """

    way: int
    name: str = ""
    owner: str = ""


def wrong(kind: str, message: str) -> Wrong:
    """Return what an exception says was wrong.

    Args:
        kind: Its class.
        message: Its text.
    """
    own = _OF_KIND.get(kind)
    if own == KEY:
        found = _KEY.match(message.strip())
        return Wrong(KEY, found["name"] if found else "")
    if own == ASSERT and "compiled with" not in message:
        return Wrong(ASSERT)
    for way, words in _WAYS:
        if _PYTHONS.get(way, kind) == kind and (found := words.search(message)):
            named = found.groupdict()
            return Wrong(way, named.get("name") or "", named.get("owner") or "")
    return Wrong(own if own is not None else RAISED)
