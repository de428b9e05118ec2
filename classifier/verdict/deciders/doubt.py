"""Decides where nothing is known to have failed, and something speaks against health all the same."""

from __future__ import annotations

from ....corpus.records import replace
from ...lines.types import Evidence
from .. import policy
from ..conclude import conclude_finding, conclude_guess, with_alternatives
from ..evidence import line_evidence
from ..findings import Findings
from ..types import Verdict


def broken_off(found: Findings) -> Verdict | None:
    """A compressed log that could not be read to its end shows no health, and no silence either."""
    if not found.incident.broken_off:
        return None
    verdict = conclude_finding(found, "broken_off", policy.NOTHING, "none")
    return replace(verdict, evidence=tuple(line_evidence(line) for line in found.tail[-3:]))


def failing_words(found: Findings) -> Verdict | None:
    """The last lines of a server that did not come up speak of a failure, in a form that nothing else reads."""
    if not found.failing:
        return None
    guess = found.sure_guess(policy.GUESS)
    if guess is not None:
        return with_alternatives(conclude_guess(found, guess), found)
    verdict = conclude_finding(found, "unrecognised_failure", policy.UNEXPLAINED, "none")
    return replace(verdict, way="unexplained", evidence=tuple(line_evidence(line) for line in found.failing[:3]))


def complained(found: Findings) -> Verdict | None:
    """Nothing that is known failed, and somebody says that something is wrong: that is no health."""
    writer = found.situation.writer
    if not writer.complains or found.failing:
        return None
    incident = found.incident
    incident.facts["complaint"] = writer.complaint
    shown = bool(incident.stages or incident.hits)
    slow = writer.complaint == "slow"
    verdict = conclude_finding(found, "said_slow" if slow and shown else "said_otherwise", policy.COMPLAINED, "none")
    verdict = replace(verdict, way="complained", evidence=(Evidence(writer.line, writer.said),))
    return with_alternatives(verdict, found, *(["performance_degradation"] if slow and not shown else []))
