"""Keeps the text of a log that a pack may show while the log streams by, in bounded memory."""

from __future__ import annotations

from collections import deque
from itertools import accumulate

from ...corpus.records import Mutable, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..input.read import Block

WHOLE = 2 << 20
"""Bytes of the end of a log that are kept whole until it is over."""
HEAD = 1 << 16
"""Bytes of its beginning that stay."""
PIECE = 1 << 14
"""Bytes up to which small blocks of a live stream are joined."""
AROUND = 4096
"""Bytes kept on either side of a line that rules stopped at, once its block goes."""
OF_A_BLOCK = 6
"""Such lines of one block."""
EARLIEST, LATEST = 96, 96
"""Such stretches that are kept of the beginning, and of what came last."""


@record(slots=True)
class Stretch(Mutable):
    """Lines that stand together."""

    number: int
    """Of the first, from 1; a bare carriage return ends none."""
    data: bytes

    def starts(self) -> list[int]:
        """Return where each line begins."""
        return [0, *accumulate(len(line) + 1 for line in self.data.split(b"\n")[:-1])]


class Keeper:
    """Fed with the blocks of a log, in order."""

    def __init__(self) -> None:
        self._recent: deque[Stretch] = deque()
        self._size = 0
        self.total = 0
        """Bytes of text read so far."""
        self._earliest: list[Stretch] = []
        self._latest: deque[Stretch] = deque(maxlen=LATEST)

    def extend(self, block: Block, marks: Callable[[], Iterable[int]]) -> None:
        """Keep a block.

        Args:
            block: The next one.
            marks: Returns the numbers of the lines at which rules stopped; asked when a block goes.
        """
        last = self._recent[-1] if self._recent else None
        if last is not None and len(last.data) + len(block.data) <= PIECE and last.data.endswith(b"\n"):
            last.data += block.data
        else:
            self._recent.append(Stretch(block.number, block.data))
        self._size += len(block.data)
        self.total += len(block.data)
        while self._size > WHOLE and len(self._recent) > 1:
            old = self._recent.popleft()
            self._size -= len(old.data)
            for part in _thinned(old, marks(), not self._earliest):
                if len(self._earliest) < EARLIEST:
                    self._earliest.append(part)
                else:
                    self._latest.append(part)

    def stretches(self, first: int = 1, last: int = 0) -> list[Stretch]:
        """Return what is kept of the lines from ``first`` to ``last`` (0: the end), in order."""
        kept = [*self._earliest, *self._latest, *self._recent]
        if first <= 1 and not last:
            return [Stretch(stretch.number, stretch.data) for stretch in kept]
        return [part for stretch in kept if (part := _cut(stretch, first, last)) is not None]


def _thinned(old: Stretch, marks: Iterable[int], begin: bool) -> Iterator[Stretch]:
    """Yield what stays of a block: the begin of the log, and what surrounds the lines at which rules stopped."""
    lines = old.data.count(b"\n")
    inside = sorted({mark for mark in marks if old.number <= mark <= old.number + lines})[:OF_A_BLOCK]
    spans = [(0, HEAD)] if begin else []
    at, number = 0, old.number
    for mark in inside:
        while number < mark:
            at, number = old.data.find(b"\n", at) + 1, number + 1
        spans.append((at - AROUND, at + AROUND))
    yield from sliced(old, spans)


def sliced(whole: Stretch, spans: Iterable[tuple[int, int]]) -> Iterator[Stretch]:
    """Yield the whole lines of a stretch that spans of bytes touch, what overlaps as one; of endless lines the bytes."""
    data, at, number = whole.data, 0, whole.number
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        start = data.rfind(b"\n", max(0, low - AROUND), max(0, low)) + 1 or max(0, low if low > AROUND else 0)
        stop = data.find(b"\n", min(high, len(data)), high + AROUND) + 1 or min(high, len(data))
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    for low, high in merged:
        start, end = _between_words(data, low, high)
        number += data.count(b"\n", at, start)
        at = start
        if start < end:
            yield Stretch(number, data[start:end])


def _between_words(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return where to cut an endless line: half a secret would no longer be recognised as one."""
    if start and data[start - 1 : start] != b"\n":
        start = data.find(b" ", start, end) + 1 or end
    if end < len(data) and data[end - 1 : end] != b"\n":
        end = data.rfind(b" ", start, end) + 1
    return start, end


def _cut(stretch: Stretch, first: int, last: int) -> Stretch | None:
    """Return the lines of a stretch from ``first`` to ``last``; None where it has none of them."""
    lines = stretch.data.count(b"\n")
    if stretch.number + lines < first or (last and stretch.number > last):
        return None
    starts = stretch.starts()
    low = max(0, first - stretch.number)
    high = last - stretch.number + 1 if last else len(starts)
    begin = starts[low] if low < len(starts) else len(stretch.data)
    return Stretch(max(first, stretch.number), stretch.data[begin : starts[high] if high < len(starts) else None])
