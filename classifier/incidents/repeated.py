"""What a log has printed before: stacks line for line, exceptions, errors that add nothing but their number.

A server that lost its engine prints the same stack for each request. From the third time on a line of it is neither
decoded nor peeled: its bytes lead from one step of the known stack to the next. Where the stack turns out to be another
one after all, the lines that were passed over are read as usual, so that no answer depends on this.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from ..lines.traceback_state import Step, Stream
from ..lines.tracebacks import TraceReader
from ..lines.types import Line, Trace
from .builder import BEGIN, ERRORS, SITES

if TYPE_CHECKING:
    from .candidates import Literals
    from .effort import Effort
    from .types import Incident

LONGEST = 1024
"""Bytes of a line that is remembered."""
PREFIX = 120
"""Bytes in which vLLM's prefix ends, with whatever a container put in front of it."""
STEPS = 20_000
"""Lines of stacks remembered."""
REMEMBERED = 5_000
"""Prefixes remembered, and whole lines, and exceptions; when there are more of a kind, all of it is forgotten."""
_LOGGED = ("ERROR", "CRITICAL")
_RAISED = ("", *_LOGGED)
_USUAL = b"(IEW"
_SIGNS = (b".py", b"(most recent call ", b"above exception", b'File "', b"Error: ", b"Exception: ", b"): ")
"""What a line holds that may belong to a traceback, or name an exception within a sentence."""
_MARKS = (b"---", b"Fatal", b"terminate")
_NAMED = re.compile(rb"(?:\[?(?:rank\d+|pid \d+)\]?:? )?[A-Za-z_][\w.]*(?:\([\w.]*\))?(?::|$)")
"""What begins like an exception's own line."""


class Reading(Protocol):
    """What is known of the start that is being read."""

    traces: TraceReader
    effort: Effort

    @property
    def incident(self) -> Incident:
        """What is kept of it."""


class Source:
    """Who wrote a line, as told from its first bytes, or from all of them."""

    __slots__ = ("key", "level", "logged", "plain", "process")

    def __init__(self, key: tuple[str, str], line: Line, plain: bool) -> None:
        self.key, self.process, self.level, self.logged = key, line.process, line.level, line.logged
        self.plain = plain
        """Whether what is left of the line is its message."""


