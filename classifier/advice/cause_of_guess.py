"""What an answer without a rule can still say about the cause, and which fixes hold whatever the cause is."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet
from itertools import islice

from ...corpus.records import replace
from ...corpus.store import Corpus
from ...corpus.types import Bucket, Cause, Fix, Rule
from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern
from .check import finds_out
from .culprit import TRACKER

_SEARCH = Fix(
    title="Search vLLM's issues for this error",
    kind="step",
    does=(("step", f"{TRACKER} {{search}}"),),
    why="No rule knows these words; they are those that every report of it shares.",
    cost="none",
    when=("search present",),
)
_WORD = LazyPattern(r"[A-Za-z][a-z]{2,}|[A-Z]{3,}")
_ESCAPE = LazyPattern(r"\\[A-Za-z]|\(\?[a-zA-Z<>=!:P]+")
_LEAST = 3.0
"""Weight of the words that must speak for a cause."""
_AHEAD = 1.35
"""How far the likeliest cause must be ahead of the next."""


def likely_cause(bucket: str, terms: AbstractSet[str], corpus: Corpus) -> str:
    """Return the cause of a bucket whose rules share most words with a log; "" where none stands out.

    Args:
        bucket: The bucket answered.
        terms: What the text model read, as ``kind:text``.
        corpus: For the rules of its causes.
    """
    rules = [rule for rule in corpus.rules_of(bucket) if rule.cause and rule.role == "cause"]
    words = [(rule.cause, _words(rule)) for rule in rules]
    causes = {cause for cause, _ in words}
    if len(causes) < 2:
        return next(iter(causes), "")
    said: set[str] = set()
    for term in terms:
        said.update(word.lower() for word in _WORD.findall(term.partition(":")[2]))
    having: dict[str, set[str]] = {}
    for cause, known in words:
        for word in known:
            having.setdefault(word, set()).add(cause)
    best: dict[str, float] = {}
    for cause, known in words:
        shared = sum(math.log(1 + len(causes) / len(having[word])) for word in known & said)
        # A long pattern shares words by chance: what counts is how much of it was said.
        best[cause] = max(best.get(cause, 0.0), shared * math.sqrt(len(known & said) / max(1, len(known))))
    first, second = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:2]
    return first[0] if first[1] >= _LEAST and first[1] >= _AHEAD * second[1] else ""


def _words(rule: Rule) -> set[str]:
    texts = (rule.pattern, rule.exception, rule.message, rule.frames, rule.innermost)
    plain = " ".join(_ESCAPE.sub(" ", text) for text in texts if text)
    return {word.lower() for word in _WORD.findall(plain)}


def generic_cause(bucket: Bucket) -> Cause:
    """Return what a bucket says of all its causes: what most of them share, or a look that changes nothing, and the search.

    Fixes that destroy something, or that hold only from a release on, are left out: they need the exact cause. So does what
    fewer than half of the causes have: it would be wrong more often than right.
    """
    found: dict[str, _Shared] = {}
    for number, cause in enumerate(bucket.causes):
        for rank, fix in enumerate(cause.fixes):
            if fix.safety == "destructive" or fix.fixed_in:
                continue
            found.setdefault(fix.option or fix.title, _Shared(fix, (rank, number))).count += 1
    causes = sum(bool(cause.fixes) for cause in bucket.causes)
    if not causes:
        return Cause(id="", title="", summary="")
    ordered = sorted(found.values(), key=lambda shared: (-shared.count, shared.first))
    fits = (each.fix for each in ordered if 2 * each.count >= causes or finds_out(each.fix.title, each.fix.kind))
    return Cause(id="", title="", summary="", fixes=(*islice(fits, 1), _SEARCH))


def as_guess(fixes: list[Advice], own_fault: bool = False) -> list[Advice]:
    """Return what is shown of a guessed cause's fixes: the first, for the rest hang on what was guessed, and what hangs on the error.

    Args:
        fixes: Of the cause, ranked.
        own_fault: Whether vLLM's own code raised an exception of Python's: no setting is its cause.
    """
    of_error = [fix for fix in fixes if fix.title == _SEARCH.title or fix.source]
    shown = of_error if own_fault and of_error else [fix for at, fix in enumerate(fixes) if not at or fix in of_error]
    for rank, fix in enumerate(shown, 1):
        fix.rank = rank
    return shown


def searchable(cause: Cause) -> Cause:
    """Return a cause with the search of others' reports behind its fixes."""
    return replace(cause, fixes=(*cause.fixes, _SEARCH))


class _Shared:
    """A fix with how many causes have it, and where it stands first: its rank there, and the cause's position."""

    __slots__ = ("count", "first", "fix")

    def __init__(self, fix: Fix, first: tuple[int, int]) -> None:
        self.fix = fix
        self.first = first
        self.count = 0
