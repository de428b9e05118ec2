"""Decides by the text model: where it is asked alone, and where the rules have little."""

from __future__ import annotations

from ....corpus.records import replace
from ...matching.types import Hit
from .. import policy
from ..conclude import conclude_finding, conclude_guess, with_alternatives
from ..findings import Findings
from ..frames import with_frames
from ..types import Candidate, Verdict
from .health import no_failure_of, silent_end
from .rules import of_candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...text_model.guess import Guess

_LEAST = {"weak": policy.GUESS_OVER_WEAK, "guess": policy.GUESS_OVER_BUG}
"""Probability that the model needs against a rule, by the rule's strength; against others it is not asked."""


def model_alone(found: Findings) -> Verdict | None:
    """Where rules are silent by request, the text model decides; where it has nothing to judge, the stage."""
    known, case = found.known, found.case
    if not known.alone:
        return None
    guess = found.guess
    if guess is not None and known.answers(guess, guess.threshold):
        return conclude_guess(found, guess)
    if guess is None and silent_end(found.incident, found.tail):
        return conclude_finding(found, "silence", policy.SILENT_END, "stage")
    ready, stopped = case.came_up, bool(case.stop)
    if guess is None:
        return no_failure_of(found, stopped, ready, alternatives=False)
    if guess.bucket == "no_failure" and (ready or stopped or guess.probability >= guess.threshold):
        verdict = no_failure_of(found, stopped, ready, alternatives=False)
        verdict = replace(verdict, confidence=round(guess.probability, 3), decided_by="model")
    else:
        verdict = conclude_finding(found, "unrecognised_failure", 1 - guess.probability, "none")
        verdict = replace(verdict, evidence=tuple(guess.evidence))
    others = tuple((name, round(share, 3)) for name, share in guess.ranked[:4] if name != verdict.bucket)
    return replace(verdict, alternatives=others, explanation=(guess.described(),))


def surer_model(found: Findings) -> Verdict | None:
    """The text model, where it is sure and the rules have no more than a weak one, or the engine's death."""
    best = found.best
    if best is not None:
        if found.only_a_place:
            return None
        least = _LEAST.get(best.hit.rule.strength, 2.0)
        bucket = best.bucket
    else:
        wrapper = found.wrapper
        if (
            wrapper is None
            or not found.known.corpus.traits(wrapper.rule.bucket).wrapper_rank
            or _wordless(wrapper, found)
            or found.fragment is not None
        ):
            return None
        # An exit code alone has no words to judge by.
        least = policy.GUESS_OVER_WEAK if wrapper.rule.strength == "weak" else policy.GUESS_OVER_DEATH
        bucket = wrapper.rule.bucket
    if least > 1:
        return None
    guess = found.sure_guess(least)
    if guess is None or guess.bucket == bucket or _against_the_stack(guess, best, least):
        return None
    same = next((item for item in found.candidates if item.bucket == guess.bucket), None)
    if same is not None and same.score >= policy.ACCEPT:
        # Rule and model agree: the rule knows the cause as well.
        return of_candidate(same, found)
    return with_alternatives(conclude_guess(found, guess, found.telling), found)


def _against_the_stack(guess: Guess, best: Candidate | None, least: float) -> bool:
    """Return whether the stack that a rule read takes from a guess what it needs: words beside an exception are not its own."""
    trace = best.hit.trace if best is not None else None
    if trace is None or not trace.frames or guess.own or guess.frames:
        return False
    return dict(with_frames(guess, trace).ranked).get(guess.bucket, 0.0) < least


def _wordless(wrapper: Hit, found: Findings) -> bool:
    """Return whether a wrapper says no more than that a request failed, and nothing else that is unknown stands in the log."""
    return wrapper.rule.scope == "request" and not found.trouble
