"""Who decides: an ordered list, the first that has an answer gives it.

Each decider looks at the findings of one server start and returns an answer, or None to leave it to the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from ..incidents.types import Incident
from ..lines.types import Line, Trace
from ..matching.types import Hit
from ..patterns.lazy import LazyPattern
from ..report.types import Diagnosis, Evidence
from ..serving.types import ServingHealth
from . import policy
from .answer import GENERIC, Known, answer_for, answer_of_guess, chain_of, evidence_for, evidence_of, line_evidence
from .case import LOUD, Case, depth
from .doubt import broken_off, failing_words
from .serving import at_work, health_of
from .types import Candidate
from .weigh import weigh

if TYPE_CHECKING:
    from ...corpus.messages.row import Row
    from ..text_model.guess import Guess

MESSAGE = 2000
"""Characters of a message that are compared with the catalogue."""
_BUGS = frozenset(
    {
        "TypeError", "AttributeError", "KeyError", "IndexError", "NameError", "UnboundLocalError", "ZeroDivisionError",
        "AssertionError", "NotImplementedError", "RecursionError", "StopIteration",
    }
)  # fmt: skip
"""Exceptions of Python itself: their words say nothing, and whoever raises them did not mean to."""
_PASSED_ON = LazyPattern(r"Worker failed with error ['\"](?P<inner>.+?)['\"], please check the stack trace", re.DOTALL)
"""How an executor passes on what a worker said."""
_PROGRESS = LazyPattern(r'" 200|generation throughput: (?!0\.0 )\d[\d.]* tokens/s|Running: 0 reqs')
"""An answer, tokens, or nothing left to do."""
_IDLE = LazyPattern(r"throughput: |No available |Waiting |waiting |still |heartbeat")
"""What a server that makes no progress goes on printing."""


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
    def wrappers(self) -> list[Hit]:
        """Symptoms in the order of the log."""
        return self.case.wrappers()

    @cached_property
    def wrapper(self) -> Hit | None:
        """The wrapper that says most: a death before «the engine is dead», and that before other software's words."""
        stop = self.case.stop
        named = [
            hit
            for hit in self.wrappers
            if hit.rule.cause and not _recovered(hit, self) and not (stop and hit.line.number >= stop)
        ]
        return max(named, key=self._says, default=None)

    def _says(self, hit: Hit) -> tuple[int, float, int]:
        rank = self.known.corpus.traits(hit.rule.bucket).wrapper_rank
        return -rank, policy.STRENGTH[hit.rule.strength], -hit.line.number

    @cached_property
    def raised(self) -> list[Trace]:
        """Exceptions that no rule explains, at a level at which failures are told, and that were not overcome."""
        return [
            trace
            for trace in self.case.unexplained()
            if trace.level in LOUD and not self._overcome(trace.number, bool(trace.frames))
        ]

    @cached_property
    def errors(self) -> list[Line]:
        """Lines logged as errors that no rule explains, and that were not overcome."""
        return [line for line in self.case.unexplained_errors() if not self._overcome(line.number)]

    @cached_property
    def bug(self) -> Trace | None:
        """The first of them that is an exception of Python's own, raised in vLLM's code or in one of its processes."""
        for trace in self.raised:
            if trace.kind not in _BUGS:
                continue
            ours = any("vllm" in frame.path for frame in trace.frames[-4:])
            if ours or (not trace.frames and (depth(trace.process) or trace.level)):
                return trace
        return None

    @cached_property
    def health(self) -> ServingHealth | None:
        """How the server did while it answered requests."""
        return health_of(self.case)

    @property
    def trouble(self) -> bool:
        """Whether something went wrong that no rule explains."""
        return bool(self.raised or self.errors)

    @cached_property
    def guess(self) -> Guess | None:
        """What the text model takes the incident for; None where it has nothing to judge or must not be asked."""
        guesser = self.known.guesser
        return guesser.ask(self.incident, self.incident.errors, self.tail) if guesser is not None else None

    @cached_property
    def message(self) -> tuple[Row, Trace | Line] | None:
        """The first of the unexplained exceptions and errors whose words alone name a bucket by the catalogue of messages."""
        troubles: list[tuple[str, Trace | Line]] = [(f"{trace.kind}: {trace.message}", trace) for trace in self.raised]
        troubles += [(line.text, line) for line in self.errors]
        # What an executor passes on is its worker's own message, although a rule knows the words around it.
        passed_on = ((_PASSED_ON.search(hit.line.text), hit.line) for hit in self.wrappers)
        troubles += [(found["inner"], line) for found, line in passed_on if found]
        if not troubles:
            return None
        from ...corpus.messages.matching import decided

        matcher = self.known.corpus.messages()
        for text, item in troubles:
            row = decided(matcher.find(text[:MESSAGE]))
            if row is not None:
                return row, item
        return None

    def sure_guess(self, least: float) -> Guess | None:
        """Return the guess where it names a failure with at least this probability, and one that may be answered."""
        guess = self.guess
        # A model of the user's own says itself from where on it is sure.
        return (
            guess if guess is not None and self.known.answers(guess, guess.threshold if guess.own else least) else None
        )

    def _overcome(self, number: int, fatal: bool = False) -> bool:
        """Tell whether what stands on a line was followed by a stop from outside, or by the next step of the start.

        Args:
            number: The line.
            fatal: Whether an exception with its stack stands there: a later mark of a start that never came up may be
                that of another process.
        """
        case = self.case
        if case.stop and number >= case.stop:
            return True
        if case.ready:
            return number < case.ready
        marks = [line for stage, line in case.stages.items() if stage != "shutdown"]
        return not fatal and number < max(marks, default=0)


