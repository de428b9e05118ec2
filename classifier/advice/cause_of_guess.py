"""What an answer without a rule can still say about the cause, and which fixes hold whatever the cause is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from ...corpus.types import Rule
from ..patterns.lazy import LazyPattern

MOST_FIXES = 3
_WORD = LazyPattern(r"[A-Za-z][a-z]{2,}|[A-Z]{3,}")
_ESCAPE = LazyPattern(r"\\[A-Za-z]|\(\?[a-zA-Z<>=!:P]+")
_LEAST = 3.0
"""Weight of the words that must speak for a cause."""
_AHEAD = 1.35
"""How far the likeliest cause must be ahead of the next."""


def likely_cause(bucket: str, terms: AbstractSet[str], corpus: Any) -> str:
    """Return the cause of a bucket whose rules share most words with a log; "" where none stands out.

    Args:
        bucket: The bucket answered.
        terms: What the text model read, as ``kind:text``.
        corpus: For the rules of its causes.
    """
    rules = [rule for rule in corpus.rules if rule.bucket == bucket and rule.cause and rule.role == "cause"]
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


def generic_entry(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a bucket says of all its causes: its meaning, and the fixes that several causes share, the commonest first.

    Fixes that destroy something, or that hold only from a release on, are left out: they need the exact cause.
    """
    found: dict[str, list[Any]] = {}
    for number, cause in enumerate(texts["causes"].values()):
        for place, fix in enumerate(cause["fix"]):
            if fix["safety"] == "destructive" or fix["fixed_in"]:
                continue
            entry = found.setdefault(fix["option"] or fix["title"], [0, (place, number), fix])
            entry[0] += 1
    ordered = sorted(found.values(), key=lambda item: (-item[0], item[1]))
    return {"title": "", "summary": "", "confirm": "", "refute": "", "fix": [item[2] for item in ordered[:MOST_FIXES]]}
