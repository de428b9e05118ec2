"""Decides where the log is another program's, or nobody's."""

from __future__ import annotations

from ...diagnosis import Diagnosis
from .. import policy
from ..answer import conclude, evidence_of, line_evidence, with_alternatives
from ..findings import Findings


def other_software(found: Findings) -> Diagnosis | None:
    """In another program's log rules are no more than a hint, unless the words are vLLM's own."""
    incident, tail = found.incident, found.tail
    own_words = found.best is not None and found.best.hit.rule.source.startswith("vllm")
    if not incident.engine and (not incident.foreign or own_words) and not incident.source_text:
        return None
    if not (found.candidates or found.case.unexplained() or incident.errors):
        return None
    answer = conclude("unrecognised_failure", policy.OTHER_SOFTWARE, "none", found.known, incident)
    answer.way = "other_software"
    answer.evidence = [evidence_of(item.hit, "telling") for item in found.candidates[:3]] or [
        line_evidence(line) for line in incident.errors[:3]
    ]
    answer.tail = answer.evidence or [line_evidence(line) for line in tail[-5:]]
    whose = f"This is a log of {incident.engine}, not of vLLM." if incident.engine else "Nothing in this log is vLLM's."
    answer.notes.append(f"{whose} If it is, give more of it: the lines before these tell what was started.")
    return with_alternatives(answer, found.candidates)


def nothing_recognised(found: Findings) -> Diagnosis | None:
    """A text in which nothing is vLLM's: no line of its logger, no mark of a start, no rule that fits. That is no health.

    A start command alone is none either: it tells what somebody typed, and not that anything came of it.
    """
    incident = found.incident
    started = (incident.stages or incident.fired) and incident.reached != "launch"
    if not incident.source_text and (started or incident.hits or any(line.logged for line in found.tail)):
        return None
    answer = conclude("nothing_recognised", policy.NOTHING, "none", found.known, incident)
    answer.tail = answer.evidence = [line_evidence(line) for line in found.tail[-3:]]
    return with_alternatives(answer, found.candidates)