def other_software(found: Findings) -> Diagnosis | None:
    """In another program's log rules are no more than a hint, unless the words are vLLM's own."""
    incident, tail = found.incident, found.tail
    own_words = found.best is not None and found.best.hit.rule.source.startswith("vllm")
    if not incident.engine and (not incident.foreign or own_words) and not incident.source_text:
        return None
    if not (found.candidates or found.case.unexplained() or incident.errors):
        return None
    answer = answer_for("unknown", "unrecognised_failure", 0.6, "none", found.known, incident, None)
    answer.evidence = [evidence_of(item.hit, "telling") for item in found.candidates[:3]] or [
        line_evidence(line) for line in incident.errors[:3]
    ]
    answer.tail = answer.evidence or [line_evidence(line) for line in tail[-5:]]
    whose = f"This is a log of {incident.engine}, not of vLLM." if incident.engine else "Nothing in this log is vLLM's."
    answer.notes.append(f"{whose} If it is, give more of it: the lines before these tell what was started.")
    return _with_alternatives(answer, found.candidates)


def model_alone(found: Findings) -> Diagnosis | None:
    """Where rules are silent by request, the text model decides; where it has nothing to judge, the stage."""
    known, case, incident = found.known, found.case, found.incident
    if not known.alone:
        return None
    guess = found.guess
    if guess is not None and known.answers(guess, guess.threshold):
        return answer_of_guess(guess, known, incident)
    if guess is None and silent_end(incident, found.tail):
        return answer_for("nccl_hang", "silent_distributed_init", policy.SILENT_END, "stage", known, incident, None)
    ready, stopped = case.came_up, bool(case.stop)
    if guess is None or (guess.bucket == "no_failure" and (ready or stopped or guess.probability >= guess.threshold)):
        answer = _no_failure(found, stopped, ready, alternatives=False)
    else:
        answer = answer_for("unknown", "unrecognised_failure", 1 - guess.probability, "none", known, incident, None)
        answer.evidence = answer.tail = guess.evidence
    if guess is not None:
        if guess.bucket == answer.bucket == "no_failure":
            answer.confidence, answer.decided_by = round(guess.probability, 3), "model"
        answer.alternatives = [(name, round(share, 3)) for name, share in guess.ranked[:4] if name != answer.bucket]
        answer.explanation.append(guess.told())
    return answer


def surer_model(found: Findings) -> Diagnosis | None:
    """The text model, where it is sure and the rules have no more than a weak one, or the engine's death."""
    best = found.best
    if best is not None:
        least = policy.GUESS_OVER_WEAK if best.hit.rule.strength in ("weak", "guess") else 2.0
        bucket = best.bucket
    else:
        wrapper = found.wrapper
        if wrapper is None or wrapper.rule.bucket != "engine_dead":
            return None
        least, bucket = policy.GUESS_OVER_DEATH, wrapper.rule.bucket
    if least > 1:
        return None
    guess = found.sure_guess(least)
    if guess is None or guess.bucket == bucket:
        return None
    same = next((item for item in found.candidates if item.bucket == guess.bucket), None)
    if same is not None and same.score >= policy.ACCEPT:
        # Rule and model agree: the rule knows the cause as well.
        return _of_candidate(same, found)
    return _with_alternatives(answer_of_guess(guess, found.known, found.incident), found.candidates)


def best_cause(found: Findings) -> Diagnosis | None:
    """The best candidate of the rules."""
    return _of_candidate(found.best, found) if found.best is not None else None


