"""Passes over whole stretches of a log that say what it has said before, before anything is looked for in them.

The lines of a block are split once. Those of known stacks lead from step to step by their bytes, each stream for itself, so that
the lines of several processes may stand between each other; lines outside of stacks that begin alike are looked at together.
"""

from __future__ import annotations

from collections import Counter

from ..lines.traceback_limits import GIVE_UP
from ..lines.traceback_state import Step, Stream
from ..lines.types import Line
from .builder import SITES
from .plain_lines import LEAP_BYTES, LOGGED, LONGEST, MARK, adding_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from ..matching.scan import Scanner
    from .repeated import Reading, Repeated
    from .sources import Source

RUN = 8
"""Lines from which on it is worth comparing the rest of a stack at once."""
LANES = 5_000
"""Prefixes, and whole lines, whose streams are remembered."""
HEAD = b"Traceback (most recent call last):"
_NOWHERE = Step()
_NO_RULES: frozenset[int] = frozenset()


class Lane:
    """How far the lines of one stream are followed, within one turn."""

    __slots__ = (
        "begin", "key", "level", "lines", "logged", "numbers", "prefixed", "process", "step", "stream", "turn",
    )  # fmt: skip

    def __init__(self, source: Source, prefixed: bool) -> None:
        self.key, self.logged, self.prefixed = source.key, source.logged, prefixed
        self.process, self.level = source.process, source.level
        self.turn = 0
        self.stream = Stream()
        self.begin = self.step = _NOWHERE
        self.numbers: list[int] = []
        self.lines: list[bytes] = []

    def enter(self, turn: int, number: int, reading: Reading) -> Step:
        """Begin a turn on line ``number``, where the stream stands now; return the step that this is."""
        self.turn = turn
        self.numbers, self.lines = [], []
        self.begin = self.step = _NOWHERE
        stream = reading.traces.streams.get(self.key)
        if (
            stream is not None
            and stream.state == "stack"
            and stream.step is not None
            and stream.stepped is stream.trace
            and number - stream.seen <= GIVE_UP
            and not self.is_kept(reading)
        ):
            self.stream = stream
            self.begin = self.step = stream.step
        return self.step

    def is_kept(self, reading: Reading) -> bool:
        """Return whether the stream's lines are kept to tell the release by."""
        return self.logged and len(reading.incident.sites) < SITES

    def stand(self, stream: Stream, step: Step) -> None:
        """Forget what was passed over: a stack has ended, or begins with this step."""
        self.numbers, self.lines = [], []
        self.stream, self.begin, self.step = stream, step, step

    def leave(self) -> bool:
        """Tell the stream which lines were passed over in this turn, which is over; return whether there are any."""
        step, self.step = self.step, _NOWHERE
        if not self.numbers:
            return False
        stream = self.stream
        if not stream.skipped:
            stream.resume = self.begin
        stream.skipped.append((self.lines, self.numbers, self.prefixed))
        stream.step, stream.seen = step, self.numbers[-1]
        return True


class Run:
    """How a stack goes on: its next lines without what stands before them, and their steps."""

    __slots__ = ("bodies", "silent", "size", "steps")

    def __init__(self, step: Step) -> None:
        self.bodies: list[bytes] = []
        self.steps: list[Step] = []
        while step.then:
            body, step = next(iter(step.then.items()))
            self.bodies.append(body)
            self.steps.append(step)
        self.size = sum(map(len, self.bodies))
        self.silent = False
        """Whether it is known that no rule waits for anything in them."""

    def stands_at(self, data: bytes, start: int, prefix: bytes) -> bool:
        """Return whether the lines from ``start`` on are these, with ``prefix`` before each."""
        # Where lines of others stand between them, the last of them is not where it would be.
        last = start + self.size + (len(self.bodies) - 1) * (len(prefix) + 1)
        if not data.startswith(prefix + self.bodies[-1] + b"\n", last - len(self.bodies[-1])):
            return False
        return data.startswith(prefix + (b"\n" + prefix).join(self.bodies), start)


