"""Reads the lines of one server and cuts them into incidents, one for each start."""

from __future__ import annotations

from ...corpus.stages import STAGE_ORDER
from ...corpus.types import Rule
from ..facts.continuation import JOINED, capture_of, joined
from ..facts.types import Captures
from ..lines.context import Contexts
from ..lines.tail import Tail
from ..lines.types import Line, Trace
from ..matching.bounded import TooSlowError
from ..matching.engine import Engine
from ..matching.match import match_line
from ..matching.scan import Found
from ..matching.types import Hit
from ..serving.recorder import Recorder
from .builder import ERRORS, SITES, IncidentBuilder, Place
from .candidates import Followed, Literals, candidates, is_prompt, read_line
from .effort import ORDINARY, Effort
from .repeated import Repeated
from .types import Incident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

AHEAD = 24
"""Facts kept that seem to belong to the start that follows."""
LAST = 8
"""Last lines of a frequent kind on which a rule that judges them is tried."""
LOOP = 50
"""Starts after which a log is a crash loop: of the middle ones only so much is kept as to count them."""
LOOP_HITS = 20
"""Hits kept of each of them."""
WRAPPED, WRAPPED_LINES, WRAPPED_LENGTH = 8, 6, 1200
"""Messages of a start that are read as one line where they go on over several, and the lines and characters of one at most."""
LARGE = 1 << 17
"""Bytes of a block from which on lines of stacks are remembered from the first stack on, not from the first repeated one."""
EARLY = ("launch", "config")
"""Stages that a launcher speaks of before the server does."""


