"""Root cause, not last line: adds up what speaks for each possible cause."""

from __future__ import annotations

from ..matching.types import Hit
from . import policy
from .case import QUIET, Case
from .signals import SIGNALS, overruled
from .types import Candidate


def weigh(case: Case) -> list[Candidate]:
    """Return the possible causes of one incident, best first, each with the reasons for its points.

    Between equals the earlier line goes first: what was said first is nearer to the root.
    """
    found = [judge(case, hit) for hit in case.incident.hits if hit.rule.role == "cause" and not overruled(case, hit)]
    found.sort(key=lambda candidate: (-candidate.score, candidate.hit.line.number))
    # What a process says at INFO or WARNING it could live with: next to an error of another kind it is no cause.
    loudest = next((candidate for candidate in found if _loud(candidate)), None)
    if loudest is not None:
        found.sort(key=lambda candidate: _outspoken(candidate, loudest))
    best: dict[tuple[str, str], Candidate] = {}
    for candidate in found:
        best.setdefault((candidate.bucket, candidate.cause), candidate)
    return list(best.values())


def _quiet(candidate: Candidate) -> bool:
    return candidate.hit.line.level in QUIET


def _outspoken(candidate: Candidate, loudest: Candidate) -> bool:
    """Return whether a quiet candidate goes behind an error of another kind."""
    lead = candidate.score - loudest.score
    return _quiet(candidate) and candidate.bucket != loudest.bucket and lead < policy.QUIET_LEAD


def _loud(candidate: Candidate) -> bool:
    return not _quiet(candidate) and candidate.hit.rule.scope != "request" and candidate.score >= policy.ACCEPT


def judge(case: Case, hit: Hit) -> Candidate:
    """Return a hit as a candidate, with its points and their reasons."""
    rule = hit.rule
    score = policy.STRENGTH[rule.strength]
    reasons = [f"{rule.id} ({rule.strength}) on line {hit.line.number}"]
    for signal in SIGNALS:
        found = signal(case, hit)
        if found is not None:
            score += found.points
            reasons.append(f"{found.points:+.2f} {found.why}")
    return Candidate(rule.bucket, rule.cause, score, hit, reasons)
