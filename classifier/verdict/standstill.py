"""Answers for a server that was seen to stand still while its log was followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..advice.fixes import sentences
from ..facts.types import Facts
from ..report.types import Diagnosis, Evidence
from ..serving.clock import span
from ..standstill.types import Standstill
from . import policy
from .answer import answer_for

if TYPE_CHECKING:
    from .deciders import Findings


def stood_still(state: Standstill, found: Findings) -> Diagnosis:
    """Return the answer that a standstill gives."""
    incident, known = found.incident, found.known
    answer = answer_for(state.bucket, state.cause, policy.STOOD_STILL, "stage", known, incident, None)
    entry = known.bucket(state.bucket).cause(state.cause)
    if entry is not None:
        values: Facts = {**incident.facts, "stage": state.stage, "stalled_for": span(state.seconds)}
        if incident.serving is not None and incident.serving.engines:
            last = [samples[-1] for samples in incident.serving.engines.values()]
            values["running"] = sum(sample.running for sample in last)
            values["waiting"] = sum(sample.waiting for sample in last)
        answer.title = sentences(entry.title, values) or answer.title
        answer.summary = sentences(entry.summary, values)
    answer.evidence = [Evidence(state.line, f"last progress, in {state.stage}", "", "mark")] if state.line else []
    answer.notes += [f"Seen while it ran: {told}." for told in state.evidence]
    answer.notes += [f"To be run while it stands: {command}" for command in state.next[:3]]
    answer.explanation.append(
        f"watched: {state.stage} stood still for {span(state.seconds)}: {'; '.join(state.evidence)}"
    )
    left = 1 - answer.confidence
    others = ("no_failure", "mqllmengine_stall" if state.bucket == "nccl_hang" else "nccl_hang")
    answer.alternatives = [(name, round(left / (2 + index), 3)) for index, name in enumerate(others)]
    return answer