class IncidentReader:
    """Fed with the blocks of one server's log, in order.

    Args:
        engine: The rules.
        shared: Whether other servers' lines were taken out of the log, and left empty ones.
    """

    def __init__(self, engine: Engine, shared: bool = False) -> None:
        self.shared = shared
        self.incidents: list[Incident] = []
        """The starts that are over."""
        self.again = False
        """Whether this start prints what it has printed before, so that it is worth remembering lines."""
        self._engine = engine
        self._recorder = Recorder()
        self._large = False
        self._found: Found = []
        self._earlier = b""
        self._repeated = Repeated(engine.scanner)
        self._begin(1)
        self._ahead: list[tuple[Rule, Line, Captures]] = []

    @property
    def incident(self) -> Incident:
        """The server start that is being read."""
        return self._builder.incident

    @property
    def scanner(self) -> object:
        """What finds literals at present, which a copy of the reader may share."""
        return self.effort.scanner

    @property
    def found(self) -> tuple[int, ...]:
        """How many starts, hits, errors, marks and exceptions were found: for whoever looks at a log that goes on."""
        incident, traces = self.incident, self.traces
        return (
            len(self.incidents),
            len(incident.hits),
            len(incident.errors),
            len(incident.stages),
            len(traces.traces),
            bool(traces.open),
        )

    def read(self, data: bytes, number: int, earlier: bytes) -> None:
        """Read a block.

        Args:
            data: Whole lines.
            number: That of the first.
            earlier: The end of the log before it.
        """
        self.incident.contexts.extend(data)
        self._recorder.read(data, number)
        self._large = len(data) > LARGE
        self._found, self._earlier = [], earlier
        for start, end, line, literals in candidates(data, number, self._engine.scanner, self):
            # In a log that servers share, a line without anything is another's: an own one bears the container's name.
            if self.shared and start == end:
                continue
            if self.again and self._repeated.take(data, start, end, line, literals, self):
                continue
            self._read_line((data, start, end, earlier), line, literals)
        self.effort.learn(self._found, len(data), self._repeated.passed)
        self._repeated.leave_block()
        self._found, self._earlier = [], b""

    def lazy(self, data: bytes) -> bool:
        """Return whether to look for literals bit by bit in a block: of a large one with errors much may be passed over."""
        # A scanner that has settled looks around errors, for which it must see the whole block.
        settled = self.effort.scanner is not self._engine.scanner
        return self._large and not settled and (self.again or b"ERROR " in data[:LARGE])

    def find(self, data: bytes, start: int, end: int, number: int) -> Found:
        """Return the literals in a part of a block, of which line ``number`` is the first."""
        if start == 0 and end == len(data):
            found = self.effort.scanner.find(data)
        else:
            found = self._engine.scanner.find(data[start:end], len(data))
            if start:
                found = [(word, first + start, last + start) for word, first, last in found]
        self._repeated.saw(data, start, end, number)
        self._found += found
        return found

    def follow(self, data: bytes, start: int, number: int, found: Found, index: int, reach: int) -> Followed:
        """Pass over the lines from ``start`` on that say what the log has said before; see ``Reading``."""
        return self._repeated.follow((data, reach, found), start, number, index, self)

    def keep_context(self, number: int, place: tuple[bytes, int, int]) -> None:
        """Keep what surrounds line ``number``; see ``Reading``."""
        self.incident.contexts.keep(number, place, self._earlier)

    def match_again(self, line: Line, waiting: Collection[int], missed: Collection[int]) -> bool:
        """Count rules as tried on a line that has been matched before; see ``Reading``."""
        rules = self._engine.line_rules
        matching = [index for index in sorted(waiting) if index not in missed]
        # Whose line a rule matches is asked each time, where it is asked; and each fact is read.
        if any(rules[index].role == "fact" or rules[index].speaker for index in matching):
            return False
        hits = [self._builder.same(rules[index], line) for index in matching]
        if None in hits:
            return False
        for index in waiting:
            if index in missed:
                self.effort.missed(index)
        for index, hit in zip(matching, hits, strict=True):
            self.effort.matched(index, rules[index])
            if hit is not None:
                self._builder.count(hit, line.number)
        return True

    def _read_line(self, place: Place, number: int, literals: Literals) -> None:
        line = read_line(place[0], place[1], place[2], number, literals)
        if line.logged and len(self.incident.sites) < SITES:
            self.incident.sites.append(line)
        if is_prompt(line.text):
            rules = self._engine.line_rules
            literals = {index: literal for index, literal in literals.items() if rules[index].role == "fact"}
            if not literals or not self.traces.open:
                self._try_rules(line, place, literals, "", None)
                return
        traces = self.traces
        part, trace = traces.feed(line)
        self.again = self.again or (self._large and part == "head")
        missed = self._try_rules(line, place, literals, part, trace) if literals else set()
        if self.again and traces is self.traces:
            self._repeated.note(place[:3], line, part, missed, self)
        # The line may have begun the next start: from here on it is that one's.
        if line.level in ("ERROR", "CRITICAL") and part in ("", "final"):
            self._builder.note_error(line, place)
            self.again = self.again or len(self.incident.errors) >= ERRORS
        if part == "final":
            self.again = self.again or self.traces.repeats
            self._builder.keep_context(line, place)

    def _try_rules(self, line: Line, place: Place, literals: Literals, part: str, trace: Trace | None) -> set[int]:
        """Try rules on a line; return those that do not match it, whoever wrote it."""
        missed = set()
        size = len(line.text)
        for index in sorted(literals):
            rule = self._engine.line_rules[index]
            captures = None
            if size <= ORDINARY or self.effort.affords(index, rule, size):
                captures = self._search(index, rule, line, literals[index])
            if captures is None or (rule.speaker and not self._builder.is_spoken_by(rule, line)):
                self.effort.missed(index)
                if captures is None:
                    missed.add(index)
                continue
            self.effort.matched(index, rule)
            quoted = _is_quoted(rule, part)
            if rule.role != "fact":
                self._builder.keep(Hit(rule, line, captures, trace if part else None, quoted, last=line.number), place)
            elif not quoted:
                self._fact(rule, line, captures, place)
            elif rule.bucket != "facts":
                self.incident.fired.add(rule.id)
        return missed

    def _search(self, index: int, rule: Rule, line: Line, literal: str) -> Captures | None:
        try:
            return match_line(rule, line, literal)
        except TooSlowError:
            self.effort.took_too_long(index, rule)
            return None

    def _fact(self, rule: Rule, line: Line, captures: Captures, place: Place) -> None:
        if rule.continues:
            block, _, end, _ = place
            name = capture_of(rule.continues)
            captures[name] = joined(rule.continues, captures.get(name, ""), block[end + 1 : end + 1 + JOINED])
        if rule.stage in EARLY and not rule.start and self._builder.order >= STAGE_ORDER["weights"]:
            # A launcher's command, or the configuration of the next offline run: it belongs to the start that follows.
            self._ahead = [*self._ahead[-AHEAD:], (rule, line, captures)]
            return
        if self._builder.ends_before(rule, line):
            earlier = self._builder.book
            self._start_anew(line.number)
            if not rule.start:
                self._builder.book.inherit(earlier)
        self._mark(rule, line, captures)

    def _mark(self, rule: Rule, line: Line, captures: Captures) -> None:
        if self._builder.mark(rule, line, captures) == "serving":
            self.effort.serves()

    def _start_anew(self, number: int) -> None:
        """Close the start that was read so far: the next one begins on line ``number``."""
        self.incident.serving = self._recorder.cut(number - 1)
        self._close(number - 1)
        self._begin(number)
        ahead, self._ahead = self._ahead, []
        for rule, line, captures in ahead:
            self._mark(rule, line, captures)

    def _begin(self, number: int) -> None:
        self._builder, self.effort = IncidentBuilder(number), Effort(self._engine)
        # Asked for on every line.
        self.traces, self.done = self._builder.traces, self.effort.done
        self._repeated.begin()
        self.again = False

    def _close(self, last: int) -> None:
        if len(self.incidents) > LOOP:
            # The answer is about this one, or about the one before.
            _thin(self.incidents[-2])
        incident = self._builder.close(last, self._engine.trace_rules, self.effort.slow)
        for trace in [each for each in incident.traces if "\n" in each.message.strip()][:WRAPPED]:
            self._read_wrapped(trace)
        incident.given_up = self.effort.given_up()
        self.incidents.append(incident)

    def _read_wrapped(self, trace: Trace) -> None:
        """Try the rules on lines on a message that a person or a terminal has wrapped, where none of its lines says as much."""
        words = " ".join(trace.message.split())
        if trace.message.strip().count("\n") >= WRAPPED_LINES or len(words) > WRAPPED_LENGTH:
            return
        line = Line(trace.number, f"{trace.kind}: {words}", trace.process, trace.level, raw=trace.raw)
        scanner = self._engine.scanner
        waiting = {
            index: scanner.words[word].decode()
            for word, _, _ in scanner.find_part(line.text.encode())
            for index in scanner.rules[word]
        }
        own = range(trace.number, max(trace.number, trace.last) + 1)
        known = {hit.rule.id for hit in self.incident.hits if hit.line.number in own}
        for index, literal in sorted(waiting.items()):
            rule = self._engine.line_rules[index]
            if rule.role in ("cause", "symptom") and not rule.speaker and rule.id not in known:
                captures = self._search(index, rule, line, literal)
                if captures is not None:
                    self.incident.hits.append(Hit(rule, line, captures, trace, last=trace.last))

    def finish(self, tail: Tail, last: int) -> list[Incident]:
        """Read the end of the log, which is line ``last``, and return all incidents."""
        self._last_of_frequent(tail)
        self.incident.serving = self._recorder.finish(tail, last)
        for rule, line, captures in self._ahead:
            # No start followed: the log is not in order, or names its command at the end.
            self._builder.note(rule, line, captures)
        self._close(last)
        return self.incidents

    def _last_of_frequent(self, tail: Tail) -> None:
        """Note the last line of the kinds that are too frequent to be read each time (throughput)."""
        for literal, index in self._engine.frequent:
            rule = self._engine.line_rules[index]
            at = len(tail.data)
            for _ in range(1 if rule.role == "fact" else LAST):
                at = tail.data.rfind(literal, 0, at)
                if at < 0 or self._read_last(index, literal, tail, at):
                    break

    def _read_last(self, index: int, literal: bytes, tail: Tail, at: int) -> bool:
        """Try a rule on the line of the log's end that holds its literal at ``at``; return whether it matched."""
        line, start, end = tail.line_at(at)
        rule = self._engine.line_rules[index]
        captures = self._search(index, rule, line, literal.decode())
        if captures is None:
            return False
        if rule.role == "fact":
            self._builder.note(rule, line, captures)
        else:
            self._builder.keep(Hit(rule, line, captures, last=line.number), (tail.data, start, end, b""))
        return True


def _thin(incident: Incident) -> None:
    incident.hits = incident.hits[:LOOP_HITS]
    incident.traces, incident.errors, incident.sites = [], [], []
    incident.serving = None
    incident.contexts = Contexts()


def _is_quoted(rule: Rule, part: str) -> bool:
    """Return whether a match stands in source code that a traceback shows, which proves nothing."""
    return (part == "code" and not rule.in_code) or (part == "frame" and "File" not in rule.pattern)
