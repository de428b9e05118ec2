"""What was found in one server start: what every decider looks at."""

from __future__ import annotations

import re
from functools import cached_property

from ..incidents.types import Incident
from ..lines.mistakes import MISTAKES
from ..lines.prefix import split_line
from ..lines.types import Line, Trace
from ..matching.types import Hit
from ..patterns.lazy import LazyPattern
from ..situation.situate import situate
from . import policy
from .case import LOUD, QUIET, Case, depth
from .frames import with_frames
from .known import Known
from .residue import PROGRESS, UNOFFERED, residue_of
from .types import Candidate
from .weigh import weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...corpus.messages.fragments import Fragment
    from ...corpus.messages.row import Row
    from ..serving.types import ServingHealth
    from ..situation.situate import Situation
    from ..text_model.guess import Guess

QUOTE = 12
"""Lines below which a text may be what somebody quoted, without a word about it."""
MESSAGE = 2000
"""Characters of a message that are compared with the catalogue."""
_OURS = LazyPattern(
    r"vllm|\bLLM\(|(?:^|/)(?:openai|httpx|requests|aiohttp|litellm|langchain\w*|llama_index|ray|torch/distributed)/"
)
"""Frames of vLLM, of what it runs in, and of those who talk to a server: they pass on what vLLM said."""
_PASSED_ON = LazyPattern(r"Worker failed with error ['\"](?P<inner>.+?)['\"], please check the stack trace", re.DOTALL)
"""How an executor passes on what a worker said."""
_BODY = LazyPattern(
    r"(?P<q>\\?['\"])(?:message|detail|error)(?P=q): ?(?P<o>\\?['\"])(?P<inner>.+?)(?P=o)(?:, ?(?P=q)|\s*\}|$)",
    re.DOTALL,
)
"""The message within the body with which a server refuses a request."""
_IDLE = LazyPattern(r"throughput: |No available |Waiting |waiting |still |heartbeat")
"""What a server that makes no progress goes on printing."""
_EXCERPT = 200
"""Lines of a log without a start, up to which it is an excerpt; a longer one is the end of a server's life."""


