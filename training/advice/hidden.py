"""A library in which one cause was never written."""

from __future__ import annotations

from typing import Any

from ...classifier.api import Triage
from ...corpus.records import replace


class HiddenCorpus:
    """A corpus in which one cause was never written: neither its fixes, nor the messages that stand for it, nor any remedy.

    Without a cause all messages are unknown.
    """

    def __init__(self, corpus: Any, cause: str = "") -> None:
        self._corpus = corpus
        self._cause = cause

    def __getattr__(self, name: str) -> Any:
        return getattr(self._corpus, name)

    def bucket(self, name: str) -> Any:
        """Return a bucket without the hidden cause."""
        bucket = self._corpus.bucket(name)
        return replace(bucket, causes=tuple(one for one in bucket.causes if f"{name}/{one.id}" != self._cause))

    def messages(self) -> Any:
        """Return the catalogue without the rows of the hidden cause."""
        return _HiddenMessages(self._corpus.messages(), self._cause)

    def remedies(self) -> Any:
        """Return remedies that know no message."""
        return _NoRemedies()


class _HiddenMessages:
    def __init__(self, matcher: Any, cause: str) -> None:
        self._matcher = matcher
        self._cause = cause

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matcher, name)

    def find(self, text: str) -> Any:
        return [
            match
            for match in self._matcher.find(text)
            if self._cause and f"{match.row.label.bucket}/{match.row.label.cause}" != self._cause
        ]


class _NoRemedies:
    def find(self, *_: object) -> None:
        return None


def hidden(cause: str) -> Triage:
    """Return a library in which nobody has written this cause."""
    triage = Triage(without=[cause])
    triage.corpus = HiddenCorpus(triage.corpus, cause)  # type: ignore[assignment]
    return triage


def wordless() -> Triage:
    """Return a library whose catalogue knows no message: rules are left."""
    triage = Triage()
    triage.corpus = HiddenCorpus(triage.corpus)  # type: ignore[assignment]
    return triage