class Ahead:
    """Follows one log, block by block.

    Args:
        scanner: Knows the literals.
        repeated: Remembers what the log has printed.
    """

    def __init__(self, scanner: Scanner, repeated: Repeated) -> None:
        self.passed: Counter[int] = Counter()
        """Literals in the lines of a block that were passed over without having been looked for."""
        self._seen: tuple[bytes, int, int, int] = b"", 0, 0, 0
        """The part of the block in which literals were looked for last: its start, its end, the number of its first line."""
        self._unseen = 0
        """Number of the first line behind that part; 0 where nobody has asked yet."""
        self._scanner, self._repeated = scanner, repeated
        self._turn = 0
        self._data, self._lines, self._first = b"", [b""], 0
        self._heads: dict[bytes, Lane] = {}
        self._wholes: dict[bytes, Lane] = {}
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._runs: dict[Step, Run | None] = {}

    def begin(self) -> None:
        """Forget what belongs to the start that is over."""
        for known in (self._heads, self._wholes, self._lanes):
            known.clear()

    def saw(self, data: bytes, start: int, end: int, number: int) -> None:
        """Note that literals have been looked for in a part of a block, of which line ``number`` is the first."""
        self._seen, self._unseen = (data, start, end, number), 0

    def leave_block(self) -> None:
        """Forget the block."""
        self._data, self._lines = b"", [b""]
        self._seen, self._unseen = (b"", 0, 0, 0), 0
        self.passed.clear()

    def steps(self, data: bytes, start: int, number: int, reading: Reading) -> tuple[int, int]:
        """Pass over the lines of known stacks from ``start`` on, which is the begin of line ``number``.

        Returns:
            Where the first line begins that is left, and its number.
        """
        while self._begins_known(data, start, number, reading):
            after, left = self._pass(data, start, number, reading)
            if left == number:
                break
            start, number = after, left
        return start, number

    def _pass(self, data: bytes, start: int, number: int, reading: Reading) -> tuple[int, int]:
        """Pass over lines as ``steps`` does, up to the end of a stack that stood in one piece, or so many."""
        if self._data is not data:
            self._data, self._lines = data, data.split(b"\n")
            self._first = number - data.count(b"\n", 0, start)
        lines, first, heads = self._lines, self._first, self._heads
        turn = self._turn = self._turn + 1
        touched: list[Lane] = []
        began, line = number - first, number
        # The last of them is what stands behind the last line end. No stream is silent for too long within one turn.
        for raw in lines[began : min(len(lines) - 1, began + GIVE_UP)]:
            name, mark, body = raw.partition(MARK)
            lane = heads.get(name) if mark else None
            if lane is None:
                lane = self._wholes.get(raw) or self._lane(raw, body, line, reading)
                if lane is None:
                    break
                body = body if lane.prefixed else raw
            step = lane.step.then.get(body)
            if step is None and lane.turn != turn:
                touched.append(lane)
                step = lane.enter(turn, line, reading).then.get(body)
            if step is None:
                at = start + self._size(number, line)
                if not self._turns(lane, body, (at, at + len(raw), line), reading):
                    break
                line += 1
                continue
            if not (step.silent or self._may_pass(step, body, lane, line, reading)):
                break
            lane.step = step
            lane.numbers.append(line)
            lane.lines.append(raw)
            line += 1
            if step.count == 1 and lane.begin.count == 0:
                place = data, start + self._size(number, line), raw[: len(raw) - len(body)]
                line += self._whole(step, lane, place, line, reading)
        for lane in touched:
            if lane.leave():
                self._repeated.waiting.add(lane.stream)
        return start + self._size(number, line), line

    def _size(self, first: int, last: int) -> int:
        """Return how many bytes the lines from line ``first`` on take in the block, before line ``last``."""
        return sum(map(len, self._lines[first - self._first : last - self._first])) + last - first

    def _begins_known(self, data: bytes, start: int, number: int, reading: Reading) -> bool:
        """Return whether the first line at ``start``, line ``number``, goes on with a stack, ends one, or begins one."""
        raw = data[start : max(start, data.find(b"\n", start, start + LONGEST))]
        name, mark, body = raw.partition(MARK)
        lane = self._heads.get(name) if mark else None
        if lane is None:
            lane = self._wholes.get(raw) or self._lane(raw, body, number, reading)
            if lane is None:
                return False
            body = body if lane.prefixed else raw
        stream = reading.traces.streams.get(lane.key)
        if stream is None:
            return False
        step = stream.step
        return body == HEAD or (
            step is not None and (body in step.then or (step.ends is not None and body in step.ends))
        )

    def _turns(self, lane: Lane, body: bytes, place: tuple[int, int, int], reading: Reading) -> bool:
        """Return whether a line ends a known stack as it has ended before, or begins one; it is counted then.

        Args:
            lane: Of its stream, of which all lines of this turn are known.
            body: The line without its prefix.
            place: Where it begins and ends in the block, and its number.
            reading: Stands before the line.
        """
        number, traces = place[2], reading.traces
        stream = traces.streams.get(lane.key)
        if stream is None or not lane.prefixed or lane.is_kept(reading):
            return False
        if body == HEAD:
            root = self._repeated.root(lane.level)
            if root is None or stream.state == "stack" or not self._may_pass(root, body, lane, number, reading):
                return False
            traces.begin_again(stream, lane.process, lane.level, number)
            stream.step, stream.stepped = root, stream.trace
            lane.stand(stream, root)
            return True
        end = lane.step.ends.get(body) if lane.step.ends else None
        if (
            end is None
            or (lane.level in LOGGED and not self._repeated.is_kept_like(body, reading))
            or (trace := traces.ended_so(stream, end.key)) is None
            or not self._may_end(end, body, lane, number, reading)
        ):
            return False
        reading.keep_context(number, (self._data, place[0], place[1]))
        traces.end_again(stream, trace, number)
        lane.stand(stream, _NOWHERE)
        return True

    def _may_end(self, end: Step, body: bytes, lane: Lane, number: int, reading: Reading) -> bool:
        """Return whether all rules that match an exception's own line have matched it before; they count once more then."""
        if self._may_pass(end, body, lane, number, reading):
            return True
        rules, done = self._scanner.rules, reading.done
        waiting = {rule for word in end.words or () for rule in rules[word] if rule not in done}
        line = Line(number, body.decode("utf-8", "replace"), lane.process, lane.level)
        if not reading.match_again(line, waiting, end.missed):
            return False
        self._count(end, _NO_RULES, number, reading)
        return True

    def _lane(self, raw: bytes, body: bytes, number: int, reading: Reading) -> Lane | None:
        """Return that of the stream to which a line belongs, if this is known or the line may begin a stack."""
        if body == HEAD:
            self._repeated.sources.learn(raw, number, reading.traces)
        source, body = self._repeated.sources.known(raw)
        if source is None:
            return None
        prefixed = len(body) < len(raw)
        if prefixed and not self._is_silent(source, raw[: len(raw) - len(body)]):
            return None
        lane = self._lanes.get(source.key)
        if lane is None:
            lane = self._lanes[source.key] = Lane(source, prefixed)
        if lane.prefixed is not prefixed:
            return None
        known, name = (self._heads, raw[: len(raw) - len(body) - len(MARK)]) if prefixed else (self._wholes, raw)
        if len(known) >= LANES:
            known.clear()
        known[name] = lane
        return lane

    def _is_silent(self, source: Source, prefix: bytes) -> bool:
        """Return whether no rule waits for anything in a prefix, nor for what may stand half in it."""
        if source.silent is None:
            source.silent = not prefix.endswith(self._scanner.begins(MARK)) and not self._words(prefix)
        return source.silent

    def _words(self, text: bytes) -> tuple[int, ...]:
        """Return the literals in a text that rules wait for."""
        rules = self._scanner.rules
        return tuple(word for word, _, _ in self._scanner.find_part(text) if rules[word])

    def _missed(self, step: Step, body: bytes, lane: Lane, reading: Reading) -> AbstractSet[int] | None:
        """Return the rules that wait for something in a line and do not match it; None where one of them may."""
        if step.words is None:
            step.words = self._words(MARK + body if lane.prefixed else body)
            step.silent = not step.words
        if step.silent:
            return _NO_RULES
        rules, done = self._scanner.rules, reading.done
        waiting = {rule for word in step.words for rule in rules[word] if rule not in done}
        return waiting if step.missed.issuperset(waiting) else None

    def _count(self, step: Step, missed: AbstractSet[int], number: int, reading: Reading) -> None:
        """Count rules as tried on line ``number``."""
        for rule in missed:
            reading.effort.missed(rule)
        if self._unseen == 0:
            data, start, end, first = self._seen
            self._unseen = first + data.count(b"\n", start, end)
        if number >= self._unseen:
            self.passed.update(step.words or ())

    def _may_pass(self, step: Step, body: bytes, lane: Lane, number: int, reading: Reading) -> bool:
        """Return whether none of the rules that wait for something in a line matches it; they count as tried then."""
        missed = self._missed(step, body, lane, reading)
        if missed is not None and not step.silent:
            self._count(step, missed, number, reading)
        return missed is not None

    def _run(self, step: Step) -> Run | None:
        """Return how stacks that came by a step have gone on, the first of them, if that is long enough."""
        run = self._runs.get(step)
        if run is None or run.steps[-1].then:
            run = Run(step)
            if len(run.steps) < RUN:
                return None
            self._runs[step] = run
        return run

    def _whole(self, step: Step, lane: Lane, place: tuple[bytes, int, bytes], number: int, reading: Reading) -> int:
        """Pass over the rest of a stack, if it stands in one piece; return of how many lines that is.

        Args:
            step: That of the stack's first frame.
            lane: Its stream.
            place: The block, where the next line begins there, and what stands before each line.
            number: Of the next line.
            reading: Stands before it.
        """
        run = self._run(step)
        if run is None or not run.stands_at(*place) or not self._all_pass(run, lane, number, reading):
            return 0
        count = len(run.steps)
        lane.step = run.steps[-1]
        lane.numbers.extend(range(number, number + count))
        lane.lines.extend(self._lines[number - self._first : number - self._first + count])
        return count

    def _all_pass(self, run: Run, lane: Lane, number: int, reading: Reading) -> bool:
        """Return whether the lines of a run, the first of them line ``number``, may be passed over."""
        if run.silent:
            return True
        waiting: list[tuple[Step, AbstractSet[int], int]] = []
        for at, (step, body) in enumerate(zip(run.steps, run.bodies, strict=True), number):
            if not step.silent:
                missed = self._missed(step, body, lane, reading)
                if missed is None:
                    return False
                if not step.silent:
                    waiting.append((step, missed, at))
        run.silent = all(step.silent for step in run.steps)
        for step, missed, at in waiting:
            self._count(step, missed, at, reading)
        return True

    def leap(self, place: tuple[bytes, int], prefix: bytes, source: Source, reading: Reading) -> tuple[int, int]:
        """Pass over the lines of a block from a place on that begin with a prefix, if none of them adds anything.

        Returns:
            Where the first line begins that is left, and how many were passed over.
        """
        data, start = place
        lines = adding_nothing(data, start, LEAP_BYTES, prefix, source, reading)
        if not lines or not self._is_silent(source, prefix):
            return start, 0
        words = self._words(MARK + (b"\n" + MARK).join(lines))
        rules, done = self._scanner.rules, reading.done
        if words and not all(done.issuperset(rules[word]) for word in set(words)):
            return start, 0
        self.passed.update(words)
        return start + sum(map(len, lines)) + len(lines) * (len(prefix) + 1), len(lines)
