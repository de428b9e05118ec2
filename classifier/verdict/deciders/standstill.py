"""Decides by what was seen while the log was followed: a server that stood still to its end."""

from __future__ import annotations

from ....corpus.records import replace
from ...facts.types import Facts
from ...lines.types import Evidence
from ...serving.clock import span
from .. import policy
from ..conclude import also, conclude_finding, halved
from ..findings import Findings
from ..types import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...standstill.types import Standstill


def watched_standstill(found: Findings) -> Verdict | None:
    """A server that stood still to the end while its log was followed: the time at which lines came is evidence."""
    state = found.incident.standstill
    return _verdict(state, found) if state is not None and state.finding else None


def _verdict(state: Standstill, found: Findings) -> Verdict:
    lasted = span(state.seconds)
    values: Facts = {"stage": state.stage, "stalled_for": lasted, **_running(found)}
    verdict = conclude_finding(found, state.finding, policy.STOOD_STILL, "stage", values=values)
    mark = Evidence(state.line, f"last progress, in {state.stage}", "", "mark")
    return replace(
        verdict,
        evidence=(mark,) if state.line else (),
        notes=(
            *(f"Seen while it ran: {told}." for told in state.evidence),
            *(f"To run while it hangs: {command}" for command in state.next[:3]),
        ),
        explanation=(f"watched: {state.stage} stood still for {lasted}: {'; '.join(state.evidence)}",),
        alternatives=halved(verdict, [*also(verdict, found), "no_failure"]),
    )


def _running(found: Findings) -> Facts:
    """Return how many requests ran and waited, as its statistics told last."""
    serving = found.incident.serving
    if serving is None or not serving.engines:
        return {}
    last = [samples[-1] for samples in serving.engines.values()]
    told: Facts = {"running": sum(sample.running for sample in last), "waiting": sum(sample.waiting for sample in last)}
    return told if any(told.values()) else {}
