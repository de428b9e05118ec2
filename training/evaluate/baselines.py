"""Simpler ways to answer, scored in the same run: last error line looked up, keyword vote, plain text, nearest log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from ...corpus.store import load
from ..examples.labelled import Case
from ..examples.row import Row
from .score import NO_BUCKET, Answer, Way

LONGEST = 20000
"""Characters of a log's end that a baseline reads."""
ENOUGH = 0.5
"""Confidence from which on a baseline's first choice is its answer."""
_ERROR = re.compile(r"(?:Error|Exception|ERROR|error|failed|Failed|FATAL)")
_WORD = re.compile(r"[A-Za-z_]{3,}")
_FIGURE = re.compile(r"\d+")

Guess = Callable[[str], tuple[str, float]]


def baselines(rows: Sequence[Row]) -> dict[str, Way]:
    """Return the ways by name, made from the same rows as the model."""
    return {
        "last error line": _way(last_error_line(rows)),
        "keyword vote": _way(keywords()),
        "TF-IDF + logistic regression": _way(plain_text(rows)),
        "nearest neighbour": _way(nearest(rows)),
    }


def _way(guess: Guess) -> Way:
    def way(case: Case) -> Answer:
        bucket, chance = guess(case.whole())
        given = bucket if chance >= ENOUGH or bucket in NO_BUCKET else "unknown"
        return Answer(given, chance, bucket, "baseline")

    return way


def last_error_line(rows: Sequence[Row]) -> Guess:
    """Answer with the bucket of the known message that shares most words with the log's last line of an error."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [row.text.strip().rpartition("\n")[2] for row in rows]
    vectors = TfidfVectorizer(sublinear_tf=True, token_pattern=_WORD.pattern)
    known = vectors.fit_transform(texts)

    def guess(text: str) -> tuple[str, float]:
        last = next((line for line in reversed(text.splitlines()) if _ERROR.search(line)), "")
        if not last:
            return "no_failure", 0.5
        likeness = (known @ vectors.transform([last]).T).toarray().ravel()
        at = int(likeness.argmax())
        return rows[at].bucket, min(1.0, float(likeness[at]))

    return guess


def keywords() -> Guess:
    """Answer with the bucket of whose rules most literals stand in the log."""
    literals: dict[str, set[str]] = {}
    for rule in load().rules:
        if rule.role in ("cause", "symptom"):
            literals.setdefault(rule.bucket, set()).update(rule.literals)

    def guess(text: str) -> tuple[str, float]:
        votes = Counter({bucket: sum(word in text for word in words) for bucket, words in sorted(literals.items())})
        bucket, count = votes.most_common(1)[0]
        return (bucket, count / max(1, sum(votes.values()))) if count else ("no_failure", 0.5)

    return guess


def plain_text(rows: Sequence[Row]) -> Guess:
    """Answer by TF-IDF and logistic regression on the raw text, as one would start without thinking."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, min_df=2 if len(rows) > 200 else 1, max_features=20000),
        LogisticRegression(C=10.0, max_iter=60, tol=1e-2),
    )
    pipeline.fit([row.text for row in rows], [row.bucket for row in rows])

    def guess(text: str) -> tuple[str, float]:
        chances = pipeline.predict_proba([text[-LONGEST:]])[0]
        at = int(chances.argmax())
        return str(pipeline.classes_[at]), float(chances[at])

    return guess


def nearest(rows: Sequence[Row]) -> Guess:
    """Answer with the bucket of the training text that is most like the log's end as a whole."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), max_features=60000)
    known = vectors.fit_transform([_FIGURE.sub("0", row.text) for row in rows])

    def guess(text: str) -> tuple[str, float]:
        likeness = (known @ vectors.transform([_FIGURE.sub("0", text[-LONGEST:])]).T).toarray().ravel()
        at = int(likeness.argmax())
        return rows[at].bucket, min(1.0, float(likeness[at]))

    return guess
