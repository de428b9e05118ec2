"""Which lines of a block are worth reading: those with a literal of some rule, and all that stand within a traceback."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from ..lines.prefix import split_line
from ..lines.tail import LINE
from ..lines.tracebacks import TraceReader
from ..lines.types import Line
from ..matching.scan import Found, Scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeAlias

    class Reading(Protocol):
        """What the reader of the lines knows, which each line may change."""

        traces: TraceReader
        """While a traceback is open, every line counts."""
        done: set[int]
        """Line rules that need not be tried any more: another set for each start."""

        again: bool
        """Whether the log prints what it has printed before, so that it is worth following."""

        def lazy(self, data: bytes) -> bool:
            """Return whether it is worth looking for literals bit by bit in a block."""

        def find(self, data: bytes, start: int, end: int, number: int) -> Found:
            """Return the literals in a part of a block, of which line ``number`` is the first."""

        def follow(self, data: bytes, start: int, number: int, found: Found, index: int, reach: int) -> Followed:
            """Pass over the lines from ``start`` on, line ``number``, that say what the log has said before.

            Args:
                data: The block.
                start: Where the next line begins.
                number: Its number.
                found: The literals that count, up to ``reach``.
                index: Of the first that is not before the line.
                reach: Where the part of the block ends in which they were looked for.
            """


SWEEP = 16
"""Lines after which tracebacks that nobody continues are looked for."""
IDLE = 32
"""Lines visited in vain after which it is asked again which literals are still worth a visit."""
FIRST, LEAST, WIDER = 1 << 16, 1 << 10, 8
"""Bytes in which literals are looked for first where that is done bit by bit, and after lines that were passed over without;
and by what factor that grows where none are."""
WINDOW_BEFORE, WINDOW_AFTER, WINDOWS = 1024, 3072, 8
"""Bytes read around a literal in the rest of a line that is too long to be read whole, and how many such windows."""

_START = itemgetter(1)

Literals: TypeAlias = dict[int, str]
"""Line rules to be tried on a line, each with its literal that the line holds."""


Candidate: TypeAlias = tuple[int, int, int, Literals]
"""A line that is worth reading: its start and end in the block, its number in the log, the rules to be tried on it."""


Followed: TypeAlias = tuple[int, int, int]
"""Where the next line begins, its number, and the index of the first literal that is not before it."""


def candidates(data: bytes, number: int, scanner: Scanner, reading: Reading) -> Iterator[Candidate]:
    """Yield the lines of a block that are worth reading, in order.

    Args:
        data: The block; its lines end with a newline or a bare carriage return.
        number: Of its first line; a carriage return does not count.
        scanner: Knows the literals.
        reading: Asked before each line, and for the literals in the block.
    """
    size, returns, swept = len(data), b"\r" in data, number // SWEEP
    index = idle = reach = known = 0
    lazy = not returns and reading.lazy(data)
    window = (FIRST if lazy else size) // WIDER + 1
    found: Found = []
    waited_for: Found = []
    everything: Found | None = None
    position, number, _ = reading.follow(data, 0, number, found, 0, 0) if lazy and reading.again else (0, number, 0)
    counted = position
    done, open_traces = reading.done, reading.traces.open
    while position < size:
        if position >= reach:
            window = LEAST if position > reach else window * WIDER
            number, counted = number + data.count(b"\n", counted, position), position
            reach = _line_end(data, min(position + window, size) - 1, False)[1]
            found, everything = reading.find(data, position, reach, number), None
            waited_for, index, known, idle = _waited_for(found, scanner, done), 0, len(done), 0
        if open_traces:
            start = position
        elif index < len(waited_for):
            start = _line_start(data, position, waited_for[index][1], returns)
        else:
            position = reach
            continue
        end, position = _line_end(data, start, returns)
        number += data.count(b"\n", counted, start)
        counted = start
        literals: Literals = {}
        structure = False
        if index < len(waited_for) and waited_for[index][1] < end:
            index, structure = _take(waited_for, index, end, scanner, done, literals)
        if open_traces or structure or literals:
            yield start, end, number, literals
            open_traces = reading.traces.open
            if reading.done is not done:
                # The line began another start, for which all rules count again.
                done, known = reading.done, len(reading.done)
                everything = everything or sorted(found, key=_START)
                waited_for, index = everything, bisect_left(everything, position, key=_START)
        elif len(done) > known and (idle := idle + 1) > IDLE:
            # Rules that were done with meanwhile are no reason to visit a line any more.
            waited_for, index = _still_waited_for(waited_for[index:], scanner, done), 0
            known, idle = len(done), 0
        if reading.again and not returns:
            position, after, index = reading.follow(data, position, number + 1, waited_for, index, reach)
            counted, number = position, after
            open_traces = reading.traces.open
        if open_traces and number // SWEEP > swept:
            swept = number // SWEEP
            reading.traces.sweep(swept * SWEEP if reading.again else number)
            open_traces = reading.traces.open


def _waited_for(found: Found, scanner: Scanner, done: set[int]) -> Found:
    """Return the literals that some rule waits for, or that make tracebacks, in the order of their starts."""
    return sorted(_still_waited_for(found, scanner, done), key=_START)


def _still_waited_for(found: Found, scanner: Scanner, done: set[int]) -> Found:
    """Return the literals that some rule waits for, or that make tracebacks."""
    rules = scanner.rules
    idle = {word for word in set(map(itemgetter(0), found)) if rules[word] and done.issuperset(rules[word])}
    return [item for item in found if item[0] not in idle] if idle else found


def _line_start(data: bytes, position: int, at: int, returns: bool) -> int:
    """Return where the line begins that holds the byte ``at``, on or after ``position``."""
    start = data.rfind(b"\n", position, at)
    if returns:
        start = max(start, data.rfind(b"\r", position, at))
    return start + 1 or position


def _line_end(data: bytes, start: int, returns: bool) -> tuple[int, int]:
    """Return where a line ends, and where the next one begins."""
    end = data.find(b"\n", start)
    end = len(data) if end < 0 else end
    split = data.find(b"\r", start, end) if returns else -1
    if split < 0:
        return end, end + 1
    # CRLF is one line end, a bare CR another.
    return split, split + 2 if data[split : split + 2] == b"\r\n" else split + 1


def _take(found: Found, index: int, end: int, scanner: Scanner, done: set[int], literals: Literals) -> tuple[int, bool]:
    """Add the rules that wait for the literals from ``index`` on that begin before ``end``.

    Returns:
        The index of the first literal beyond, and whether one is a sign of a traceback.
    """
    structure = False
    while index < len(found) and found[index][1] < end:
        word = found[index][0]
        index += 1
        rules = scanner.rules[word]
        if not rules:
            structure = True
        for rule in rules:
            if rule not in done and rule not in literals:
                literals[rule] = scanner.words[word].decode()
    return index, structure


def read_line(data: bytes, start: int, end: int, number: int, literals: Literals) -> Line:
    """Return a line without what stands in front of it; of a long one its beginning and what surrounds the literals."""
    raw = data[start : min(end, start + LINE)]
    if end - start > LINE:
        raw += _windows(data, start + LINE, end, literals)
    return split_line(number, raw.decode("utf-8", "replace"))


def _windows(data: bytes, start: int, end: int, literals: Literals) -> bytes:
    """Return what surrounds the literals in the part of a line that is too long to be read whole."""
    pieces = []
    for literal in set(literals.values()):
        at = data.find(literal.encode(), start, end) if literal else -1
        if at >= 0:
            pieces.append(data[max(start, at - WINDOW_BEFORE) : min(end, at + WINDOW_AFTER)])
    return b" ".join(pieces[:WINDOWS])


def is_prompt(text: str) -> bool:
    """Return whether a line shows what users wrote: nothing in it is the server's own word."""
    head = text[:300]
    if "prompt: " in head and ("prompt: '" in head or 'prompt: "' in head):
        return True
    return "Received request " in head or "Generated response" in head
