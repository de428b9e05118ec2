"""Decides over trouble that no rule explains: by the catalogue of messages, by the model, else that it is unknown."""

from __future__ import annotations

from ...advice.remedy import as_hit
from ...diagnosis import Diagnosis, Evidence
from ...lines.types import Line, Trace
from .. import policy
from ..answer import GENERIC, answer_for, answer_of_guess, conclude, line_evidence, with_alternatives
from ..findings import Findings
from ..frames import Vote, neighbour


def known_message(found: Findings) -> Diagnosis | None:
    """A message of the catalogue, whose words name a bucket although no rule speaks for them."""
    if found.message is None:
        return None
    row, item = found.message
    label = row.label
    cause = label.cause if found.known.bucket(label.bucket).cause(label.cause) else GENERIC
    read = row.ends
    confidence = policy.MESSAGE if read else policy.MESSAGE_OF_MODULE
    hit = as_hit(item, label.bucket, cause, row.package, label.fatal == "request")
    answer = answer_for(label.bucket, cause, confidence, "rule", found.known, found.incident, hit)
    answer.way = "message" if read else "message_of_module"
    answer.evidence = [_trouble_evidence(item, "cause")]
    answer.explanation.append(
        f"the catalogue of messages: {row.package} says '{row.template}', which is {label.bucket}"
        + ("" if read else f" by its module, {row.path}")
    )
    return with_alternatives(answer, found.candidates)


def unexplained_trouble(found: Findings) -> Diagnosis | None:
    """Exceptions and logged errors that no rule explains and that nothing shows to be overcome: never 'no failure'."""
    if not found.trouble:
        return None
    if found.raised and len(found.elsewhere) == len(found.unread) and not found.incident.stages:
        answer = with_alternatives(_unknown(found, policy.OTHER_SOFTWARE), found.candidates)
        answer.way = "other_software"
        answer.notes.append("The stack does not lead through vLLM: the program that failed is another one.")
        return answer
    guess = found.sure_guess(policy.GUESS if found.bug is None else policy.GUESS_OVER_BUG)
    if guess is not None:
        guessed = answer_of_guess(guess, found.known, found.incident, found.telling)
        return with_alternatives(guessed, found.candidates)
    for trace in found.raised[:1]:
        vote = neighbour(trace)
        if vote is not None:
            return _of_neighbour(found, trace, vote)
    if found.bug is not None:
        return _bug(found, found.bug)
    came_up = found.case.came_up
    answer = _unknown(found, policy.UNEXPLAINED_AFTER_READY if came_up else policy.UNEXPLAINED)
    answer.way = "unexplained_after_ready" if came_up else "unexplained"
    bug = (found.known.corpus.concluded_from("strange_exception")[0],) if found.raised else ()
    return with_alternatives(answer, found.candidates, *bug)


def _of_neighbour(found: Findings, trace: Trace, vote: Vote) -> Diagnosis:
    """Return what the package stands for that raised the exception: its words are nobody's, and it does one thing alone."""
    cause = vote.cause if found.known.bucket(vote.bucket).cause(vote.cause) else GENERIC
    hit = as_hit(trace, vote.bucket, cause)
    answer = answer_for(vote.bucket, cause, policy.PLACE, "rule", found.known, found.incident, hit)
    answer.way = "place"
    frame = vote.frame
    answer.evidence = [_trouble_evidence(trace, "cause")]
    if frame.line and frame.raw:
        answer.evidence.append(Evidence(frame.line, frame.raw, trace.process, "place"))
    answer.explanation.append(f"no rule knows the words; {vote.part} raised them ({frame.path}:{frame.function})")
    return with_alternatives(answer, found.candidates)


def _bug(found: Findings, trace: Trace) -> Diagnosis:
    """Return that the engine's own code failed: an exception of Python's in it that nobody knows."""
    answer = conclude("strange_exception", policy.BUG, "rule", found.known, found.incident, trace)
    answer.evidence = [_trouble_evidence(trace, "cause")]
    answer.explanation.append(
        f"{trace.kind} in {trace.process or 'vLLM'}, which no rule knows: a fault of the code itself"
    )
    return with_alternatives(answer, found.candidates)


def _unknown(found: Findings, confidence: float) -> Diagnosis:
    """Return that the cause of unexplained trouble is not known, with the lines that tell most."""
    answer = conclude("unrecognised_failure", confidence, "none", found.known, found.incident, found.telling)
    telling = [_trouble_evidence(trace, "telling") for trace in found.raised[:5]]
    shown = {item.line for item in telling}
    telling += [line_evidence(line) for line in found.errors if line.number not in shown][:5]
    answer.evidence = telling[:3]
    answer.tail = telling or [line_evidence(line) for line in found.tail[-5:]]
    if found.guess is not None:
        answer.explanation.append(found.guess.described())
    return answer


def _trouble_evidence(item: Trace | Line, role: str) -> Evidence:
    if isinstance(item, Line):
        return Evidence(item.number, item.raw or item.text, item.process, role)
    text = item.raw or item.text or item.stack()[-160:]
    return Evidence(item.number, text, item.process, role, item.count)
