"""Simpler ways to answer, scored in the same run as the model: nearest message, keyword vote, and plain text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from .dataset import CORPUS, read
from .evaluate import Guess
from .knowledge import read_buckets
from .rows import Row

LONGEST = 20000
_ERROR = re.compile(r"(?:Error|Exception|ERROR|error|failed|Failed|FATAL)")


def nearest(rows: Sequence[Row]) -> Callable[[str], Guess]:
    """Answer with the bucket of the training message that is most like the log's last line of an error."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [row.text.strip().rpartition("\n")[2] for row in rows]
    vectors = TfidfVectorizer(sublinear_tf=True)
    known = vectors.fit_transform(texts)

    def guess(text: str) -> Guess:
        incident, beside = read(text)
        last = incident.traces[-1].text if incident.traces else ""
        lines = [line for line in text.splitlines() if _ERROR.search(line)]
        likeness = (
            (known @ vectors.transform([last or (beside[-1].text if beside else (lines[-1] if lines else ""))]).T)
            .toarray()
            .ravel()
        )
        at = int(likeness.argmax())
        return rows[at].bucket, float(likeness[at])

    return guess


def keywords() -> Callable[[str], Guess]:
    """Answer with the bucket of whose rules most literals stand in the log."""
    from ...corpus.store import load

    literals: dict[str, set[str]] = {}
    for rule in load().rules:
        if rule.role in ("cause", "symptom"):
            literals.setdefault(rule.bucket, set()).update(rule.literals)

    def guess(text: str) -> Guess:
        votes = Counter({bucket: sum(word in text for word in words) for bucket, words in sorted(literals.items())})
        bucket, count = votes.most_common(1)[0]
        return (bucket, count / max(1, sum(votes.values()))) if count else ("unknown", 0.0)

    return guess


def plain_text(rows: Sequence[Row]) -> Callable[[str], Guess]:
    """Answer by TF-IDF and logistic regression on the raw text, as one would start without thinking."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, min_df=2, max_features=20000),
        LogisticRegression(C=10.0, max_iter=60, tol=1e-2),
    )
    pipeline.fit([row.text for row in rows], [row.bucket for row in rows])

    def guess(text: str) -> Guess:
        chances = pipeline.predict_proba([text[-LONGEST:]])[0]
        at = int(chances.argmax())
        return str(pipeline.classes_[at]), float(chances[at])

    return guess


def bucket_names() -> list[str]:
    """Return the ids of all buckets."""
    return sorted(bucket.id for bucket in read_buckets(CORPUS) if bucket.id != "facts")
