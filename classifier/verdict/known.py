"""What decisions draw on: the texts of the buckets, and the text model where it may be asked."""

from __future__ import annotations

from collections.abc import Callable

from ...corpus.store import Corpus
from ...corpus.types import Bucket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..text_model.guess import Guess, Guesser

NO_BUCKET = ("unknown", "no_failure")
"""What the text model may say that is not a failure of a known kind."""


class Known:
    """What decisions draw on: the texts of the buckets, and the text model where it may be asked."""

    __slots__ = ("_guesser", "alone", "corpus")

    def __init__(self, corpus: Corpus, guesser: Callable[[], Guesser] | None, alone: bool = False) -> None:
        self.corpus = corpus
        self.alone = alone
        """Whether the rules that decide are silent."""
        self._guesser = guesser

    @property
    def guesser(self) -> Guesser | None:
        """The text model, read when first asked for; None where it must not be asked."""
        return self._guesser() if self._guesser is not None else None

    def answers(self, guess: Guess, least: float) -> bool:
        """Return whether a guess names a failure, and is sure enough to be the answer."""
        return guess.bucket not in NO_BUCKET and guess.probability >= least

    def bucket(self, name: str) -> Bucket:
        """Return a bucket with its causes; one with a title made of its name where no rule file has it."""
        try:
            return self.corpus.bucket(name)
        except KeyError:
            title = name.replace("_", " ").replace("-", " ")
            return Bucket(name, title[:1].upper() + title[1:], "")
