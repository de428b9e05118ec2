"""Decides by what the rules found: the best cause, else the wrapper that says most."""

from __future__ import annotations

from ....corpus.records import replace
from ...lines.types import Line, Trace
from ...matching.types import Hit
from ...templates import sentences
from .. import policy
from ..conclude import conclude, said_by, with_alternatives
from ..evidence import chain_of, evidence_for, evidence_of, trouble_evidence
from ..findings import Findings
from ..types import Candidate, Verdict

WRAPPERS = 3
"""Wrappers of the answer's bucket that are shown."""


def best_cause(found: Findings) -> Verdict | None:
    """The best candidate of the rules, unless it knows a place alone and there is better to go by."""
    return of_candidate(found.best, found) if found.best is not None and not found.only_a_place else None


def lone_wrapper(found: Findings) -> Verdict | None:
    """A wrapper that names a cause, where no cause is in the log: a death, a failed start, a wait that never ended."""
    hit = found.wrapper
    if hit is None:
        return None
    traits = found.known.corpus.traits(hit.rule.bucket)
    engine_dead = bool(traits.wrapper_rank)
    if _better_known(found, hit, engine_dead):
        return None
    way = "engine_dead" if engine_dead else "process_died" if traits.yields and not traits.waits else "wrapper"
    verdict = conclude(found, hit.rule.bucket, hit.rule.cause, policy.WRAPPER[way], "rule", way, hit)
    at = hit.line.number
    same = [other for other in found.wrappers if other.line.number != at and other.rule.bucket == hit.rule.bucket]
    others = {other.rule.id: other for other in same}  # of one rule the last: how long it went on
    evidence = tuple(evidence_of(item, "cause") for item in (hit, *[*others.values()][: WRAPPERS - 1]))
    why = f"no cause in the log: the wrapper {hit.rule.id} is all there is"
    troubles: list[Trace | Line] = [*found.raised, *found.errors, *found.residue]
    said = [item for item in troubles if item.number < at]
    if said and way != "wrapper":
        # That nothing says why would be refuted by these; what stands below is its effect.
        bucket, cause = found.known.corpus.concluded_from("death_unread")
        entry = found.known.bucket(bucket).cause(cause)
        if entry is not None:
            # Nobody is sent to collect what the log holds.
            name = f"{bucket}/{cause}" if verdict.bucket == bucket else verdict.cause
            verdict = replace(
                verdict,
                cause=name,
                title=sentences(entry.title, said_by(said[0])),
                summary=entry.summary,
                confirm=entry.confirm,
                refute="",
            )
        evidence = (*(trouble_evidence(item, "telling") for item in said[:WRAPPERS]), *evidence)
        why = f"no rule knows what stands beside the wrapper {hit.rule.id}"
    verdict = replace(verdict, evidence=evidence, explanation=(why,))
    return with_alternatives(verdict, found)


def _better_known(found: Findings, hit: Hit, engine_dead: bool) -> bool:
    """Return whether an exception that no rule explains tells more than a wrapper does.

    Args:
        found: What the start shows.
        hit: The wrapper.
        engine_dead: Whether it says no more than that the engine is dead.
    """
    if found.message is not None or found.fragment is not None:
        return True
    if not found.raised:
        return False
    guess = found.sure_guess(policy.GUESS)
    return engine_dead or (guess is not None and guess.bucket != hit.rule.bucket)


def of_candidate(best: Candidate, found: Findings) -> Verdict:
    """Return the answer that a candidate gives, less sure the closer a rival of another bucket comes."""
    rivals = [
        other
        for other in found.candidates
        if other is not best and other.bucket != best.bucket and other.score > policy.ACCEPT - policy.RIVAL
    ]
    confidence = policy.CONFIDENCE[best.hit.rule.strength]
    if best.hit.quoted:
        confidence -= policy.QUOTED_LESS
    if best.score < policy.THIN_BELOW:
        confidence -= policy.THIN_LESS
    against = found.case.shown(best.hit.rule.refuted_by, best.hit)
    if against:
        confidence -= policy.REFUTED_LESS
    if rivals:
        gap = best.score - rivals[0].score
        confidence -= max(0.0, policy.CLOSE_LESS * (1 - gap / policy.CLOSE)) if gap < policy.CLOSE else 0.0
    verdict = conclude(found, best.bucket, best.cause, confidence, "rule", best.hit.rule.strength, best.hit)
    evidence, chain = evidence_for(best, found.incident), chain_of(best.hit)
    if found.known.corpus.traits(best.bucket).side == "client":
        # The exception that the client's program shows in the end: what its user has seen.
        evidence += [item for item in chain[-1:] if item.line not in {other.line for other in evidence}]
    proofs = {item.line for item in evidence}
    sign = found.case.shown(best.hit.rule.confirmed_by, best.hit)
    others: dict[str, float] = {}
    total = confidence
    for other in rivals[:6]:
        if other.bucket not in others:
            share = max(0.01, min(confidence - 0.01, (1 - total) * 0.6 + 0.02))
            others[other.bucket] = round(share, 3)
            total = min(0.99, total + share)
    return replace(
        verdict,
        evidence=tuple(evidence),
        chain=tuple(item for item in chain if item.line not in proofs),
        confirm=f"Here {sign}. {verdict.confirm}".rstrip() if sign else verdict.confirm,
        refute=f"Here {against}: look at what else the log names. {verdict.refute}".rstrip()
        if against
        else verdict.refute,
        alternatives=tuple(others.items()),
    )
