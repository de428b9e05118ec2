"""Which message a fragment is of: half of one, one that is broken over lines, or quoted anywhere between other words.

Every run of three words of each message is listed with the messages that have it. A text is of the message of which it holds the
longest stretch, where all that fit as well say the same bucket.
"""

from __future__ import annotations

import builtins
import marshal
import re
import sys
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from zlib import crc32

from ..records import Record, record
from .row import SLOT
from .words import COMMON

RUN = 3
"""Words of a run."""
FEWEST = 4
"""Points of the shortest part by which a message is known: a word has one, a name of several words two."""
QUOTED, WHOLE, TELLING = 0.4, 0.1, 1
"""Other words for each of the message's that may stand with it between two marks, and in a whole sentence; and how many of its words
may not be common ones: it is quoted there."""
ENOUGH = 7
"""Words from which on common ones are enough there."""
PLAIN = 3
"""How many words of it must be plain ones."""
IN_PROSE, COMPLAINED = (9, 3, 0.5), (5, 1, 0.3)
"""Points, words that are not common, and the share of the message's own words that it needs within a sentence that goes on with other
words, and where somebody says there that something fails."""
CLOSE, LOOSE = 0.75, 0.5
"""How much of its stretch must be its own, there and between two marks."""
GAP = 8
"""Words that may stand between two runs of one message: values, marks of a table, the prefix of the next line."""
NEAREST = 200
"""Characters on both sides of a stretch that are looked at for the marks around it."""
USUAL = 400
"""Messages that have a run, from which on it tells nothing."""
LONGEST = 4000
"""Words of a text that are looked at."""
_APART = "\x1f"
"""Stands between the parts of a source."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z_]*")
_MARK = re.compile(r"[`\"|{}\[\]\n<>]|: |'(?!\w)|(?<!\w)'")
_PLAIN = re.compile(r"(?<![\w./=-])[A-Za-z]\w*(?![./=-]?\w)")
"""Words that are no part of a path, an option or a dotted name: such are quoted as often where nothing failed."""
_CLASS = re.compile(r"\b\w+(?:Error|Exception): ")
"""An exception: whoever shows one says that something fails."""
_SENTENCE = re.compile(r"\W*[A-Z].{20,}[.!?]\W*$")
_NO_WORDS = re.compile(
    r"\\+[nrt\"']|https?://[^\s)\]>\"']+|File \"[^\"\n]*\"(?:, line \d+(?:, in \S+)?)?"
    r"|(?<![\w<:/])/[\w.-]+(?:/[\w.<>-]+)+"
    r"|\([\w ]*\bpid=[^)\n]*\)|\b[A-Z]{4,8} \d\d-\d\d [\d:]{8} (?:\[?[\w/]+\.py:\d+\])?"
)
"""Escapes, and addresses: whoever points to the same page says something else. Paths, frames of stacks,
and what stands before a line."""
_POINTING = frozenset("refer see details information documentation docs guide raise open issue github about".split())  # noqa: SIM905
"""Words that lead elsewhere: messages end with them, and sentences."""
_ANYBODYS = frozenset({"errno", "such", "directory", *map(str.lower, dir(builtins))})
"""Words of Python's own exceptions and of the operating system."""
_LEVELS = frozenset(
    "trace debug info warn warning error err critical fatal exception failed stderr stdout".split()  # noqa: SIM905
)
"""Words of prefixes: what stands behind them is a message, and no sentence around one."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Stretch: TypeAlias = tuple[int, int, list[int]]
    """Its points, the message, and which of the words are the message's."""
    Source: TypeAlias = tuple[str, str, str]
    """A message: its bucket and cause, and who says it, for those who ask why."""


@record(slots=True, frozen=True)
class Fragment(Record):
    """What a text holds of a message."""

    bucket: str
    cause: str
    said: str
    """Who says the message, and its words."""
    start: int
    """Where it begins in the text."""
    words: int
    """Words of it that the text holds."""