class Findings:
    """What was found in one server start, each part worked out when it is first asked for.

    Args:
        incident: The server start.
        tail: The last lines of its log; empty where another start follows.
        known: The texts of the buckets, and the text model.
    """

    def __init__(self, incident: Incident, tail: list[Line], known: Known) -> None:
        self.incident = incident
        self.tail = tail
        self.known = known
        self.case = Case(incident, known.corpus.traits)

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The possible causes, best first."""
        return weigh(self.case)

    @cached_property
    def best(self) -> Candidate | None:
        """The best of them, where it has enough behind it to be an answer."""
        first = self.candidates[0] if self.candidates else None
        return first if first is not None and first.score >= policy.ACCEPT else None

    @cached_property
    def only_a_place(self) -> bool:
        """Whether the best cause is a rule's on a place, while the words of an exception are known, or no rule knows it."""
        best = self.best
        if best is None or not best.hit.rule.place_alone:
            return False
        return self.message is not None or (best.hit.rule.strength == "guess" and bool(self.raised))

    @cached_property
    def wrappers(self) -> list[Hit]:
        """Symptoms in the order of the log."""
        return self.case.wrappers()

    @cached_property
    def wrapper(self) -> Hit | None:
        """The wrapper that says most: a death before 'the engine is dead', and that before other software's words."""
        named = [hit for hit in self._standing_wrappers if hit.rule.cause]
        return max(named, key=self._says, default=None)

    @cached_property
    def _standing_wrappers(self) -> list[Hit]:
        """Those that were not overcome, nor said after a stop from outside: of a request that failed a client tells later, too."""
        stop = self.case.stop
        return [
            hit
            for hit in self.wrappers
            if not _recovered(hit, self) and not (stop and hit.line.number >= stop and not _told_by_a_client(hit))
        ]

    def _says(self, hit: Hit) -> tuple[int, float, int]:
        rank = self.known.corpus.traits(hit.rule.bucket).wrapper_rank
        return -rank, policy.STRENGTH[hit.rule.strength], -hit.line.number

    @cached_property
    def raised(self) -> list[Trace]:
        """Exceptions that no rule explains, at a level at which failures are told, and that were not overcome."""
        return self._standing(self.case.unexplained())

    @cached_property
    def unread(self) -> list[Trace]:
        """Those, and such of which a rule knows the place alone: nobody has read their words."""
        return self._standing(self.case.unexplained(places=True))

    @cached_property
    def elsewhere(self) -> list[Trace]:
        """Those of them whose whole stack shows that neither vLLM nor one of its clients was called."""
        return [trace for trace in self.unread if _elsewhere(trace)]

    @cached_property
    def errors(self) -> list[Line]:
        """Lines logged as errors that no rule explains, and that were not overcome."""
        return [line for line in self.case.unexplained_errors() if not self.case.survived(line, line.number)]

    @cached_property
    def bug(self) -> Trace | None:
        """The first of them that is an exception of Python's own, raised in vLLM's code or in one of its processes."""
        for trace in self.raised:
            if trace.kind not in MISTAKES:
                continue
            ours = any("vllm" in frame.path for frame in trace.frames[-4:])
            if ours or (not trace.frames and (depth(trace.process) or trace.level)):
                return trace
        return None

    @cached_property
    def residue(self) -> list[Line]:
        """Abnormal lines that nothing accounts for."""
        return residue_of(self.case)

    @cached_property
    def health(self) -> ServingHealth | None:
        """How the server did while it answered requests."""
        return _health_of(self.case)

    @property
    def trouble(self) -> bool:
        """Whether something went wrong that no rule explains."""
        return bool(self.raised or self.errors)

    @cached_property
    def guess(self) -> Guess | None:
        """What the text model takes the incident for; None where it has nothing to judge or must not be asked.

        Where the words of the first exception are unknown, its stack counts as well.
        """
        guesser = self.known.guesser
        guess = guesser.ask(self.incident, self.incident.errors, self.tail) if guesser is not None else None
        if guess is None or guess.own or self.known.alone:
            return guess
        if self.incident.unsigned:
            # The shipped model was fitted to vLLM's logs: it would find one of their causes in anybody's ValueError.
            return None
        unknown = next((trace for trace in self.unread if trace.frames), None)
        return with_frames(guess, unknown) if unknown is not None else guess

    @property
    def telling(self) -> Trace | Line | None:
        """What is advised on where no rule decides: the exception or line of the best rule there is, else the first unexplained."""
        if self.best is not None:
            hit = self.best.hit
            return hit.trace if hit.trace is not None else hit.line
        if self.raised:
            return self.raised[0]
        return self.errors[0] if self.errors else None

    @cached_property
    def message(self) -> tuple[Row, Trace | Line] | None:
        """The first of the unexplained exceptions and errors whose words alone name a bucket by the catalogue of messages.

        Where none does, the first that a module of a package around vLLM is known to say.
        """
        troubles: list[tuple[str, Trace | Line]] = [(f"{trace.kind}: {trace.message}", trace) for trace in self.unread]
        troubles += [(line.text, line) for line in (*self.errors, *self.residue)]
        # What an executor passes on is its worker's own message, although a rule knows the words around it.
        passed_on = (
            (pattern.search(hit.line.text), hit.line)
            for hit in self._standing_wrappers
            for pattern in (_PASSED_ON, _BODY)
        )
        troubles += [(found["inner"], line) for found, line in passed_on if found]
        if not troubles:
            return None
        from ...corpus.messages.matching import decided, of_module

        matcher = self.known.corpus.messages()
        elsewhere = {trace.number for trace in self.elsewhere}
        found = [(matcher.find(text[:MESSAGE]), item) for text, item in troubles]
        for telling in (decided, of_module):
            for matches, item in found:
                row = telling(matches)
                if row is not None and item.number not in elsewhere:
                    return row, item
        return None

    @cached_property
    def fragment(self) -> tuple[Fragment, Line] | None:
        """The message of which a part stands in what somebody quoted, and where: whole ones were read by now."""
        incident, text = self.incident, self.situation.excerpt
        whole = any(trace.frames for trace in incident.traces)
        if incident.foreign or incident.engine or incident.stages or whole or self.case.stop:
            return None
        complained = self.situation.writer.complaint not in ("", "other")
        if not text.strip() or (text.count("\n") >= QUOTE and not complained):
            return None
        read = {hit.line.number for hit in incident.hits if hit.rule.role != "fact"}
        if read:
            # What rules have read, and whole exceptions, tell no more: the part of a message is looked for in what is left.
            read |= {trace.number for trace in incident.traces}
            lines = enumerate(text.split("\n"), incident.first)
            text = "\n".join("" if number in read else line for number, line in lines)
        found = self.known.corpus.fragments().find(text, complained)
        if found is None:
            return None
        begin = text.rfind("\n", 0, found.start) + 1
        line = split_line(incident.first + text.count("\n", 0, begin), text[begin:].partition("\n")[0])
        return (found, line) if line.level not in QUIET else None

    @cached_property
    def situation(self) -> Situation:
        """What a person knows of the start before looking for a cause."""
        return situate(self.incident)

    def sure_guess(self, least: float) -> Guess | None:
        """Return the guess where it names a failure with at least this probability, and one that may be answered."""
        guess = self.guess
        # A model of the user's own says itself from where on it is sure.
        return (
            guess if guess is not None and self.known.answers(guess, guess.threshold if guess.own else least) else None
        )

    def _standing(self, traces: list[Trace]) -> list[Trace]:
        """Return those that were told at a level at which failures are, and that were not overcome."""
        return [
            trace
            for trace in traces
            if trace.level in LOUD and not self.case.survived(trace, trace.last or trace.number, bool(trace.frames))
        ]


