"""Decides where nothing is known to have failed, and something speaks against health all the same."""

from __future__ import annotations

from ...diagnosis import Diagnosis
from ...patterns.lazy import LazyPattern
from .. import policy
from ..answer import conclude, line_evidence
from ..case import LOUD
from ..findings import Findings

_FAILING = LazyPattern(
    r"(?<![\w.`'\"])(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?:: |$)|\bCUDA [eE]rror: |^\W*error: |Assertion `|fault by GPU"
    r"|Segmentation fault|core dumped|panicked at "
)
"""Words that only something that went wrong prints."""


def broken_off(found: Findings) -> Diagnosis | None:
    """A compressed log that could not be read to its end shows no health, and no silence either."""
    if not found.incident.broken_off:
        return None
    answer = conclude("broken_off", policy.NOTHING, "none", found.known, found.incident)
    answer.tail = answer.evidence = [line_evidence(line) for line in found.tail[-3:]]
    return answer


def failing_words(found: Findings) -> Diagnosis | None:
    """The last lines of a server that did not come up speak of a failure, in a form that nothing else reads."""
    case = found.case
    if case.came_up or case.stop:
        return None
    last = max(case.stages.values(), default=0)
    explained = {hit.line.number for hit in found.incident.hits}
    telling = [
        line
        for line in found.tail
        if line.number > last and line.level in LOUD and line.number not in explained and _FAILING.search(line.text)
    ]
    if not telling:
        return None
    answer = conclude("unrecognised_failure", policy.UNEXPLAINED, "none", found.known, found.incident)
    answer.evidence = answer.tail = [line_evidence(line) for line in telling[:3]]
    return answer
