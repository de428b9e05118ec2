"""Decides by the text model: where it is asked alone, and where the rules have little."""

from __future__ import annotations

from ...diagnosis import Diagnosis
from ...matching.types import Hit
from .. import policy
from ..answer import answer_of_guess, conclude, with_alternatives
from ..findings import Findings
from ..frames import votes
from .health import no_failure_of, silent_end
from .rules import of_candidate

_LEAST = {"weak": policy.GUESS_OVER_WEAK, "guess": policy.GUESS_OVER_BUG}
"""Probability that the model needs against a rule, by the rule's strength; against others it is not asked."""


def model_alone(found: Findings) -> Diagnosis | None:
    """Where rules are silent by request, the text model decides; where it has nothing to judge, the stage."""
    known, case, incident = found.known, found.case, found.incident
    if not known.alone:
        return None
    guess = found.guess
    if guess is not None and known.answers(guess, guess.threshold):
        return answer_of_guess(guess, known, incident)
    if guess is None and silent_end(incident, found.tail):
        return conclude("silence", policy.SILENT_END, "stage", known, incident)
    ready, stopped = case.came_up, bool(case.stop)
    if guess is None or (guess.bucket == "no_failure" and (ready or stopped or guess.probability >= guess.threshold)):
        answer = no_failure_of(found, stopped, ready, alternatives=False)
    else:
        answer = conclude("unrecognised_failure", 1 - guess.probability, "none", known, incident)
        answer.evidence = answer.tail = guess.evidence
    if guess is not None:
        if guess.bucket == answer.bucket == "no_failure":
            answer.confidence, answer.decided_by = round(guess.probability, 3), "model"
        answer.alternatives = [(name, round(share, 3)) for name, share in guess.ranked[:4] if name != answer.bucket]
        answer.explanation.append(guess.described())
    return answer


def surer_model(found: Findings) -> Diagnosis | None:
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
        ):
            return None
        # An exit code alone has no words to judge by.
        least = policy.GUESS_OVER_WEAK if wrapper.rule.strength == "weak" else policy.GUESS_OVER_DEATH
        bucket = wrapper.rule.bucket
    if least > 1:
        return None
    guess = found.sure_guess(least)
    if guess is None or guess.bucket == bucket or (best is not None and _placed(best.hit, bucket, guess.bucket)):
        return None
    same = next((item for item in found.candidates if item.bucket == guess.bucket), None)
    if same is not None and same.score >= policy.ACCEPT:
        # Rule and model agree: the rule knows the cause as well.
        return of_candidate(same, found)
    answer = answer_of_guess(guess, found.known, found.incident, found.telling)
    return with_alternatives(answer, found.candidates)


def _placed(hit: Hit, bucket: str, guess: str) -> bool:
    """Tell whether vLLM's own code in which an exception was raised stands for its rule's bucket, and that of a guess is elsewhere.

    What is pasted behind a message has words for a model, and no stack.
    """
    from ....corpus.frames import parts

    cast = votes(hit.trace) if hit.trace is not None else []
    if not cast or any(vote.bucket == guess for vote in cast) or all(part.bucket != guess for part in parts().all):
        return False
    inner = cast[0]
    return inner.bucket == bucket and inner.sure and inner.weight >= 1 and "vllm/" in inner.frame.path


def _wordless(wrapper: Hit, found: Findings) -> bool:
    """Tell whether a wrapper says no more than that a request failed, and nothing else that is unknown stands in the log."""
    return wrapper.rule.scope == "request" and not found.trouble
