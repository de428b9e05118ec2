"""Decides where the log is another program's, or nobody's."""

from __future__ import annotations

from ....corpus.records import replace
from .. import policy
from ..conclude import conclude_finding, with_alternatives
from ..evidence import evidence_of, line_evidence
from ..findings import Findings
from ..types import Verdict


def other_software(found: Findings) -> Verdict | None:
    """In another program's log rules are no more than a hint, unless the words are vLLM's own or a scheduler's of how a job ended."""
    incident, rule = found.incident, found.best.hit.rule if found.best is not None else None
    own_words = rule is not None and (rule.source.startswith("vllm") or rule.scope == "end")
    if not incident.engine and (not incident.foreign or own_words) and not incident.source_text:
        return None
    if not (found.candidates or found.case.unexplained() or incident.errors):
        return None
    verdict = conclude_finding(found, "unrecognised_failure", policy.OTHER_SOFTWARE, "none")
    telling = [evidence_of(item.hit, "telling") for item in found.candidates[:3]]
    telling = telling or [line_evidence(line) for line in incident.errors[:3]]
    another = another_program(found)
    whose = (
        f"This is {another}, not of vLLM."
        if another
        else "No line of it bears a mark of vLLM, of its parts or of its clients."
    )
    note = f"{whose} If it is, give more of it: the lines before these say what was started."
    verdict = replace(verdict, way="other_software", evidence=tuple(telling), notes=(note,))
    return with_alternatives(verdict, found)


def nothing_recognised(found: Findings) -> Verdict | None:
    """A text in which nothing is vLLM's: no line of its logger, no mark of a start, no rule that fits. That is no health.

    A start command alone is none either: it tells what somebody typed, and not that anything came of it.
    """
    incident = found.incident
    started = (incident.stages or incident.fired) and incident.reached != "launch"
    if not incident.source_text and (started or incident.hits or any(line.logged for line in found.tail)):
        return None
    another = another_program(found)
    verdict = conclude_finding(
        found, "nothing_recognised", policy.NOTHING, "none", values={"another": another} if another else None
    )
    verdict = replace(verdict, evidence=tuple(line_evidence(line) for line in found.tail[-3:]))
    return with_alternatives(verdict, found)


def another_program(found: Findings) -> str:
    """Return what a text is that is not vLLM's, by marks of that; "" where it merely lacks those of vLLM."""
    if found.incident.engine:
        return f"a log of {found.incident.engine}"
    return "a program or a configuration" if found.incident.source_text else ""