class Fragments:
    """Looks for stretches of messages.

    Args:
        said: The messages one behind the other, as they are stored.
        places: Where each begins there.
        sizes: Words of each.
        runs: Checksums of runs, ascending, one for each message that has it.
        owners: The message of each.
    """

    def __init__(
        self, said: bytes, places: array[int], sizes: array[int], runs: array[int], owners: array[int]
    ) -> None:
        self._said, self._places, self._sizes, self._runs, self._owners = said, places, sizes, runs, owners

    def find(self, text: str, complained: bool = False) -> Fragment | None:
        """Return the message of which a text holds most; None where it holds too little of any, or those that fit disagree.

        Args:
            text: A message, or what somebody wrote around one.
            complained: Whether it says that something fails: less of a message is then taken for one within a sentence.
        """
        words = words_of(text)[:LONGEST]
        shown = _CLASS.search(text) is not None
        found = sorted(self._stretches(words), key=lambda item: -item[0])
        best = next((item for item in found if self._tells(item, words, text, complained or shown, shown)), None)
        if best is None:
            return None
        points, source, covered = best
        fitting = [self._source(other) for most, other, at in found if most >= points and at[0] == covered[0]]
        # What is harmless in the same words speaks against it.
        if len({bucket for bucket, _, _ in fitting}) != 1 or not fitting[0][0]:
            return None
        bucket, cause, said = self._source(source)
        causes = {cause for _, cause, _ in fitting}
        return Fragment(bucket, cause if len(causes) == 1 else "", said, words[covered[0]][1], len(covered))

    def _source(self, at: int) -> Source:
        begin, behind = self._places[at], self._places[at + 1]
        bucket, cause, said = self._said[begin:behind].decode().split(_APART)
        return bucket, cause, said

    def _stretches(self, words: list[tuple[str, int]]) -> Iterator[Stretch]:
        """Yield the stretches of messages that words hold."""
        places: dict[int, list[int]] = defaultdict(list)
        for at, run in _runs([word for word, _ in words]):
            first = bisect_left(self._runs, run)
            last = bisect_left(self._runs, run + 1, first)
            if last - first < USUAL:
                for source in self._owners[first:last]:
                    places[source].append(at)
        for source, starts in places.items():
            covered: list[int] = []
            for start in starts:
                if covered and start - covered[-1] > GAP:
                    yield _points(covered, words), source, covered
                    covered = []
                covered += range(max(start, covered[-1] + 1) if covered else start, start + RUN)
            yield _points(covered, words), source, covered

    def _tells(self, item: Stretch, words: list[tuple[str, int]], text: str, complained: bool, shown: bool) -> bool:
        points, source, covered = item
        said = {words[at][0] for at in covered} - _POINTING
        telling = len(said - COMMON - _ANYBODYS)
        if points < FEWEST - (shown and telling > TELLING):
            return False
        begin, end = words[covered[0]][1], words[covered[-1]][1] + len(words[covered[-1]][0])
        within = text[max(0, begin - 3) : begin].rjust(3) + text[begin:end]
        own = len(covered) / (covered[-1] - covered[0] + 1)
        first = text.rfind("\n", 0, begin) + 1
        line = text[first : (text.find("\n", begin) + 1 or len(text) + 1) - 1]
        # Whoever writes a whole sentence may use a message's words; what has no end, no beginning, or quotes was copied.
        quoted = any(text.count(mark, first, begin) % 2 for mark in '`"')
        copied = complained or quoted or not _SENTENCE.match(line)
        around = _beside(text, begin, end) if copied else len(_WORD.findall(line)) - len(covered)
        if around <= (QUOTED if copied else WHOLE) * len(covered):
            plain = len(_PLAIN.findall(within)) >= PLAIN
            return own >= LOOSE and (plain or shown) and (telling >= TELLING or (copied and len(said) >= ENOUGH))
        least, apart, share = COMPLAINED if complained else IN_PROSE
        large = points >= least and len(covered) >= share * self._sizes[source]
        return own >= CLOSE and large and telling >= apart


def _points(covered: list[int], words: list[tuple[str, int]]) -> int:
    return sum(1 + ("_" in word.strip("_")) for word in {words[at][0] for at in covered})


def _beside(text: str, begin: int, end: int) -> int:
    """Return how many other words stand between a stretch and the marks around it, on both sides."""
    first = max(
        [max(0, begin - NEAREST), *(found.end() for found in _MARK.finditer(text, max(0, begin - NEAREST), begin))]
    )
    after = _MARK.search(text, end, end + NEAREST)
    own = [word for word in _PLAIN.findall(text, first, begin) if word.lower() not in _LEVELS]
    return len(own) + len(_PLAIN.findall(text, end, after.start() if after else end + NEAREST))


def words_of(text: str) -> list[tuple[str, int]]:
    """Return the words of a text in lower case, each with its place; numbers and marks are none."""
    plain = _NO_WORDS.sub(lambda found: " " * len(found.group()), text)
    return [(found.group().lower(), found.start()) for found in _WORD.finditer(plain)]


def pack(messages: Iterable[tuple[Source, str]]) -> bytes:
    """Return the form in which a compiled corpus holds messages.

    Args:
        messages: Each with its text, ``{}`` where values are put in.
    """
    sources: list[Source] = []
    sizes: list[int] = []
    pairs: set[tuple[int, int]] = set()
    for source, text in dict.fromkeys(messages):
        pieces = [[word for word, _ in words_of(piece)] for piece in text.split(SLOT)]
        size = sum(map(len, pieces))
        if size < FEWEST:
            continue
        pairs |= {(run, len(sources)) for piece in pieces for _, run in _runs(piece)}
        sources.append(source)
        sizes.append(size)
    ordered = sorted(pairs)
    stored = [_APART.join(source).encode() for source in sources]
    columns = (
        array("I", accumulate(map(len, stored), initial=0)),
        array("H", sizes),
        array("I", (run for run, _ in ordered)),
        array("H", (source for _, source in ordered)),
    )
    return marshal.dumps((b"".join(stored), *(_little(column).tobytes() for column in columns)))


def unpacked(data: bytes) -> Fragments:
    """Return the messages that ``pack`` stored."""
    said, *stored = marshal.loads(data)  # noqa: S302 - our own file
    return Fragments(said, *(_little(array(kind, column)) for kind, column in zip("IHIH", stored, strict=True)))


def _little(column: array[int]) -> array[int]:
    """Return numbers with the lowest byte first, as they are stored."""
    if sys.byteorder == "big":
        column.byteswap()
    return column


def _runs(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where each run begins, and its checksum."""
    for at in range(len(words) - RUN + 1):
        yield at, crc32(" ".join(words[at : at + RUN]).encode())
