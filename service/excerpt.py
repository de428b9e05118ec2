"""The lines of a log that matter to somebody who mends vLLM: the whole traceback of the process that failed, masked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from ..classifier.input.read import Block
from ..classifier.lines.prefix import split_line
from ..classifier.masking.mask import mask_lines
from ..classifier.report.shown import cut, one_line

BEFORE, AFTER = 200, 12
"""Lines of the process that are looked at before the deciding one, and shown after it."""
UNTOLD = 12
"""Lines shown before the deciding one where no traceback leads to it."""
HEAD = "Traceback (most recent call last)"
_WIDTH = 1 << 14
"""Characters of a line that are looked at."""


def excerpt(blocks: Iterable[Block], line: int) -> list[tuple[int, str]]:
    """Return the lines around the deciding one that its process wrote, with their numbers.

    Args:
        blocks: The log from its beginning.
        line: Number of the deciding line, from 1.
    """
    before: deque[tuple[int, str, str]] = deque(maxlen=4 * BEFORE)
    after: list[tuple[int, str, str]] = []
    for number, text in _numbered(blocks):
        if number > line + 4 * AFTER:
            break
        peeled = split_line(number, text)
        item = (number, peeled.raw or peeled.text, peeled.process)
        (before if number <= line else after).append(item)
    if not before or before[-1][0] != line:
        return []
    process = before[-1][2]
    own = [item for item in before if item[2] == process][-BEFORE:]
    chosen = own[_begin(own) :] + [item for item in after if item[2] == process][:AFTER]
    texts = mask_lines(one_line(text) for _, text, _ in chosen)
    return [(number, cut(text)) for (number, _, _), text in zip(chosen, texts, strict=True)]


def _begin(lines: list[tuple[int, str, str]]) -> int:
    """Return where the last traceback before the deciding line begins, with the line that announces it."""
    heads = [place for place, (_, text, _) in enumerate(lines) if HEAD in text]
    return max(0, heads[-1] - 1) if heads else max(0, len(lines) - 1 - UNTOLD)


def _numbered(blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
    number = 0
    for block in blocks:
        number = block.number
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for data in lines:
            yield number, data[:_WIDTH].decode("utf-8", "replace")
            number += 1
