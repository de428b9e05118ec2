"""Decides where nothing is known to have failed, and something speaks against health all the same."""

from __future__ import annotations

from ...diagnosis import Diagnosis
from .. import policy
from ..answer import answer_of_guess, conclude, line_evidence, with_alternatives
from ..findings import Findings


def broken_off(found: Findings) -> Diagnosis | None:
    """A compressed log that could not be read to its end shows no health, and no silence either."""
    if not found.incident.broken_off:
        return None
    answer = conclude("broken_off", policy.NOTHING, "none", found.known, found.incident)
    answer.tail = answer.evidence = [line_evidence(line) for line in found.tail[-3:]]
    return answer


def failing_words(found: Findings) -> Diagnosis | None:
    """The last lines of a server that did not come up speak of a failure, in a form that nothing else reads."""
    if not found.failing:
        return None
    guess = found.sure_guess(policy.GUESS)
    if guess is not None:
        return with_alternatives(answer_of_guess(guess, found.known, found.incident), found.candidates)
    answer = conclude("unrecognised_failure", policy.UNEXPLAINED, "none", found.known, found.incident)
    answer.way = "unexplained"
    answer.evidence = answer.tail = [line_evidence(line) for line in found.failing[:3]]
    return answer
