"""Decides by how a server did while it answered requests: it stands still, or it crawls, and no line says so.

What a rule or the death of a process explains is left to the deciders that know of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..advice.fixes import sentences
from ..facts.types import Facts
from ..lines.prefix import split_line
from ..report.types import Diagnosis, Evidence
from ..serving.assess import assess
from ..serving.states import FULL, PREEMPTED, QUEUED, REJECTED, SLOW, STALLED
from ..serving.types import UNTOLD, ServingHealth, State
from . import policy
from .answer import answer_for

if TYPE_CHECKING:
    from .case import Case
    from .deciders import Findings

CAUSES = {
    STALLED: ("mqllmengine_stall", "request_unanswered"),
    PREEMPTED: ("performance_degradation", "preemption"),
    REJECTED: ("performance_degradation", "drafts_rejected"),
    FULL: ("performance_degradation", "kv_cache_saturated"),
    QUEUED: ("performance_degradation", "queueing"),
    SLOW: ("performance_degradation", "slowed_down"),
}
"""What each kind of state is answered with."""
ALSO = {REJECTED: "speculative_decoding", STALLED: "nccl_hang"}
"""Buckets that are as true of a state, in another reader's eyes."""
FELT = frozenset({"client_connection", "performance_degradation"})
"""Buckets that tell what is felt of an engine that stands still, or of a server that crawls."""
EXCERPT_LINES = 200
"""Lines of a log without a start, up to which it is an excerpt; a longer one is the end of a server's life."""


def health_of(case: Case) -> ServingHealth | None:
    """Return how the server of an incident did while it answered requests; None where it printed no statistics."""
    incident = case.incident
    if incident.serving is None:
        return None
    stopped = next((span.time for span in incident.stages if span.line == case.stop), "")
    started = any(span.stage != "serving" for span in incident.stages)
    excerpt = not started and incident.last - incident.first < EXCERPT_LINES
    return assess(incident.serving, case.stop, stopped, excerpt)


def at_work(found: Findings) -> Diagnosis | None:
    """A server at work whose own periodic lines show that it stands still or crawls."""
    health = found.health
    state = health.worst if health is not None else None
    if state is None or _explained(state, found):
        return None
    bucket, cause = CAUSES[state.kind]
    answer = answer_for(bucket, cause, confidence(state), "stage", found.known, found.incident, None)
    _tell(answer, cause, state, found)
    answer.evidence = [_evidence(line.line, line.text) for line in state.proof]
    current = [other for other in health.states if other.current and other is not state] if health else []
    others = [*(CAUSES[other.kind][0] for other in current), *([ALSO[state.kind]] if state.kind in ALSO else [])]
    answer.also = [name for name in dict.fromkeys(others) if name != bucket]
    left = 1 - answer.confidence
    answer.alternatives = [
        (name, round(left / (2 + index), 3)) for index, name in enumerate([*answer.also, "no_failure"])
    ]
    answer.explanation += [_explain(other) for other in (state, *current)]
    return answer


def by_health(answer: Diagnosis) -> bool:
    """Tell whether an answer is about a server at work: it had come up, whether or not the log shows that."""
    return tuple(answer.cause.split("/")) in CAUSES.values()


def confidence(state: State) -> float:
    """Return how sure an answer is that rests on a state: by its kind, and by how long it was watched."""
    long = state.seconds >= policy.WATCHED or state.lines >= policy.WATCHED_LINES
    if state.kind == STALLED:
        return policy.STALLED if long or state.lines > 2 else policy.STALLED_BRIEFLY
    return policy.DEGRADED if long else policy.DEGRADED_BRIEFLY


def _explained(state: State, found: Findings) -> bool:
    """Tell whether something else in the log explains the state, or outranks it."""
    best, wrapper = found.best, found.wrapper
    if found.incident.foreign:
        return True
    if wrapper is not None and wrapper.rule.bucket not in FELT:
        return True  # a death, or a wait that says where it waits
    if _troubled_after(state, found):
        return True
    if best is None:
        return False
    # One request that failed, or a slowness that a rule knows, is not why an engine stands still.
    minor = best.hit.rule.scope == "request" or best.bucket in FELT
    return not (minor and state.kind == STALLED)


def _troubled_after(state: State, found: Findings) -> bool:
    """Tell whether something that no rule explains went wrong at the end: what a server outlived is not its end."""
    numbers = [trace.number for trace in found.raised] + [line.number for line in found.errors]
    watched = state.kind == STALLED and state.lines > 1
    return max(numbers, default=0) > state.until.line and not watched


def _tell(answer: Diagnosis, cause: str, state: State, found: Findings) -> None:
    """Put the numbers of the state into the sentences of its cause."""
    entry = found.known.bucket(answer.bucket).cause(cause)
    if entry is None:
        return
    values: Facts = {**found.incident.facts, **_values(state)}
    answer.title = sentences(entry.title, values) or answer.title
    answer.summary = sentences(entry.summary, values)


def _values(state: State) -> Facts:
    """Return what sentences may say of a state; what is not known, or nothing, is left out."""
    numbers = state.numbers
    values: Facts = {
        name: _rounded(value)
        for name, value in numbers.items()
        if name not in ("drain", "growth", "usage") and (value > 0 or name in ("waiting", "accepted_percent"))
    }
    if numbers.get("usage", UNTOLD) != UNTOLD:
        values["kv_usage"] = _rounded(numbers["usage"])
    if numbers.get("growth", 0) >= 1:
        values["growth"] = _rounded(numbers["growth"])
    if numbers.get("drain", 0) > 0:
        values["drain"] = span(numbers["drain"])
    if state.seconds:
        values["lasted"] = values["stalled_for"] = span(state.seconds)
    return values


def span(seconds: float) -> str:
    """Return a time as people say it: ``40 s``, ``12 min``, ``3 h 20 min``."""
    minutes = round(seconds / 60)
    if seconds < 120:
        return f"{round(seconds)} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _rounded(value: float) -> float:
    return round(value, 1) if value < 100 else float(round(value))


def _evidence(number: int, text: str) -> Evidence:
    line = split_line(number, text)
    return Evidence(number, line.raw or text, line.process, "cause")


def _explain(state: State) -> str:
    lasted = f", {span(state.seconds)}" if state.seconds else ""
    engine = f" of engine {state.engine}" if state.engine else ""
    return f"periodic lines{engine} {state.since.line} to {state.until.line}{lasted}: {state.kind.replace('_', ' ')}"
