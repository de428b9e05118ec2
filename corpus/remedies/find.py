"""Which message with a remedy a text holds, and the remedy with the values that stand in that text.

Most errors have none. Whether one may is told by checksums of what the templates begin with, which take no time to read; the
templates themselves and the fixes are read for the few that may.
"""

from __future__ import annotations

import marshal
import re
from bisect import bisect_left
from itertools import pairwise
from zlib import crc32

from ..messages.pieces import GAP, places_of
from ..messages.row import SLOT, WORDS
from ..messages.words import distinctive
from ..packed_rules import Rows, opened, parts_of
from ..records import Record, record
from ..types import Fix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..messages.matching import Matcher

SOURCE = "the catalogue of messages"
"""What the fixes give as their source."""
BEGINNINGS = (12, 24)
"""Bytes of a template's longest literal piece whose checksum tells that the template may stand in a text: of short ones, of others."""
LEAST = 20
"""Literal characters that a template must have where it is not the whole of a message."""
LONGEST = 120
"""Characters of a value that is put into a fix; a longer one counts as unknown."""
CLOSING = 2
"""Characters of a template behind its last slot that are no more than a bracket and a full stop."""
_SPACE = re.compile(r"\s+")


@record(slots=True, frozen=True)
class Found(Record):
    """The remedy of a message in a text."""

    package: str
    path: str
    """The module, from its package on: ``vllm/config/cache``."""
    template: str
    fixes: tuple[Fix, ...]
    values: Mapping[str, str]
    """What stands where the template has slots: ``v1``, ``v2`` …; without those that are empty, long or of several lines."""


class Remedies:
    """Finds what somebody advises for the words of a message.

    Args:
        path: A file that ``packed.pack`` made.
    """

    def __init__(self, path: str) -> None:
        sums, *self._rest = parts_of(opened(path))
        self._sums = sums.cast("I")
        self._known: tuple[Matcher, Rows] | None = None

    def find(self, text: str, places: Collection[str] = ()) -> Found | None:
        """Return the remedy of the message that a text is, or holds; None where it has none.

        Args:
            text: An exception's text after its class, or a line of a log.
            places: Paths of the frames in which it was raised (``vllm/config/cache.py``): words that are anybody's count where
                the module is among them.
        """
        if not self._may_hold(_SPACE.sub(" ", text)):
            return None
        matcher, fixes = self._read()
        for match in matcher.find(text)[:1]:
            row = match.row
            if not row.path:
                return None  # read, and kept: its cause's fixes are the right ones
            path, rows = marshal.loads(fixes[int(row.path)])  # noqa: S302 - our own file
            telling = (match.whole or match.literal >= LEAST) and distinctive(row.template) >= WORDS
            if telling or any(place in (f"{path}.py", f"{path}/__init__.py") for place in places):
                return Found(row.package, path, row.template, tuple(map(_fix, rows)), values_of(row.template, text))
        return None

    def _may_hold(self, text: str) -> bool:
        data, sums = text.encode("utf-8", "replace"), self._sums
        for length in BEGINNINGS:
            for at in range(len(data) - length + 1):
                checksum = crc32(data[at : at + length])
                place = bisect_left(sums, checksum)
                if place < len(sums) and sums[place] == checksum:
                    return True
        return False

    def _read(self) -> tuple[Matcher, Rows]:
        if self._known is None:
            from ..messages.index import unpacked
            from ..messages.matching import Matcher

            rows, ends, fixes = self._rest
            self._known = Matcher(*unpacked(rows)), Rows(fixes, ends.cast("I"))
        return self._known


def _fix(told: tuple[object, ...]) -> Fix:
    title, kind, does, why, option, value, restart, root, safety, tags, remark = told
    make: Callable[..., Fix] = Fix
    return make(
        title, kind, does, why, "none", "", option, value, safety, restart=restart, root=root, source=SOURCE, tags=tags, remark=remark,
    )  # fmt: skip


def _plain(value: str) -> str:
    """Return a value without quotes around it; a whole number without the decimals that arithmetic gave it."""
    plain = value.strip().strip("'\"`")
    return plain.removesuffix(".0") if plain.removesuffix(".0").isdigit() else plain


def values_of(template: str, text: str) -> dict[str, str]:
    """Return what stands in a text where a template has slots, by number: ``v1`` …, without quotes around it."""
    lined = _SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", text)
    places = places_of(template, lined.replace("\n", " "))
    if places is None:
        return {}
    inner = [lined[before[1] : after[0]] for before, after in pairwise(places)]
    if template.startswith(SLOT):
        inner.insert(0, lined[max(0, places[0][0] - GAP) : places[0][0]])
    closing = template.rpartition(SLOT)[2]
    if SLOT in template and len(closing) <= CLOSING:
        # The last value goes to the end of its line, but for the full stop that the template sets behind it.
        before = places[:-1] if closing else places
        last = lined[before[-1][1] if before else 0 :].partition("\n")[0].rstrip().removesuffix(closing)
        inner = [*inner[: template.count(SLOT) - 1], last]
    values = {f"v{number}": _plain(value) for number, value in enumerate(inner, 1)}
    return {name: value for name, value in values.items() if value and len(value) <= LONGEST and "\n" not in value}
