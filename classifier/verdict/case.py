"""What one server start shows, seen as evidence: which hits stand, what was stopped, came up, or went on all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from ...corpus.stages import STAGE_ORDER
from ...corpus.types import Traits
from ..conditions import shows, told
from ..incidents.types import Incident, StageSpan
from ..lines.prefix import split_line
from ..lines.types import Line, Trace
from ..matching.match import match_frames
from ..matching.types import Hit
from ..patterns.lazy import LazyPattern

READY = STAGE_ORDER["api_ready"]
QUIET = ("DEBUG", "INFO", "WARNING")
"""Levels at which a process says what it can live with."""
RAISED = ("ERROR", "CRITICAL")
"""Levels at which a process logs the exception that ends what it does."""
LOUD = ("", "ERROR", "CRITICAL")
WAITED = 3
"""Times that a client was refused from which on it waited for the server to come up."""
OF_THE_LAUNCH = ("launch", "serving", "shutdown")
"""Stages that are no step on the way up."""
LONGEST = 4000
"""Characters of a line that are looked at."""
REFUSED = LazyPattern(r'HTTP/\d(?:\.\d)?" [45]\d\d\b')
"""An answer that refuses a request."""
CHAIN = 8
"""Exceptions of a chain that are followed."""


class Case:
    """One incident with what its hits say about each other.

    Args:
        incident: The server start.
        traits: What is peculiar to a bucket, by its id; all are usual where this is left out.
    """

    def __init__(self, incident: Incident, traits: Callable[[str], Traits] = lambda _: Traits()) -> None:
        self.incident = incident
        self.traits = traits
        self._harmless_lines: dict[int, Hit] = {}
        self._harmless_traces: set[int] = set()
        self._note_harmless()
        self.fired = self._fired()
        """Rules that hold, by full id: what ``requires`` and ``unless`` look at."""
        self.stages = {span.stage: span.line for span in incident.stages}
        self.ready = self.stages.get("api_ready", 0)
        """Line on which the server came up; 0 where it did not."""
        self.stop = stop_line(incident)
        """Line on which a stop from outside shows; 0 where none does."""
        self.began = min((line for stage, line in self.stages.items() if stage not in OF_THE_LAUNCH), default=0)
        """Line of the first step of the start, the command that somebody typed not counted; 0 where none shows."""
        wrappers = [
            hit.line.number
            for hit in incident.hits
            if hit.rule.role == "symptom" and hit.rule.scope != "request" and not hit.quoted
        ]
        self.first_wrapper = min(wrappers, default=0)
        self._specific = self._specific_hits()

    @property
    def came_up(self) -> bool:
        """Whether the server reached its API."""
        return STAGE_ORDER.get(self.incident.reached, -1) >= READY

    def cancelled(self, hit: Hit) -> bool:
        """Return whether a benign rule speaks for the same line or exception."""
        harmless = self._harmless_lines.get(hit.line.number)
        # Advice that has lost its newline stands behind the exception that it is about.
        behind = hit.trace is not None and hit.trace.number == hit.line.number and bool(hit.trace.kind)
        if harmless is not None and harmless.rule is not hit.rule and not (harmless.rule.role == "advice" and behind):
            return True
        return hit.trace is not None and self.harmless(hit.trace)

    def harmless(self, trace: Trace) -> bool:
        """Return whether an exception is noise, by itself or because it was raised while handling noise."""
        link: Trace | None = trace
        for _ in range(CHAIN):
            if link is None:
                return False
            if id(link) in self._harmless_traces:
                return True
            cause = link.raised_from
            if cause is not None and cause.kind == "CancelledError" and "Timeout" in link.kind:
                return False  # asyncio ends what took too long by cancelling it: the timeout is what happened
            link = cause
        return False

    def holds(self, hit: Hit) -> bool:
        """Return whether the conditions of a rule on the rest of the log hold."""
        return self.met(hit) and not (hit.rule.unless and any(name in self.fired for name in hit.rule.unless))

    def met(self, hit: Hit) -> bool:
        """Return whether the log holds what a rule requires, at the stage that it is for: else it explains nothing."""
        rule = hit.rule
        if rule.stages and self.stage_at(hit.line.number) not in rule.stages:
            return False
        return not rule.requires or any(name in self.fired for name in rule.requires)

    def shown(self, signs: tuple[str, ...], hit: Hit) -> str:
        """Return the first of the signs of a hit's cause that the log shows, in words; "" where it shows none.

        A sign is a rule's full id, or conditions joined by "and" on facts, arguments and the hit's captures. What the log
        does not tell shows nothing.
        """
        values = {**self.incident.facts, **hit.captures} if signs else {}
        for sign in signs:
            if "/" in sign.partition(" ")[0]:
                if sign in self.fired and sign != hit.rule.id:
                    return f"the log holds {sign}{self._where(sign)}"
            elif all(shows(part, values) for part in sign.split(" and ")):
                return f"the log tells {' and '.join(told(part, values) for part in sign.split(' and '))}"
        return ""

    def _where(self, name: str) -> str:
        lines = [hit.line.number for hit in self.incident.hits if hit.rule.id == name]
        return f" (line {min(lines)})" if lines else ""

    def stands(self, hit: Hit) -> bool:
        """Return whether a hit counts at all: nothing harmless explains it, its stack fits and is whole, its conditions hold."""
        if hit.rule.strength == "guess" and hit.trace is not None and not hit.trace.kind:
            return False  # cut before its end: the last place that is shown is none where anything failed
        return not self.cancelled(hit) and self.holds(hit) and match_frames(hit.rule, hit.trace)

    def went_on(self, line: Line | Trace, last: int) -> bool:
        """Return whether the process that logged a line as an error came to a further step of the start afterwards.

        Workers do not count: several may bear one name. Nor does what was printed without a logger, which may be out of order,
        nor what was said in a start that broke down in the end: it may be why.

        Args:
            line: What was logged.
            last: Where it was logged for the last time.
        """
        if not (line.process and line.level) or depth(line.process) > 1 or self._broke_down():
            return False
        return any(span.process == line.process and span.line > last for span in self._steps())

    def survived(self, item: Line | Trace, last: int, fatal: bool = False) -> str:
        """Return how a process, or its server, outlived what was said; "" where nothing shows that it did.

        One principle for whatever was said, at whatever level: rules' words, exceptions, lines that nobody knows.

        Args:
            item: What was said.
            last: Where it was said for the last time.
            fatal: Whether an exception with its stack stands there: a later mark of a start that never came up may be that of
                another process.
        """
        if self.stop and item.number >= self.stop:
            return "after the shutdown began"
        if self.went_on(item, last):
            return "the process that said it went on with its start"
        if self.ready:
            return "before the server came up all the same" if last < self.ready else ""
        # A launch is the first step of a start: nothing before it is overcome by it.
        alone = "serving" if not self.began and item.level in RAISED else self._refusals
        marks = [line for stage, line in self.stages.items() if stage not in ("launch", "shutdown", alone)]
        return "the start went on" if not fatal and last < max(marks, default=0) else ""

    @cached_property
    def _refusals(self) -> str:
        """The stage of a server at work, where the last line that shows it refuses a request: that is no next step."""
        at = self.stages.get("serving", 0)
        return "serving" if at and any(line.number == at and REFUSED.search(line.text) for line in self.kept) else ""

    @cached_property
    def kept(self) -> list[Line]:
        """The lines of the start that were kept of the log's beginning and end, peeled."""
        return list(kept_lines(self.incident))

    def _steps(self) -> list[StageSpan]:
        """Return the steps on the way up that were logged as such: an error may name what stands for a step, too."""
        return [
            span
            for span in self.incident.stages
            if span.stage not in OF_THE_LAUNCH and (span.time or span.stage == "api_ready")
        ]

    def _broke_down(self) -> bool:
        """Return whether a start ends with an exception, a logged error or a death, after the last step that it came to."""
        last = max((span.line for span in self._steps()), default=0)
        after = [trace.number for trace in self.incident.traces if trace.kind and not self.harmless(trace)]
        after += [line.number for line in self.incident.errors if line.number not in self._harmless_lines]
        after += [hit.line.number for hit in self.incident.hits if hit.rule.role == "symptom" and not hit.quoted]
        return any(number > last for number in after if not self.stop or number < self.stop)

    def of_a_client(self, hit: Hit) -> bool:
        """Return whether a client's words stand above the start: who puts them there has them from elsewhere.

        That the server came up below overcomes nothing, unless the words come again and again, as those of a program do
        that waits for the server, or requests were answered then and no stack shows that the client gave up.
        """
        line, traits = hit.line, self.traits(hit.rule.bucket)
        if line.level or line.process or not line.number < self.began:
            return False
        if traits.side != "client" and hit.rule.scope != "request":
            return False
        if hit.count >= WAITED:
            return False
        gave_up = hit.trace is not None and bool(hit.trace.frames)
        return gave_up or not traits.waits or (hit.rule.role == "cause" and "serving" not in self.stages)

    def stage_at(self, number: int) -> str:
        """Return the stage that start-up had got to at a line."""
        best = ""
        for span in self.incident.stages:
            if span.line <= number and STAGE_ORDER[span.stage] >= STAGE_ORDER.get(best, -1):
                best = span.stage
        return best

    def specific_at(self, number: int) -> list[Hit]:
        """Return the hits of specific cause rules on a line."""
        return self._specific.get(number, [])

    def wrappers(self) -> list[Hit]:
        """Return the symptoms (wrappers, cascades) in the order of the log."""
        hits = [
            hit
            for hit in self.incident.hits
            if hit.rule.role == "symptom" and not hit.quoted and not self.cancelled(hit) and self.holds(hit)
        ]
        return sorted(hits, key=lambda hit: hit.line.number)

    def unexplained(self, places: bool = False) -> list[Trace]:
        """Return the exceptions that no rule speaks for, roots before what was raised from them, deepest process first.

        Advice that is printed below an exception ("For debugging consider ...") says nothing about it.

        Args:
            places: Whether those count, too, of which rules know the place and not the words.
        """
        speaking = [
            hit
            for hit in self.incident.hits
            if hit.rule.role not in ("fact", "advice") and not (places and hit.rule.place_alone) and self.met(hit)
        ]
        # What a scheduler prints below an exception when it cancels the job stands in its message and does not explain it.
        traces = {
            id(hit.trace)
            for hit in speaking
            if hit.trace is not None and not (hit.rule.role == "teardown" and hit.line.number > hit.trace.number)
        }
        lines = {hit.line.number for hit in speaking}
        found = [
            trace
            for trace in self.incident.traces
            if trace.kind
            and not trace.logging_error
            and id(trace) not in traces
            and trace.number not in lines
            and not self.harmless(trace)
        ]
        return sorted(found, key=lambda trace: (trace.raised_from is not None, -depth(trace.process), trace.number))

    def unexplained_errors(self) -> list[Line]:
        """Return the lines logged at ERROR or above that no rule matched."""
        lines = {hit.line.number for hit in self.incident.hits if self.met(hit)}
        return [line for line in self.incident.errors if line.number not in lines]

    def _note_harmless(self) -> None:
        for hit in self.incident.hits:
            if hit.rule.role in ("benign", "teardown", "advice"):
                self._harmless_lines.setdefault(hit.line.number, hit)
                if hit.trace is not None and hit.rule.role != "advice" and hit.line.number == hit.trace.number:
                    self._harmless_traces.add(id(hit.trace))

    def _fired(self) -> set[str]:
        standing = [hit for hit in self.incident.hits if self._fits(hit)]
        fired = self.incident.fired | {hit.rule.id for hit in standing if not hit.rule.requires}
        for _ in range(2):  # a rule may require one that requires another
            fired |= {hit.rule.id for hit in standing if any(name in fired for name in hit.rule.requires)}
        return fired

    def _fits(self, hit: Hit) -> bool:
        if not match_frames(hit.rule, hit.trace):
            return False
        return not (hit.rule.stages and self.stage_at(hit.line.number) not in hit.rule.stages)

    def _specific_hits(self) -> dict[int, list[Hit]]:
        found: dict[int, list[Hit]] = {}
        for hit in self.incident.hits:
            if (
                hit.rule.role == "cause"
                and hit.rule.specific
                and not hit.quoted
                and match_frames(hit.rule, hit.trace)
                and self.holds(hit)
            ):
                found.setdefault(hit.line.number, []).append(hit)
        return found