def _of_candidate(best: Candidate, found: Findings) -> Diagnosis:
    rivals = [
        other
        for other in found.candidates
        if other is not best and other.bucket != best.bucket and other.score > policy.ACCEPT - policy.RIVAL
    ]
    confidence = policy.CONFIDENCE[best.hit.rule.strength]
    if best.hit.quoted:
        confidence -= policy.QUOTED_LESS
    if best.score < policy.THIN_BELOW:
        confidence -= policy.THIN_LESS
    if rivals:
        gap = best.score - rivals[0].score
        confidence -= max(0.0, policy.CLOSE_LESS * (1 - gap / policy.CLOSE)) if gap < policy.CLOSE else 0.0
    answer = answer_for(best.bucket, best.cause, confidence, "rule", found.known, found.incident, best.hit)
    answer.evidence = evidence_for(best, found.incident)
    answer.chain = chain_of(best.hit)
    total = confidence
    for other in rivals[:6]:
        if other.bucket in {name for name, _ in answer.alternatives}:
            continue
        share = max(0.01, min(confidence - 0.01, (1 - total) * 0.6 + 0.02))
        answer.alternatives.append((other.bucket, round(share, 3)))
        total = min(0.99, total + share)
    answer.also = [name for name, _ in answer.alternatives]
    return answer


def lone_wrapper(found: Findings) -> Diagnosis | None:
    """A wrapper that names a cause, where no cause is in the log: a death, a failed start, a wait that never ended."""
    hit = found.wrapper
    if hit is None:
        return None
    if found.known.corpus.traits(hit.rule.bucket).wrapper_rank and (found.raised or found.message):
        return None
    answer = answer_for(hit.rule.bucket, hit.rule.cause, policy.WRAPPER, "rule", found.known, found.incident, hit)
    answer.evidence = [evidence_of(hit, "cause")]
    answer.explanation.append(f"no cause in the log: the wrapper {hit.rule.id} is all there is")
    return _with_alternatives(answer, found.candidates)


def known_message(found: Findings) -> Diagnosis | None:
    """A message of the catalogue, whose words name a bucket although no rule speaks for them."""
    if found.message is None:
        return None
    row, item = found.message
    label = row.label
    cause = label.cause if found.known.bucket(label.bucket).cause(label.cause) else GENERIC
    answer = answer_for(label.bucket, cause, policy.MESSAGE, "rule", found.known, found.incident, None)
    answer.evidence = [_trouble_evidence(item, "cause")]
    answer.explanation.append(
        f"the catalogue of messages: {row.package} says «{row.template}», which is {label.bucket}"
    )
    return _with_alternatives(answer, found.candidates)


def unexplained_trouble(found: Findings) -> Diagnosis | None:
    """Exceptions and logged errors that no rule explains and that nothing shows to be overcome: never «no failure»."""
    if not found.trouble:
        return None
    guess = found.sure_guess(policy.GUESS_OF_BUG if found.bug is not None else policy.GUESS)
    if guess is not None:
        return _with_alternatives(answer_of_guess(guess, found.known, found.incident), found.candidates)
    if found.bug is not None:
        return _bug(found, found.bug)
    came_up = found.case.came_up
    confidence = policy.UNEXPLAINED_AFTER_READY if came_up else policy.UNEXPLAINED
    return _with_alternatives(_unknown(found, confidence), found.candidates, *(("engine_bug",) if found.raised else ()))


def silent_start(found: Findings) -> Diagnosis | None:
    """A log that simply stops in distributed start-up."""
    incident, tail = found.incident, found.tail
    if not silent_end(incident, tail):
        return None
    answer = answer_for("nccl_hang", "silent_distributed_init", policy.SILENT_END, "stage", found.known, incident, None)
    answer.evidence = [line_evidence(tail[-1])] if tail else []
    seen = [span for span in incident.stages if span.stage == "distributed_init"]
    answer.explanation.append(
        f"the log stops in distributed start-up (last mark on line {seen[-1].line if seen else '?'}), nothing follows"
    )
    return _with_alternatives(answer, found.candidates)


def nothing_recognised(found: Findings) -> Diagnosis | None:
    """A text in which nothing is vLLM's: no mark of a start, no line of its logger, no rule that fits. That is no health."""
    incident = found.incident
    if not incident.source_text and (
        incident.stages or incident.fired or incident.hits or any(line.logged for line in found.tail)
    ):
        return None
    answer = answer_for("unknown", "nothing_recognised", policy.NOTHING, "none", found.known, incident, None)
    answer.tail = answer.evidence = [line_evidence(line) for line in found.tail[-3:]]
    return _with_alternatives(answer, found.candidates)


def no_failure(found: Findings) -> Diagnosis:
    """Nothing speaks for a failure."""
    return _no_failure(found, bool(found.case.stop), found.case.came_up)


