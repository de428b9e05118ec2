"""Decides by how a server did while it answered requests: it stands still, or it crawls, and no line says so.

What a rule or the death of a process explains is left to the deciders that know of those.
"""

from __future__ import annotations

from ....corpus.records import replace
from ...facts.types import Facts
from ...lines.prefix import split_line
from ...lines.types import Evidence
from ...serving.clock import span
from ...serving.marks import UNTOLD
from .. import policy
from ..conclude import also, conclude_finding, halved
from ..findings import Findings
from ..types import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...serving.types import State


def at_work(found: Findings) -> Verdict | None:
    """A server at work whose own periodic lines show that it stands still or crawls."""
    health = found.health
    state = health.worst if health is not None else None
    if state is None or _explained(state, found):
        return None
    corpus = found.known.corpus
    verdict = conclude_finding(found, state.kind, confidence(state), "stage", values=_values(state))
    current = [other for other in health.states if other.current and other is not state] if health else []
    others = [*(corpus.concluded_from(other.kind)[0] for other in current), *also(verdict, found), "no_failure"]
    return replace(
        verdict,
        evidence=tuple(_evidence(line.line, line.text) for line in state.proof),
        alternatives=halved(verdict, others),
        explanation=tuple(_explain(other) for other in (state, *current)),
    )


def confidence(state: State) -> float:
    """Return how sure an answer is that rests on a state: by its kind, and by how long it was watched."""
    long = state.seconds >= policy.WATCHED or state.lines >= policy.WATCHED_LINES
    if state.stalled:
        return policy.STALLED if long or state.lines > 2 else policy.STALLED_BRIEFLY
    return policy.DEGRADED if long else policy.DEGRADED_BRIEFLY


def _explained(state: State, found: Findings) -> bool:
    """Return whether something else in the log explains the state, or outranks it."""
    best, wrapper = found.best, found.wrapper
    if found.incident.foreign:
        return True
    traits = found.known.corpus.traits
    if wrapper is not None and not traits(wrapper.rule.bucket).effect:
        return True  # a death, or a wait that says where it waits
    if _troubled_after(state, found):
        return True
    if best is None:
        return False
    # One request that failed, or a slowness that a rule knows, is not why an engine stands still.
    minor = best.hit.rule.scope == "request" or traits(best.bucket).effect
    return not (minor and state.stalled)


def _troubled_after(state: State, found: Findings) -> bool:
    """Return whether something that no rule explains went wrong at the end: what a server outlived is not its end."""
    numbers = [trace.number for trace in found.raised] + [line.number for line in found.errors]
    watched = state.stalled and state.lines > 1
    return max(numbers, default=0) > state.until.line and not watched


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


def _rounded(value: float) -> float:
    return round(value, 1) if value < 100 else float(round(value))


def _evidence(number: int, text: str) -> Evidence:
    line = split_line(number, text)
    return Evidence(number, line.raw or text, line.process, "cause")


def _explain(state: State) -> str:
    lasted = f", {span(state.seconds)}" if state.seconds else ""
    engine = f" of engine {state.engine}" if state.engine else ""
    return f"periodic lines{engine} {state.since.line} to {state.until.line}{lasted}: {state.kind.replace('_', ' ')}"
