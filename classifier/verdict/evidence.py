"""The lines that prove an answer, and those that follow from them."""

from __future__ import annotations

from ...corpus.records import replace
from ..incidents.types import Incident
from ..lines.types import Evidence, Line, Trace
from ..matching.types import Hit
from ..patterns.lazy import LazyPattern
from .types import Candidate

QUOTED = 30
"""Characters of an exception's message from which on a later line that holds it quotes it."""
ABOVE = 2
"""Lines above the deciding one among which the head is that it continues."""
BELOW = 4
"""Lines below it among which pydantic says what was wrong, after it has counted."""
CAUSES = 4
"""Lines that say the same cause, of which so many are shown, the places of exceptions not counted."""
LONG = 40
"""Characters of a line from which on it may have been wrapped."""
ENDS = ".:;!?)]}'\"`"
"""Characters with which a line of a message ends that does not go on in the next."""
_COUNTED = LazyPattern(r"\b\d+ validation errors? for ")
_REASON = LazyPattern(r"\b(?:Value error|Assertion failed), |\bInput should |\bExtra inputs are |\bField required\b")
_HEAD = LazyPattern(r"\s*(?:CMake Error at \S|ERROR: |error: |Error: |fatal error: )")
"""How tools begin an error whose telling words stand on the next line."""


def evidence_for(best: Candidate, incident: Incident) -> list[Evidence]:
    """Return the lines that prove a cause: the deciding one, its exception and place, and what says the same."""
    evidence = [evidence_of(best.hit, "cause")]
    taken = {best.hit.line.number}
    trace = best.hit.trace
    if trace is not None and trace.text and trace.number not in taken:
        evidence.append(Evidence(trace.number, trace.raw or trace.text, trace.process, "cause", trace.count))
        taken.add(trace.number)
    for item in _place(best.hit):
        if item.line not in taken:
            evidence.append(item)
            taken.add(item.line)
    same = [
        hit for hit in incident.hits if hit.rule.role == "cause" and hit.rule.bucket == best.bucket and not hit.quoted
    ]
    for item in _first_said(best.hit, incident):
        if item.line not in taken:
            evidence.append(item)
            taken.add(item.line)
    for hit in sorted(same, key=lambda item: (item.rule.cause != best.cause, item.line.number)):
        if hit.line.number in taken:
            continue
        taken.add(hit.line.number)
        told = next((at for at, item in enumerate(evidence) if item.text.endswith(hit.line.text)), None)
        if told is not None:
            # The same words from another process, or printed bare once more.
            evidence[told] = replace(evidence[told], count=evidence[told].count + hit.count)
        elif sum(item.role == "cause" for item in evidence) < CAUSES:
            evidence.append(evidence_of(hit, "cause"))
    return evidence


def evidence_of(hit: Hit, role: str) -> Evidence:
    """Return the line on which a rule matched."""
    count = max(hit.count, hit.trace.count if hit.trace is not None and hit.trace.number == hit.line.number else 1)
    return Evidence(hit.line.number, hit.line.raw or hit.line.text, hit.line.process, role, count)


def line_evidence(line: Line) -> Evidence:
    """Return a line that may tell something."""
    return Evidence(line.number, line.raw or line.text, line.process, "telling")


def chain_of(hit: Hit) -> list[Evidence]:
    """Return the exceptions that were raised from the cause, in order."""
    links: list[Evidence] = []
    trace = hit.trace.cause_of if hit.trace is not None else None
    while trace is not None and len(links) < 6:
        if trace.text:
            links.append(Evidence(trace.number, trace.raw or trace.text, trace.process, "chain", trace.count))
        trace = trace.cause_of
    return links


def _first_said(hit: Hit, incident: Incident) -> list[Evidence]:
    """Return what belongs to the deciding words: the exception that they quote, the head of their error, what it counts."""
    text, number = hit.line.text, hit.line.number
    found = [
        Evidence(trace.number, trace.raw or trace.text, trace.process, "cause", trace.count)
        for trace in incident.traces
        if 0 < trace.number < number and trace.text and len(trace.message) >= QUOTED and trace.message.strip() in text
    ][:1]
    if not found and hit.trace is None:
        above = [item for item in incident.contexts.lines(number) if number - ABOVE <= item[0] < number]
        found = [Evidence(*item, "cause") for item in above if _HEAD.match(item[1])][-1:]
    if _goes_on(hit):
        below = [item for item in incident.contexts.lines(number) if number < item[0] <= number + ABOVE]
        found += [Evidence(*item, "cause") for item in below]
    elif _COUNTED.search(text):
        below = [item for item in incident.contexts.lines(number) if number < item[0] <= number + BELOW]
        found += [Evidence(*item, "cause") for item in below if _REASON.search(item[1])][:1]
    return found


def _goes_on(hit: Hit) -> bool:
    """Return whether the first line of an exception's message breaks off in the middle of a sentence."""
    if hit.trace is None or hit.trace.number != hit.line.number:
        return False
    lines = [line.strip() for line in hit.trace.message.strip().splitlines()]
    return (
        len(lines) > 1
        and bool(lines[0] and lines[1])
        and len(lines[0]) >= LONG
        and lines[0][-1] not in ENDS
        and not lines[1][0].isupper()
    )


def _place(hit: Hit) -> list[Evidence]:
    """Return the frame that speaks for the cause: the one that the rule asks for, or where a wordless exception arose."""
    trace, rule = hit.trace, hit.rule
    if trace is None or not trace.frames:
        return []
    frames = trace.frames
    if rule.frames:
        expression = rule.expression("frames")
        frames = [
            frame for frame in frames if expression.search(f"{frame.path}:{frame.function}: {frame.code}")
        ] or frames
    elif trace.message.strip() and not rule.innermost:
        return []
    shown = [frames[-1]]
    if not trace.message.strip() and trace.frames[-1] is not frames[-1]:
        shown.append(trace.frames[-1])  # without words the line that failed is what was said
    lines = [line for frame in shown for line in ((frame.line, frame.raw), (frame.code_line, frame.code_raw))]
    return [Evidence(number, text, trace.process, "place") for number, text in lines if number and text]


def trouble_evidence(item: Trace | Line, role: str) -> Evidence:
    """Return an exception or a line that no rule knows."""
    if isinstance(item, Line):
        return Evidence(item.number, item.raw or item.text, item.process, role)
    text = item.raw or item.text or item.stack()[-160:]
    return Evidence(item.number, text, item.process, role, item.count)
