"""Decides where nothing failed: how far the log got, and whether it stops where servers wait for each other."""

from __future__ import annotations

from ....corpus.records import replace
from ...incidents.types import Incident
from ...lines.types import Evidence, Line
from ...matching.types import Hit
from ...patterns.lazy import LazyPattern
from .. import policy
from ..conclude import conclude, conclude_finding, with_alternatives
from ..evidence import line_evidence
from ..findings import Findings
from ..types import Verdict

_NCCL = LazyPattern(r"\bNCCL (?:INFO|WARN|TRACE|ERROR)\b|^\[rank\d+\]:\[")
"""Lines of NCCL and of its process groups, as against words about them."""


def silent_start(found: Findings) -> Verdict | None:
    """A log that simply stops in distributed start-up."""
    incident, tail = found.incident, found.tail
    if not silent_end(incident, tail):
        return None
    verdict = conclude_finding(found, "silence", policy.SILENT_END, "stage")
    # What whoever pasted the log wrote below it is no line of it.
    last = next((line for line in reversed(tail) if line.logged or _NCCL.search(line.text)), tail[-1] if tail else None)
    seen = [span.line for span in incident.stages if span.stage == "distributed_init"]
    why = f"the log stops in distributed start-up (last mark on line {seen[-1] if seen else '?'}), nothing follows"
    verdict = replace(verdict, evidence=(line_evidence(last),) if last is not None else (), explanation=(why,))
    return with_alternatives(verdict, found)


def no_failure(found: Findings) -> Verdict:
    """Nothing speaks for a failure."""
    return no_failure_of(found, bool(found.case.stop), found.case.came_up)


def _who_stopped(found: Findings, usual: str) -> Hit | None:
    """Return what names who stopped the server, where more than the signal is known."""
    return next(
        (
            hit
            for hit in reversed(found.incident.hits)
            if hit.rule.role == "teardown" and hit.rule.cause and not hit.quoted
            and hit.rule.bucket == "no_failure" and f"no_failure/{hit.rule.cause}" != usual
        ),
        None,
    )  # fmt: skip


def silent_end(incident: Incident, tail: list[Line]) -> bool:
    """Return whether a log simply stops in distributed start-up: nothing failed, nothing follows."""
    if incident.reached != "distributed_init" or not incident.stages or str(incident.facts.get("world_size")) == "1":
        return False
    last = max(span.line for span in incident.stages)
    return bool(tail) and tail[-1].number - last <= policy.SILENT_WITHIN


def no_failure_of(found: Findings, stopped: bool, ready: bool, alternatives: bool = True) -> Verdict:
    """Return that nothing failed, and how far the server got."""
    incident = found.incident
    errors, refused = found.case.unexplained_errors(), found.residue
    if refused:
        finding, confidence = "refused", policy.STOPPED - policy.ERRORS_LESS
    elif stopped:
        finding, confidence = "stopped", policy.STOPPED
    elif ready:
        finding, confidence = "came_up", policy.CAME_UP
    elif incident.stages:
        finding, confidence = "starting", policy.STARTING
    else:
        finding, confidence = "no_sign", policy.NO_SIGN
    if errors:
        confidence -= policy.ERRORS_LESS
    decided_by = "stage" if incident.stages else "none"
    verdict = conclude_finding(found, finding, confidence, decided_by)
    if refused:
        return replace(verdict, evidence=tuple(line_evidence(line) for line in refused[:3]))
    if stopped and (hit := _who_stopped(found, verdict.cause)) is not None:
        # A scheduler or a supervisor that says why goes before the bare signal.
        named = conclude(found, "no_failure", hit.rule.cause, confidence, "rule", finding, hit)
        return replace(named, evidence=(line_evidence(hit.line),))
    marks = [span for span in incident.stages if span.stage in ("shutdown", "serving", "api_ready")]
    marks = marks or incident.stages[-1:]
    verdict = replace(
        verdict,
        evidence=tuple(Evidence(span.line, f"reached {span.stage}", "", "mark") for span in marks[-1:]),
        notes=tuple(
            f"{len(errors)} error lines are worth a look, the first on line {line.number}: {line.text[:120]}"
            for line in errors[:1]
        ),
    )
    return with_alternatives(verdict, found) if alternatives else verdict
