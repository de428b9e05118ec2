"""Decides by what the rules found: the best cause, else the wrapper that says most."""

from __future__ import annotations

from ...diagnosis import Diagnosis
from ...matching.types import Hit
from .. import policy
from ..answer import answer_for, chain_of, evidence_for, evidence_of, last_of_chain, with_alternatives
from ..findings import Findings
from ..types import Candidate

WRAPPERS = 3
"""Wrappers of the answer's bucket that are shown."""


def best_cause(found: Findings) -> Diagnosis | None:
    """The best candidate of the rules, unless it knows a place alone and there is better to go by."""
    return of_candidate(found.best, found) if found.best is not None and not found.only_a_place else None


def lone_wrapper(found: Findings) -> Diagnosis | None:
    """A wrapper that names a cause, where no cause is in the log: a death, a failed start, a wait that never ended."""
    hit = found.wrapper
    if hit is None:
        return None
    traits = found.known.corpus.traits(hit.rule.bucket)
    engine_dead = bool(traits.wrapper_rank)
    if _better_known(found, hit, engine_dead):
        return None
    way = "engine_dead" if engine_dead else "process_died" if traits.yields and not traits.waits else "wrapper"
    answer = answer_for(hit.rule.bucket, hit.rule.cause, policy.WRAPPER[way], "rule", found.known, found.incident, hit)
    answer.way = way
    at = hit.line.number
    same = [other for other in found.wrappers if other.line.number != at and other.rule.bucket == hit.rule.bucket]
    others = {other.rule.id: other for other in same}  # of one rule the last: how long it went on
    answer.evidence = [evidence_of(item, "cause") for item in (hit, *[*others.values()][: WRAPPERS - 1])]
    answer.explanation.append(f"no cause in the log: the wrapper {hit.rule.id} is all there is")
    return with_alternatives(answer, found.candidates)


def _better_known(found: Findings, hit: Hit, engine_dead: bool) -> bool:
    """Tell whether an exception that no rule explains tells more than a wrapper does.

    Args:
        found: What the start shows.
        hit: The wrapper.
        engine_dead: Whether it says no more than that the engine is dead.
    """
    if found.message is not None:
        return True
    if not found.raised:
        return False
    guess = found.sure_guess(policy.GUESS)
    return engine_dead or (guess is not None and guess.bucket != hit.rule.bucket)


def of_candidate(best: Candidate, found: Findings) -> Diagnosis:
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
    answer = answer_for(best.bucket, best.cause, confidence, "rule", found.known, found.incident, best.hit)
    answer.way = best.hit.rule.strength
    answer.evidence = evidence_for(best, found.incident)
    answer.chain = chain_of(best.hit)
    if found.known.corpus.traits(best.bucket).side == "client":
        shown = {item.line for item in answer.evidence}
        answer.evidence += [item for item in last_of_chain(best.hit) if item.line not in shown]
    proofs = {item.line for item in answer.evidence}
    answer.chain = [item for item in answer.chain if item.line not in proofs]
    if sign := found.case.shown(best.hit.rule.confirmed_by, best.hit):
        answer.confirm = f"Here {sign}. {answer.confirm}".rstrip()
    if against:
        answer.refute = f"Here {against}: look at what else the log names. {answer.refute}".rstrip()
    total = confidence
    for other in rivals[:6]:
        if other.bucket in {name for name, _ in answer.alternatives}:
            continue
        share = max(0.01, min(confidence - 0.01, (1 - total) * 0.6 + 0.02))
        answer.alternatives.append((other.bucket, round(share, 3)))
        total = min(0.99, total + share)
    answer.also = [name for name, _ in answer.alternatives]
    return answer
