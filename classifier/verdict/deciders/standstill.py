"""Decides by what was seen while the log was followed: a server that stood still to its end."""

from __future__ import annotations

from ...diagnosis import Diagnosis, Evidence
from ...facts.types import Facts
from ...serving.clock import span
from ...templates import sentences
from .. import policy
from ..answer import conclude
from ..findings import Findings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...standstill.types import Standstill


def watched_standstill(found: Findings) -> Diagnosis | None:
    """A server that stood still to the end while its log was followed: the time at which lines came is evidence."""
    state = found.incident.standstill
    return _answer(state, found) if state is not None and state.finding else None


def _answer(state: Standstill, found: Findings) -> Diagnosis:
    incident, corpus = found.incident, found.known.corpus
    answer = conclude(state.finding, policy.STOOD_STILL, "stage", found.known, incident)
    bucket, cause = corpus.concluded_from(state.finding)
    entry = corpus.bucket(bucket).cause(cause)
    if entry is not None:
        values: Facts = {**incident.facts, "stage": state.stage, "stalled_for": span(state.seconds), **_running(found)}
        answer.title = sentences(entry.title, values) or answer.title
        answer.summary = sentences(entry.summary, values)
    answer.evidence = [Evidence(state.line, f"last progress, in {state.stage}", "", "mark")] if state.line else []
    answer.notes += [f"Seen while it ran: {told}." for told in state.evidence]
    answer.notes += [f"To be run while it stands: {command}" for command in state.next[:3]]
    answer.explanation.append(
        f"watched: {state.stage} stood still for {span(state.seconds)}: {'; '.join(state.evidence)}"
    )
    left = 1 - answer.confidence
    answer.also = [name for name in (entry.also if entry is not None else ()) if name != bucket]
    answer.alternatives = [
        (name, round(left / (2 + index), 3)) for index, name in enumerate([*answer.also, "no_failure"])
    ]
    return answer


def _running(found: Findings) -> Facts:
    """Return how many requests ran and waited, as its statistics told last."""
    serving = found.incident.serving
    if serving is None or not serving.engines:
        return {}
    last = [samples[-1] for samples in serving.engines.values()]
    told: Facts = {"running": sum(sample.running for sample in last), "waiting": sum(sample.waiting for sample in last)}
    return told if any(told.values()) else {}
