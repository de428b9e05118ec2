"""Which cause of a bucket a guess of the text model means."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet

from ...corpus.store import Corpus
from ...corpus.types import Rule
from ..patterns.lazy import LazyPattern

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
