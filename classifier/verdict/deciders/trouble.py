"""Decides over trouble that no rule explains: by the catalogue of messages, by the model, else that it is unknown."""

from __future__ import annotations

from ....corpus.records import replace
from ...lines.types import Evidence, Trace
from .. import policy
from ..conclude import (
    GENERIC,
    as_hit,
    conclude,
    conclude_finding,
    conclude_guess,
    said_by,
    with_alternatives,
    words_of,
)
from ..evidence import line_evidence, trouble_evidence
from ..findings import Findings
from ..frames import Vote, neighbour
from ..types import Verdict


def known_message(found: Findings) -> Verdict | None:
    """A message of the catalogue, whose words name a bucket although no rule speaks for them."""
    if found.message is None:
        return None
    row, item = found.message
    label = row.label
    cause = label.cause if found.known.bucket(label.bucket).cause(label.cause) else GENERIC
    read = row.ends
    confidence = policy.MESSAGE if read else policy.MESSAGE_OF_MODULE
    hit = as_hit(item, label.bucket, cause, row.package, label.fatal == "request")
    way = "message" if read else "message_of_module"
    verdict = conclude(found, label.bucket, cause, confidence, "rule", way, hit)
    why = f"the catalogue of messages: {row.package} says '{row.template}', which is {label.bucket}"
    why += "" if read else f" by its module, {row.path}"
    title = verdict.title if read else words_of(item)
    verdict = replace(verdict, title=title, evidence=(trouble_evidence(item, "cause"),), explanation=(why,))
    return with_alternatives(verdict, found)


def part_of_a_message(found: Findings) -> Verdict | None:
    """A part of a message that is known: half of it, broken over lines, or quoted between other words."""
    if found.fragment is None:
        return None
    part, line = found.fragment
    cause = part.cause if part.cause and found.known.bucket(part.bucket).cause(part.cause) else GENERIC
    hit = as_hit(line, part.bucket, cause)
    verdict = conclude(found, part.bucket, cause, policy.PART, "rule", "part", hit)
    why = f"{part.words} words of a message that {part.said} knows"
    return with_alternatives(replace(verdict, evidence=(line_evidence(line),), explanation=(why,)), found)


def unexplained_trouble(found: Findings) -> Verdict | None:
    """Exceptions and logged errors that no rule explains and that nothing shows to be overcome: never 'no failure'."""
    if not found.trouble:
        return None
    if found.raised and len(found.elsewhere) == len(found.unread) and not found.incident.stages:
        verdict = with_alternatives(_unknown(found, policy.OTHER_SOFTWARE), found)
        note = "The stack does not lead through vLLM: the program that failed is another one."
        return replace(verdict, way="other_software", notes=(note,))
    guess = found.sure_guess(policy.GUESS if found.bug is None else policy.GUESS_OVER_BUG)
    if guess is not None:
        return with_alternatives(conclude_guess(found, guess, found.telling), found)
    for trace in found.raised[:1]:
        vote = neighbour(trace)
        if vote is not None:
            return _of_neighbour(found, trace, vote)
    if found.bug is not None:
        return _bug(found, found.bug)
    came_up = found.case.came_up
    verdict = _unknown(found, policy.UNEXPLAINED_AFTER_READY if came_up else policy.UNEXPLAINED)
    verdict = replace(verdict, way="unexplained_after_ready" if came_up else "unexplained")
    bug = (found.known.corpus.concluded_from("strange_exception")[0],) if found.raised else ()
    return with_alternatives(verdict, found, *bug)


def _of_neighbour(found: Findings, trace: Trace, vote: Vote) -> Verdict:
    """Return what the package stands for that raised the exception: its words are nobody's, and it does one thing alone."""
    cause = vote.cause if found.known.bucket(vote.bucket).cause(vote.cause) else GENERIC
    hit = as_hit(trace, vote.bucket, cause)
    verdict = conclude(found, vote.bucket, cause, policy.PLACE, "rule", "place", hit)
    frame = vote.frame
    evidence = [trouble_evidence(trace, "cause")]
    if frame.line and frame.raw:
        evidence.append(Evidence(frame.line, frame.raw, trace.process, "place"))
    why = f"no rule knows the words; {vote.part} raised them ({frame.path}:{frame.function})"
    verdict = replace(verdict, title=words_of(trace), evidence=tuple(evidence), explanation=(why,))
    return with_alternatives(verdict, found)


def _bug(found: Findings, trace: Trace) -> Verdict:
    """Return that the engine's own code failed: an exception of Python's in it that nobody knows."""
    verdict = conclude_finding(found, "strange_exception", policy.BUG, "rule", trace)
    why = f"{trace.kind} in {trace.process or 'vLLM'}, which no rule knows: a fault of the code itself"
    evidence = (trouble_evidence(trace, "cause"),)
    verdict = replace(verdict, title=words_of(trace), evidence=evidence, explanation=(why,))
    return with_alternatives(verdict, found)


def _unknown(found: Findings, confidence: float) -> Verdict:
    """Return that the cause of unexplained trouble is not known, with the lines that tell most."""
    said = said_by(found.telling)
    verdict = conclude_finding(found, "unrecognised_failure", confidence, "none", found.telling, said)
    telling = [trouble_evidence(trace, "telling") for trace in found.raised[:5]]
    shown = {item.line for item in telling}
    telling += [line_evidence(line) for line in found.errors if line.number not in shown][:5]
    asked = (found.guess.described(),) if found.guess is not None else ()
    return replace(verdict, evidence=tuple(telling[:3]), explanation=asked)
