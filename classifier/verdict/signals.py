"""What speaks for or against a hit as the root cause: one function for each reason, with its points from the policy."""

from __future__ import annotations

from ...corpus.records import Record, record
from ..matching.types import Hit
from . import policy
from .case import QUIET, RAISED, Case


@record(frozen=True)
class Signal(Record):
    """One reason."""

    points: float
    why: str


def asks_for_more(case: Case, hit: Hit) -> Signal | None:  # noqa: ARG001 - one signature for all
    """A rule that asks for a place, a stage or other rules has read more than the words."""
    return Signal(policy.SPECIFIC, "asks for more evidence than its words") if hit.rule.specific else None


def outdone(case: Case, hit: Hit) -> Signal | None:
    """A specific rule of at least the same strength speaks for the same line."""
    if hit.rule.specific:
        return None
    strength = policy.STRENGTH[hit.rule.strength]
    others = case.specific_at(hit.line.number)
    if any(policy.STRENGTH[other.rule.strength] >= strength and other.rule is not hit.rule for other in others):
        return Signal(policy.OUTDONE, "a more specific rule speaks for the same line")
    return None


def words_and_place(case: Case, hit: Hit) -> Signal | None:  # noqa: ARG001
    """The rule names the exception's words and where it was raised."""
    rule = hit.rule
    if rule.message and rule.frames and "(?!" not in rule.message[:12]:
        return Signal(policy.WORDS_AND_PLACE, "names both the words and the place")
    return None


def quoted(case: Case, hit: Hit) -> Signal | None:  # noqa: ARG001
    """The words stand in source code that a traceback shows."""
    return Signal(policy.QUOTED, "stands in source code that a traceback shows") if hit.quoted else None


def quiet(case: Case, hit: Hit) -> Signal | None:  # noqa: ARG001
    """Said at a level at which a process goes on."""
    level = hit.line.level
    return Signal(policy.QUIET, f"only at level {level}") if level in QUIET else None


def one_request(case: Case, hit: Hit) -> Signal | None:
    """The rule is about one request, not about the server."""
    if hit.rule.scope != "request":
        return None
    if case.first_wrapper and not (case.ready and case.first_wrapper < case.ready):
        return Signal(policy.REQUEST_WHILE_DYING, "concerns one request, while the engine died")
    return Signal(policy.REQUEST, "concerns one request")


def confirmed(case: Case, hit: Hit) -> Signal | None:
    """Another line, an argument or a figure of the same log shows that it is this cause."""
    sign = case.shown(hit.rule.confirmed_by, hit)
    return Signal(policy.CONFIRMED, f"confirmed: {sign}") if sign else None


def refuted(case: Case, hit: Hit) -> Signal | None:
    """The same log shows that it is another cause."""
    sign = case.shown(hit.rule.refuted_by, hit)
    return Signal(policy.REFUTED, f"refuted: {sign}") if sign else None


def waited_for_the_dead(case: Case, hit: Hit) -> Signal | None:
    """A time-out of one rank, after another process raised an exception: who waits for the dead is not why they died."""
    if not (hit.rule.cause and case.traits(hit.rule.bucket).waits) or hit.trace is not None:
        return None
    for trace in case.incident.traces:
        before = trace.kind and trace.frames and trace.level in RAISED and 0 < trace.number < hit.line.number
        another = trace.process and trace.process != hit.line.process
        if before and another and not trace.logging_error and not case.harmless(trace):
            return Signal(policy.WAITED, f"{trace.process} raised an exception before, on line {trace.number}")
    return None


SIGNALS = (asks_for_more, outdone, words_and_place, quoted, quiet, one_request, confirmed, refuted, waited_for_the_dead)
"""All reasons that have points, in the order in which they are told."""


def overruled(case: Case, hit: Hit) -> str:
    """Return why a hit cannot be the cause whatever speaks for it; "" where nothing rules it out."""
    if hit.trace is not None and hit.trace.logging_error:
        return "printed by the logging module about itself"
    if not case.stands(hit):
        return "something harmless explains it, its conditions do not hold, or its stack is cut"
    number = hit.line.number
    # What a scheduler or a runtime says of the end has no place in the order of lines: people put it on top.
    ended = hit.rule.scope == "end" and number < case.began
    overcome = bool(case.ready) and max(hit.last, number) < case.ready and not ended and not case.of_a_client(hit)
    if case.went_on(hit.trace or hit.line, max(hit.last, number)):
        return "the process that said it went on with its start"
    if hit.rule.scope == "request":
        # Without a logger's level it may be a client's line, out of order.
        return "before the server came up all the same" if overcome and hit.line.level in QUIET else ""
    if case.stop and number >= case.stop and not (0 < case.first_wrapper < case.stop):
        return "after the shutdown began"
    return "before the server came up all the same" if overcome else ""