def _elsewhere(trace: Trace) -> bool:
    """Return whether a whole stack shows that neither vLLM nor one of its clients was called: the words are another program's."""
    whole = bool(trace.frames) and trace.frames[0].function == "<module>"
    return whole and not any(_OURS.search(f"{frame.path}:{frame.code}") for frame in trace.frames)


def _told_by_a_client(hit: Hit) -> bool:
    return hit.rule.scope == "request" and not (hit.line.level or hit.line.process)


def _recovered(hit: Hit, found: Findings) -> bool:
    """Return whether a wrapper or a wait was overtaken: the server came up, or answered requests, after it."""
    ready = found.case.ready
    last = max(hit.last, hit.line.number)
    if ready and last < ready and not found.case.of_a_client(hit):
        return True
    traits = found.known.corpus.traits(hit.rule.bucket)
    if (
        ready
        and traits.strangers_below
        and not _told_by_a_client(hit)
        and (found.case.stages.get("serving") or hit.count < traits.strangers_below)
    ):
        return True  # probes and strangers' requests at a server that works
    if _only_refused(hit) and found.case.stages.get("serving"):
        return True  # somebody asked for what this server does not offer, while others were answered
    if not traits.waits:
        return False
    return any(line.number > last and _moves(line) for line in found.tail)


def _only_refused(hit: Hit) -> bool:
    """Return whether the server's access log alone says that requests were refused."""
    return hit.rule.role == "symptom" and hit.rule.scope == "request" and UNOFFERED.search(hit.line.text) is not None


def _moves(line: Line) -> bool:
    """Return whether a line shows that the server does something: an answer, tokens, or a step that its logger tells of."""
    if PROGRESS.search(line.text):
        return True
    return line.logged and line.level == "INFO" and not _IDLE.search(line.text)


def _health_of(case: Case) -> ServingHealth | None:
    """Return how the server of an incident did while it answered requests; None where it printed no statistics."""
    incident = case.incident
    if incident.serving is None:
        return None
    stopped = next((span.time for span in incident.stages if span.line == case.stop), "")
    started = any(span.stage not in ("launch", "serving") for span in incident.stages)
    excerpt = not started and incident.last - incident.first < _EXCERPT
    from ..serving.assess import assess

    return assess(incident.serving, case.stop, stopped, excerpt)
