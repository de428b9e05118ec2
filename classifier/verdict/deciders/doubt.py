"""Decides where nothing is known to have failed, and something speaks against health all the same."""

from __future__ import annotations

from ....corpus.records import replace
from ...lines.types import Evidence
from ...situation.writer import is_sentence
from .. import policy
from ..abnormal import REFUSED, kind_of
from ..case import QUIET
from ..conclude import conclude_finding, conclude_guess, said_by, with_alternatives
from ..evidence import line_evidence
from ..findings import Findings
from ..types import Verdict

CONDITIONS = ("If ", "When ", "Whenever ", "In case ", "Should ")
"""How a sentence begins of what may happen: it says nothing of what did."""


def broken_off(found: Findings) -> Verdict | None:
    """A log that could not be read to its end, or was cut in the middle of a line, shows no health, and no silence either."""
    if not (found.incident.broken_off or _cut(found)):
        return None
    verdict = conclude_finding(found, "broken_off", policy.NOTHING, "none")
    return replace(verdict, evidence=tuple(line_evidence(line) for line in found.tail[-3:]))


def _cut(found: Findings) -> bool:
    """Return whether whoever copied a start has ended its last line: vLLM logs none so while its processes connect."""
    last = found.tail[-1] if found.tail and found.incident.reached == "distributed_init" else None
    return last is not None and last.logged and last.text.rstrip().endswith(("...", "\u2026"))


def unaccounted(found: Findings) -> Verdict | None:
    """Abnormal lines that nothing accounts for: they are the evidence, whatever they mean."""
    told = [line for line in found.residue if kind_of(line) != REFUSED and not line.text.startswith(CONDITIONS)]
    if not told:
        return None
    # The model has learnt what programs say: a sentence that somebody wrote about vLLM would be one of its causes, too.
    guess = found.sure_guess(policy.GUESS) if not all(is_sentence(line.text) for line in told) else None
    if guess is not None:
        return with_alternatives(conclude_guess(found, guess), found)
    told = sorted(told, key=lambda line: line.level in QUIET)[:3]
    said = said_by(told[0])
    verdict = conclude_finding(found, "unrecognised_failure", policy.UNEXPLAINED, "none", values=said)
    return replace(verdict, way="unexplained", evidence=tuple(line_evidence(line) for line in told))


def complained(found: Findings) -> Verdict | None:
    """Nothing that is known failed, and somebody says that something is wrong: that is no health."""
    writer = found.situation.writer
    if not writer.complains:
        return None
    incident = found.incident
    incident.facts["complaint"] = writer.complaint
    shown = bool(incident.stages or incident.hits)
    slow = writer.complaint == "slow"
    verdict = conclude_finding(found, "said_slow" if slow and shown else "said_otherwise", policy.COMPLAINED, "none")
    verdict = replace(verdict, way="complained", evidence=(Evidence(writer.line, writer.said),))
    return with_alternatives(verdict, found, *(["performance_degradation"] if slow and not shown else []))