class Repeated:
    """Remembers what one log has printed; stacks in whatever start, exceptions and errors of the one being read."""

    def __init__(self) -> None:
        self._prefixes: dict[bytes, Source] = {}
        self._whole: dict[bytes, Source] = {}
        self._roots: dict[str, Step] = {}
        self._steps = 0
        self._waiting: list[Stream] = []
        self._alone: dict[tuple[tuple[str, str], bytes], Trace] = {}
        self._begins: set[bytes] = set()

    def __deepcopy__(self, _memo: dict[int, object]) -> Repeated:
        """Return one that remembers nothing: a copied reader has streams and exceptions of its own."""
        return Repeated()

    def begin(self) -> None:
        """Forget what belongs to the start that is over."""
        self._waiting.clear()
        self._alone.clear()
        self._begins.clear()

    def take(self, data: bytes, start: int, end: int, number: int, literals: Literals, reading: Reading) -> bool:
        """Tell whether a line says only what an earlier one said; it is counted then, and need not be read.

        Args:
            data: Its block.
            start: Where it begins there.
            end: Where it ends.
            number: Of the line.
            literals: The rules to be tried on it.
            reading: Stands before the line.
        """
        if end - start > LONGEST:
            return False
        raw = data[start:end]
        source, body = self._known(raw)
        stream = reading.traces.streams.get(source.key) if source is not None else None
        if stream is None or source is None or (source.logged and len(reading.incident.sites) < SITES):
            return False
        if stream.state == "stack":
            step = stream.step.then.get(body) if stream.step is not None and stream.stepped is stream.trace else None
            if step is None or not _all_missed(step, literals, reading):
                return False
            if not stream.skipped:
                self._waiting.append(stream)
            stream.skipped.append((data, start, end, number))
            stream.step, stream.seen = step, number
            return True
        if literals or not source.plain or (source.level in _LOGGED and not self._is_kept_like(body, reading)):
            return False
        if not stream.state and _says_nothing(body, source.level):
            return True
        return self._again(stream, source, body, number, reading)

    def _known(self, raw: bytes) -> tuple[Source | None, bytes]:
        """Return who wrote a line, and the line without its prefix where that is vLLM's own."""
        at = raw.find(b"] ", 0, PREFIX) + 2
        source = self._prefixes.get(raw[:at]) if at > 1 else None
        if source is None:
            return self._whole.get(raw), raw
        # A process may be named behind the prefix; at a line's end Ray says how often it has seen it.
        if raw[at : at + 1] == b"(" or b"across cluster]" in raw:
            return None, raw
        return source, raw[at:]

    def leave_block(self) -> None:
        """Keep of the block that was read no more than the lines that were passed over and may have to be read."""
        for stream in self._waiting:
            stream.skipped = [(data[start:end], 0, end - start, number) for data, start, end, number in stream.skipped]
        self._waiting = [stream for stream in self._waiting if stream.skipped]

    def note(self, place: tuple[bytes, int, int], line: Line, part: str, missed: set[int], reading: Reading) -> None:
        """Remember a line that was read.

        Args:
            place: Its block, start and end.
            line: As it was read.
            part: What it is within a traceback.
            missed: Rules that do not match it, whoever wrote it.
            reading: Stands behind the line.
        """
        data, start, end = place
        stream = reading.traces.latest
        in_stack = stream.state == "stack" and not stream.mode
        if end - start > LONGEST or not in_stack:
            stream.step = None
        if end - start > LONGEST:
            return
        raw = data[start:end]
        source, body = self._source(raw, line, reading.traces)
        if in_stack and part == "head":
            stream.step, stream.stepped = self._roots.setdefault(line.level, Step()), stream.trace
        elif in_stack and part in ("frame", "code"):
            if stream.stepped is not stream.trace:
                # A frame that no line announced begins a stack as well.
                known = part == "frame" and len(stream.trace.frames) == 1
                stream.step, stream.stepped = (
                    (self._roots.setdefault(line.level, Step()) if known else None),
                    stream.trace,
                )
            stream.step = self._next(stream, body, missed)
        elif in_stack:
            stream.step = None
        elif part in ("", "final") and line.level in _LOGGED and source.plain:
            self._begins.add(body[:BEGIN])
        if part == "final" and source.plain and (trace := reading.traces.stands_alone(line)) is not None:
            _forget(self._alone)
            self._alone[source.key, body] = trace

    def _source(self, raw: bytes, line: Line, traces: TraceReader) -> tuple[Source, bytes]:
        """Return who wrote a line that was read, and remember how to tell."""
        body = line.text.encode("utf-8", "replace")
        at = len(raw) - len(body)
        prefix = raw[:at]
        usual = line.logged and prefix[:1] in _USUAL and raw.endswith(body) and raw.find(b"] ", 0, PREFIX) + 2 == at
        if usual and prefix and not body.startswith(b"("):
            source = self._prefixes.get(prefix)
            if source is None:
                _forget(self._prefixes)
                source = self._prefixes[prefix] = Source(traces.key_of(line), line, True)
            return source, body
        source = self._whole.get(raw)
        if source is None:
            _forget(self._whole)
            source = self._whole[raw] = Source(traces.key_of(line), line, body == raw)
        return source, raw

    def _next(self, stream: Stream, body: bytes, missed: set[int]) -> Step | None:
        """Return the step that a line of a stack is, and what is known of it now."""
        if stream.step is None:
            return None
        step = stream.step.then.get(body)
        if step is None:
            if self._steps >= STEPS:
                return None
            self._steps += 1
            step = stream.step.then[body] = Step()
            step.frames, step.count = stream.trace.frames, len(stream.trace.frames)
        step.missed |= missed
        return step

    def _is_kept_like(self, body: bytes, reading: Reading) -> bool:
        """Tell whether a line logged as an error would not be kept."""
        return len(reading.incident.errors) >= ERRORS or (body[:BEGIN] in self._begins and body.isascii())

    def _again(self, stream: Stream, source: Source, body: bytes, number: int, reading: Reading) -> bool:
        """Count an exception that stands alone on its line, if it has stood so before."""
        trace = self._alone.get((source.key, body))
        full = source.level not in _LOGGED or reading.incident.contexts.full
        return trace is not None and full and reading.traces.again(stream, trace, source.process, number)


def _all_missed(step: Step, literals: Literals, reading: Reading) -> bool:
    """Tell whether none of the rules matches the line of a step; they count as tried then."""
    if not literals:
        return True
    if not step.missed.issuperset(literals):
        return False
    for index in literals:
        reading.effort.missed(index)
    return True


def _says_nothing(body: bytes, level: str) -> bool:
    """Tell whether a line outside tracebacks neither begins one nor can be an exception's own."""
    for sign in _SIGNS:
        if sign in body:
            return False
    if not body.isascii() or body.startswith(_MARKS):
        return False
    return level not in _RAISED or _NAMED.match(body) is None


def _forget(remembered: dict[bytes, Source] | dict[tuple[tuple[str, str], bytes], Trace]) -> None:
    if len(remembered) >= REMEMBERED:
        remembered.clear()
