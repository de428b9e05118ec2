"""What a log has printed before: stacks line for line, exceptions, errors that add nothing but their number.

A server that lost its engine prints the same stack for each request. From the third time on a line of it is neither
decoded nor peeled: its bytes lead from one step of the known stack to the next. Where the stack turns out to be another
one after all, the lines that were passed over are read as usual, so that no answer depends on this.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from operator import itemgetter

from ..lines.traceback_state import Step, Stream
from ..lines.tracebacks import TraceReader
from ..lines.types import Line, Trace
from .builder import BEGIN, ERRORS, SITES
from .plain_lines import LEAP_BYTES, LOGGED, LONGEST, PREFIX, adding_nothing, says_nothing
from .sources import Source, Sources, forget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from typing import Protocol

    from ..matching.scan import Found, Scanner
    from .ahead import Ahead
    from .candidates import Literals
    from .effort import Effort
    from .types import Incident

    class Reading(Protocol):
        """What is known of the start that is being read."""

        traces: TraceReader
        effort: Effort
        done: set[int]

        @property
        def incident(self) -> Incident:
            """What is kept of it."""

        def keep_context(self, number: int, place: tuple[bytes, int, int]) -> None:
            """Keep what surrounds line ``number``: its block, where it begins there and where it ends."""

        def match_again(self, line: Line, waiting: Collection[int], missed: Collection[int]) -> bool:
            """Count rules as tried on a line, if all that match have matched the same words of the same process before.

            Args:
                line: Its number, words, process and level.
                waiting: The rules to be tried.
                missed: Rules that do not match it.
            """


STEPS = 20_000
"""Lines of stacks remembered."""
ENDS = 100
"""Exceptions remembered that end the same stack."""
LEAP = 8
"""Lines passed over one by one after which all that follow are looked at together."""
_START = itemgetter(1)


class Repeated:
    """Remembers what one log has printed; stacks in whatever start, exceptions and errors of the one being read."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._ahead: Ahead | None = None
        """Made where a log prints something again."""
        self._seen: tuple[bytes, int, int, int] = b"", 0, 0, 0
        self._last: tuple[bytes, Source] | None = None
        """What stood before the line that was taken last, outside of stacks."""
        self.sources = Sources()
        self._roots: dict[tuple[str, tuple[str, str] | None], Step] = {}
        self._steps = 0
        self.waiting: set[Stream] = set()
        """Streams with lines that were passed over and may have to be read."""
        self._alone: dict[tuple[tuple[str, str], bytes], Trace] = {}
        self._begins: set[bytes] = set()

    def __deepcopy__(self, _memo: dict[int, object]) -> Repeated:
        """Return one that remembers nothing: a copied reader has streams and exceptions of its own."""
        return Repeated(self._scanner)

    def begin(self) -> None:
        """Forget what belongs to the start that is over."""
        self._last = None
        if self._ahead is not None:
            self._ahead.begin()
        self.waiting.clear()
        self._alone.clear()
        self._begins.clear()

    def take(self, data: bytes, start: int, end: int, number: int, literals: Literals, reading: Reading) -> bool:
        """Return whether a line says only what an earlier one said; it is counted then, and need not be read.

        Args:
            data: Its block.
            start: Where it begins there.
            end: Where it ends.
            number: Of the line.
            literals: The rules to be tried on it.
            reading: Stands before the line.
        """
        self._last = None
        if end - start > LONGEST:
            return False
        raw = data[start:end]
        source, body = self.sources.known(raw)
        stream = reading.traces.streams.get(source.key) if source is not None else None
        if stream is None or source is None or (source.logged and len(reading.incident.sites) < SITES):
            return False
        if stream.state == "stack":
            return self._steps_on(stream, (raw, body, number), literals, reading)
        taken = False
        if not literals and source.plain and (source.level not in LOGGED or self.is_kept_like(body, reading)):
            taken = not stream.state and says_nothing(body, source.level)
            if taken:
                self._last = raw[: len(raw) - len(body)], source
            taken = taken or self._again(stream, source, body, number, reading)
        return taken

    def _steps_on(self, stream: Stream, line: tuple[bytes, bytes, int], literals: Literals, reading: Reading) -> bool:
        """Pass over a line within a stack that has gone on so before: all of it, without its prefix, its number."""
        raw, body, number = line
        if stream.step is None or stream.stepped is not stream.trace:
            return False
        step = stream.step.then.get(body)
        if step is None or not _all_missed(step, literals, reading):
            return False
        if not stream.skipped:
            self.waiting.add(stream)
            stream.resume = stream.step
        stream.skipped.append(((raw,), (number,), len(body) < len(raw)))
        stream.step, stream.seen = step, number
        return True

    def saw(self, data: bytes, start: int, end: int, number: int) -> None:
        """Note that literals have been looked for in a part of a block, of which line ``number`` is the first."""
        self._seen = data, start, end, number
        if self._ahead is not None:
            self._ahead.saw(data, start, end, number)

    @property
    def passed(self) -> Counter[int] | None:
        """Literals in the lines of this block that were passed over without having been looked for."""
        return None if self._ahead is None else self._ahead.passed

    def follow(
        self, block: tuple[bytes, int, Found], start: int, number: int, index: int, reading: Reading
    ) -> tuple[int, int, int]:
        """Pass over lines that say what the log has said before, as long as they stand in the same block.

        Args:
            block: Its bytes, up to where literals were looked for in them, and the literals that count.
            start: Where the next line begins.
            number: Its number.
            index: Of the first literal that is not before the line.
            reading: Stands before the line.

        Returns:
            Where the first line begins that is left, its number, and the index of the first literal not before it.
        """
        data, _, found = block
        last, self._last = self._last, None
        ahead = self._ahead or self._looking_ahead()
        after, left = ahead.steps(data, start, number, reading)
        if left > number:
            return after, left, bisect_left(found, after, index, key=_START)
        if last is None or last[1].key not in reading.traces.streams:
            return start, number, index
        return self._follow_plain(block, (start, number, index), last, reading)

    def _looking_ahead(self) -> Ahead:
        from .ahead import Ahead

        ahead = self._ahead = Ahead(self._scanner, self)
        ahead.saw(*self._seen)
        return ahead

    def _follow_plain(
        self,
        block: tuple[bytes, int, Found],
        place: tuple[int, int, int],
        last: tuple[bytes, Source],
        reading: Reading,
    ) -> tuple[int, int, int]:
        """Pass over lines outside of stacks that begin like the last one and add nothing; as ``follow`` does."""
        data, reach, found = block
        start, number, index = place
        prefix, source = last
        first_number, behind, leap = number, len(prefix), LEAP
        while data.startswith(prefix, start):
            if start >= reach:
                ahead = self._ahead if prefix else None
                after, count = ahead.leap((data, start), prefix, source, reading) if ahead is not None else (start, 0)
                if not count:
                    break
                start, number, index = after, number + count, len(found)
                continue
            end = data.find(b"\n", start)
            if end < 0:
                break
            body = data[start + behind : end]
            if not prefix and ((other := self.sources.whole.get(body)) is None or other.key != source.key):
                break
            behind_it, waiting = self._waiting_for(found, index, end, reading)
            if waiting or not self._adds_nothing(body, source, reading):
                break
            start, number, index = end + 1, number + 1, behind_it
            if prefix and number - first_number >= leap and start < reach:
                here = number
                start, number, index = self._leap(block, (start, number, index), last, reading)
                # Where that was in vain it is tried again after as many lines.
                leap = (number if number > here else 2 * here - first_number) - first_number + LEAP
        return start, number, index

    def _leap(
        self,
        block: tuple[bytes, int, Found],
        place: tuple[int, int, int],
        last: tuple[bytes, Source],
        reading: Reading,
    ) -> tuple[int, int, int]:
        """Pass over many such lines at once, in the part of the block in which literals were looked for."""
        data, reach, found = block
        start, number, index = place
        prefix, source = last
        lines = adding_nothing(data, start, min(LEAP_BYTES, reach - start), prefix, source, reading)
        if not lines:
            return place
        end = start + sum(map(len, lines)) + len(lines) * (len(prefix) + 1)
        ahead = bisect_left(found, end - 1, index, key=_START)
        return (end, number + len(lines), ahead) if self._nobody_waits(found[index:ahead], reading) else place

    def _nobody_waits(self, found: Found, reading: Reading) -> bool:
        """Return whether no rule waits for any of some literals."""
        rules, done = self._scanner.rules, reading.done
        return all(done.issuperset(rules[word]) for word in set(map(itemgetter(0), found)))

    def _waiting_for(self, found: Found, index: int, end: int, reading: Reading) -> tuple[int, set[int]]:
        """Return the index of the first literal that begins after ``end``, and the rules that wait for those before it."""
        waiting: set[int] = set()
        size = len(found)
        while index < size and found[index][1] < end:
            for rule in self._scanner.rules[found[index][0]]:
                if rule not in reading.done:
                    waiting.add(rule)
            index += 1
        return index, waiting

    def _adds_nothing(self, body: bytes, source: Source, reading: Reading) -> bool:
        """Return whether a line outside tracebacks, for which no rule waits, changes nothing."""
        kept = source.level not in LOGGED or self.is_kept_like(body, reading)
        return kept and len(body) < LONGEST - PREFIX and body[:1] != b"(" and says_nothing(body, source.level)

    def leave_block(self) -> None:
        """Forget the block; the lines that were passed over and may have to be read stay."""
        self.waiting = {stream for stream in self.waiting if stream.skipped}
        self._seen = b"", 0, 0, 0
        if self._ahead is not None:
            self._ahead.leave_block()

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
        before = stream.step
        in_stack = stream.state == "stack" and not stream.mode
        if end - start > LONGEST or not in_stack:
            stream.step = None
        if end - start > LONGEST:
            return
        raw = data[start:end]
        source, body = self.sources.of_line(raw, line, reading.traces)
        # Lines that are remembered whole are those of one stream.
        root = line.level, source.key if body is raw else None
        if in_stack and part == "head":
            stream.step, stream.stepped = self._roots.setdefault(root, Step()), stream.trace
        elif in_stack and part in ("frame", "code"):
            if stream.stepped is not stream.trace:
                # A frame that no line announced begins a stack as well.
                known = part == "frame" and len(stream.trace.frames) == 1
                stream.step, stream.stepped = (
                    (self._roots.setdefault(root, Step()) if known else None),
                    stream.trace,
                )
            stream.step = self._next(stream, line, body, missed)
        elif in_stack:
            stream.step = None
        elif part in ("", "final") and line.level in LOGGED and source.plain and len(reading.incident.errors) < ERRORS:
            self._begins.add(body[:BEGIN])
        if part == "final" and before is not None and stream.trace.count > 1:
            _note_end(before, body, line, missed, reading.traces)
        if (
            part == "final"
            and source.plain
            and stream.trace.count > 1
            and (trace := reading.traces.stands_alone(line)) is not None
        ):
            forget(self._alone)
            self._alone[source.key, body] = trace

    def root(self, level: str) -> Step | None:
        """Return where stacks begin whose lines bear vLLM's own prefix with this level."""
        return self._roots.get((level, None))

    def _next(self, stream: Stream, line: Line, body: bytes, missed: set[int]) -> Step | None:
        """Return the step that a line of a stack is, and what is known of it now."""
        if stream.step is None:
            return None
        step = stream.step.then.get(body)
        if step is None:
            if self._steps >= STEPS:
                return None
            self._steps += 1
            step = stream.step.then[body] = Step()
            frames = step.frames = stream.trace.frames
            step.count = len(frames)
            if frames and frames[-1].line == line.number:
                step.frame = frames[-1]
            elif frames and frames[-1].code_line == line.number:
                step.code = frames[-1].code
        step.missed |= missed
        return step

    def is_kept_like(self, body: bytes, reading: Reading) -> bool:
        """Return whether a line logged as an error would not be kept."""
        return len(reading.incident.errors) >= ERRORS or (body[:BEGIN] in self._begins and body.isascii())

    def _again(self, stream: Stream, source: Source, body: bytes, number: int, reading: Reading) -> bool:
        """Count an exception that stands alone on its line, if it has stood so before."""
        trace = self._alone.get((source.key, body))
        full = source.level not in LOGGED or reading.incident.contexts.full
        return trace is not None and full and reading.traces.again(stream, trace, source.process, number)


def _note_end(before: Step, body: bytes, line: Line, missed: set[int], traces: TraceReader) -> None:
    """Remember the line of a known exception that ends a stack after a step."""
    key = traces.known_end(before, line.text)
    if key:
        if before.ends is None or len(before.ends) >= ENDS:
            before.ends = {}
        end = before.ends.setdefault(body, Step())
        end.key = key
        end.missed |= missed


def _all_missed(step: Step, literals: Collection[int], reading: Reading) -> bool:
    """Return whether none of the rules matches the line of a step; they count as tried then."""
    if not literals:
        return True
    if not step.missed.issuperset(literals):
        return False
    for index in literals:
        reading.effort.missed(index)
    return True