DECIDERS: tuple[Callable[[Findings], Diagnosis | None], ...] = (
    other_software,
    model_alone,
    at_work,
    surer_model,
    best_cause,
    lone_wrapper,
    known_message,
    unexplained_trouble,
    broken_off,
    silent_start,
    nothing_recognised,
    failing_words,
    no_failure,
)
"""In the order in which they are asked; the last one always answers."""


def silent_end(incident: Incident, tail: list[Line]) -> bool:
    """Tell whether a log simply stops in distributed start-up: nothing failed, nothing follows."""
    if incident.reached != "distributed_init" or not incident.stages or str(incident.facts.get("world_size")) == "1":
        return False
    last = max(span.line for span in incident.stages)
    return bool(tail) and tail[-1].number - last <= 60


def _recovered(hit: Hit, found: Findings) -> bool:
    """Tell whether a wrapper or a wait was overtaken: the server came up, or answered requests, after it."""
    ready = found.case.ready
    last = max(hit.last, hit.line.number)
    if ready and last < ready:
        return True
    traits = found.known.corpus.traits(hit.rule.bucket)
    if ready and traits.strangers_below and (found.case.stages.get("serving") or hit.count < traits.strangers_below):
        return True  # probes and strangers' requests at a server that works
    if not traits.waits:
        return False
    return any(line.number > last and _moves(line) for line in found.tail)


def _moves(line: Line) -> bool:
    """Tell whether a line shows that the server does something: an answer, tokens, or a step that its logger tells of."""
    if _PROGRESS.search(line.text):
        return True
    return line.logged and line.level == "INFO" and not _IDLE.search(line.text)


def _no_failure(found: Findings, stopped: bool, ready: bool, alternatives: bool = True) -> Diagnosis:
    incident = found.incident
    errors = found.case.unexplained_errors()
    if stopped:
        cause, confidence = "stopped_from_outside", 0.93
    elif ready:
        cause, confidence = "healthy", 0.95
    elif incident.stages:
        cause, confidence = "still_starting", 0.85
    else:
        cause, confidence = "nothing_found", 0.7
    if errors:
        confidence -= 0.04
    decided_by = "stage" if incident.stages else "none"
    answer = answer_for("no_failure", cause, confidence, decided_by, found.known, incident, None)
    marks = [span for span in incident.stages if span.stage in ("shutdown", "serving", "api_ready")]
    marks = marks or incident.stages[-1:]
    answer.evidence = [Evidence(span.line, f"reached {span.stage}", "", "mark") for span in marks[-1:]]
    if errors:
        answer.notes.append(
            f"{len(errors)} error lines are worth a look, the first on line {errors[0].number}: {errors[0].text[:120]}"
        )
    return _with_alternatives(answer, found.candidates) if alternatives else answer


def _bug(found: Findings, trace: Trace) -> Diagnosis:
    """Return that the engine's own code failed: an exception of Python's in it that nobody knows."""
    answer = answer_for("engine_bug", "runner_fault", policy.BUG, "rule", found.known, found.incident, None)
    answer.evidence = [_trouble_evidence(trace, "cause")]
    answer.explanation.append(
        f"{trace.kind} in {trace.process or 'vLLM'}, which no rule knows: a fault of the code itself"
    )
    return _with_alternatives(answer, found.candidates)


def _unknown(found: Findings, confidence: float) -> Diagnosis:
    """Return that the cause of unexplained trouble is not known, with the lines that tell most."""
    answer = answer_for("unknown", "unrecognised_failure", confidence, "none", found.known, found.incident, None)
    telling = [_trouble_evidence(trace, "telling") for trace in found.raised[:5]]
    shown = {item.line for item in telling}
    telling += [line_evidence(line) for line in found.errors if line.number not in shown][:5]
    answer.evidence = telling[:3]
    answer.tail = telling or [line_evidence(line) for line in found.tail[-5:]]
    if found.guess is not None:
        answer.explanation.append(found.guess.told())
    return answer


def _trouble_evidence(item: Trace | Line, role: str) -> Evidence:
    if isinstance(item, Line):
        return Evidence(item.number, item.raw or item.text, item.process, role)
    text = item.raw or item.text or item.stack()[-160:]
    return Evidence(item.number, text, item.process, role, item.count)


def _with_alternatives(answer: Diagnosis, candidates: list[Candidate], *more: str) -> Diagnosis:
    names: list[str] = []
    for candidate in candidates:
        if candidate.bucket not in names and candidate.bucket != answer.bucket:
            names.append(candidate.bucket)
    for name in more:
        if name not in names and name != answer.bucket:
            names.append(name)
    left = 1 - answer.confidence
    for index, name in enumerate(names[:5]):
        answer.alternatives.append((name, round(max(0.01, left * 0.5 / (index + 1)), 3)))
    return answer