def kept_lines(incident: Incident) -> Iterator[Line]:
    """Yield the lines of a start that were kept of the beginning and the end of its log."""
    head, tail = incident.ends
    first = incident.last - tail.count(b"\n") + tail.endswith(b"\n")
    seen = incident.first - 1
    for start, data in ((1, head), (first, tail)):
        for number, raw in enumerate(data.split(b"\n"), start):
            if seen < number <= incident.last and raw.strip():
                seen = number
                for part in raw.split(b"\r"):
                    if part.strip():
                        yield split_line(number, part[:LONGEST].decode("utf-8", "replace"))


def stop_line(incident: Incident) -> int:
    """Return the line on which a stop from outside shows (signal, Ctrl-C, the server's own shutdown); 0 where none does."""
    lines = [span.line for span in incident.stages if span.stage == "shutdown"]
    # A SIGTERM that a child process received may have come from its own parent, which failed; Ctrl-C reaches all.
    lines += [
        hit.line.number
        for hit in incident.hits
        if hit.rule.role == "teardown"
        and hit.rule.cause
        and not hit.quoted
        and not (depth(hit.line.process) and "SIGTERM" in hit.line.text)
    ]
    return min(lines, default=0)


def depth(process: str) -> int:
    """Return how far down a process stands: 2 a worker, 1 an engine, 0 the API server or unknown."""
    name = process.lower()
    if "worker" in name:
        return 2
    return 1 if "engine" in name or "rank" in name else 0
