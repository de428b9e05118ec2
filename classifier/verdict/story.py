"""What happened, told apart from what is wrong: what died first, what was overcome, how much was hit, what may still come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ...corpus.records import replace
from ...corpus.stages import STAGE_ORDER
from ..lines.types import Evidence, Line, Trace
from ..matching.types import Hit
from ..situation.headline import headline
from . import policy
from .case import CHAIN, LOUD, READY
from .evidence import evidence_of, trouble_evidence
from .signals import overruled
from .types import ServerStart, Story, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Findings

OVERCOME = 5
"""Lines that are told of what a server got over."""
UNREAD = 2
"""Exceptions that are told of which nobody has read."""
HEADED = 3
"""Lines before a traceback that may announce it."""
LATENT = {
    "stalled": "the engine stood still for a while",
    "preempted": "requests were preempted: the KV cache was too small for what ran at once",
    "drafts_rejected": "next to none of the drafted tokens were accepted",
    "cache_full": "the KV cache was full for a while",
    "queued": "requests waited in a queue for a while",
    "slowed_down": "requests became much slower than they had been",
    "crawling": "each request got less than a token a second",
}
"""What a state that was over before the end says of what may come again, by its kind (``classifier/serving/states.py``)."""


def story_of(found: Findings, verdict: Verdict) -> Story:
    """Return the story of one server start, as far as it is the whole log."""
    incident = found.incident
    scope = "server" if found.case.came_up else "start"
    overcome = _overcome(found, {item.line for item in verdict.evidence})
    told = Story(incident.first, incident.last, scope, overcome=overcome, head=headline(incident, verdict.bucket))
    if not verdict.failed or verdict.cause == "unknown/nothing_recognised":
        return replace(told, latent=_latent(found))
    best = found.best
    alone = best is not None and best.bucket == verdict.bucket and best.hit.rule.scope == "request"
    return replace(
        told,
        scope="requests" if alone and found.wrapper is None else scope,
        requests_failed=_requests(incident.hits),
        died_first=_first_death(found, verdict),
    )


def place(verdict: Verdict, starts: tuple[ServerStart, ...], at: int) -> Verdict:
    """Return a verdict with all starts of its server, and which of them it is about.

    Args:
        verdict: Of one start.
        starts: Of its server.
        at: Its start's position among them, from 0.
    """
    begun = starts[: at + (1 if verdict.failed else 0)]
    failed = sum(STAGE_ORDER.get(start.reached, -1) < READY for start in begun)
    story = verdict.story and replace(verdict.story, start=at + 1, starts=len(starts), starts_failed=failed)
    return replace(verdict, starts=starts, story=story)


def _first_death(found: Findings, verdict: Verdict) -> Evidence | None:
    """Return the first line that shows something fail for good: the cause itself, or what failed before it."""
    if not verdict.evidence or verdict.evidence[0].role == "mark":
        return None
    best = found.best.hit.trace if found.best is not None else None
    linked = set(_chain(best))
    heads = [range(trace.first - HEADED, trace.last + 1) for trace in found.incident.traces]
    deaths = [trouble_evidence(trace, "death") for trace in found.raised if id(trace) not in linked]
    errors = [line for line in found.errors if not any(line.number in head for head in heads)]
    deaths += [trouble_evidence(line, "death") for line in errors]
    deaths += [
        evidence_of(item.hit, "death")
        for item in found.candidates
        if item.score >= policy.ACCEPT
        and item.bucket != verdict.bucket
        and item.hit.line.level in LOUD
        and not item.hit.quoted
        and (item.hit.trace is None or id(item.hit.trace) not in linked)
        and not any(item.hit.line.number in head for head in heads)
    ]
    return min([verdict.evidence[0], *deaths], key=lambda item: item.line)


def unread_beside(found: Findings, verdict: Verdict) -> tuple[Evidence, ...]:
    """Return the first exceptions that stand, that no rule reads, and that are neither the answer's own nor came of it."""
    if not verdict.failed:
        return ()
    shown = {item.line for item in verdict.evidence}
    best = found.best
    linked = set(_chain(best.hit.trace)) if best is not None and best.hit.rule.id == verdict.rule else set()
    beside = (trace for trace in found.unread if trace.number not in shown and id(trace) not in linked)
    return tuple(trouble_evidence(trace, "death") for trace in islice(beside, UNREAD))


def _chain(trace: Trace | None) -> Iterator[int]:
    """Yield the identities of the exceptions of one chain."""
    link = trace
    for _ in range(CHAIN):
        if link is not None:
            yield id(link)
            link = link.raised_from
    link = trace
    for _ in range(CHAIN):
        if link is not None:
            yield id(link)
            link = link.cause_of


def _requests(hits: list[Hit]) -> int:
    """Return how many requests an error was told of: the most that one rule about requests counted."""
    counts: dict[str, dict[tuple[object, ...], int]] = {}
    for hit in hits:
        if hit.rule.scope == "request" and hit.rule.role in ("cause", "symptom") and not hit.quoted:
            # The first of those that say the same counts them all.
            alike = (hit.line.process, hit.line.level, *hit.captures.items())
            known = counts.setdefault(hit.rule.id, {})
            known[alike] = max(known.get(alike, 0), evidence_of(hit, "").count)
    return max((sum(known.values()) for known in counts.values()), default=0)


def _overcome(found: Findings, shown: set[int]) -> tuple[Evidence, ...]:
    """Return what went wrong and was history before the end, in the order of the log, lines of the answer left out."""
    lines: dict[int, Evidence] = {}
    for item in _survived(found):
        if item.line not in shown:
            lines.setdefault(item.line, item)
    return tuple(lines[number] for number in sorted(lines)[:OVERCOME])


def _survived(found: Findings) -> Iterator[Evidence]:
    case = found.case
    if not case.ready:
        return
    for hit in found.incident.hits:
        if (
            hit.rule.role in ("cause", "symptom")
            and hit.line.level in LOUD
            and not hit.quoted
            and not case.cancelled(hit)
        ):
            last = max(hit.last, hit.line.number)
            if last < case.ready and (hit.rule.role == "symptom" or overruled(case, hit).startswith("before")):
                yield evidence_of(hit, "overcome")
    troubles: list[Trace | Line] = [trace for trace in case.unexplained() if trace.level in LOUD]
    troubles += case.unexplained_errors()
    for item in troubles:
        if item.number < case.ready:
            yield trouble_evidence(item, "overcome")


def _latent(found: Findings) -> tuple[str, ...]:
    """Return what may still go wrong in a server that is well, in sentences."""
    told = []
    concurrency = found.incident.facts.get("max_concurrency")
    if isinstance(concurrency, float) and concurrency < 1:
        told.append(f"one request of the full context does not fit into the KV cache ({concurrency:g} of it does)")
    states = found.health.states if found.health is not None else ()
    told += [words for kind, words in LATENT.items() if any(state.kind == kind for state in states)]
    return tuple(told)
