"""Needles are given up where they stand everywhere, and what is found stays the same."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.matching.needles import cover
from vllm_triage.classifier.matching.search import FEWEST, Search

WORDS = [b"out of memory", b"no memory left", b"memory", b"unheard of"]
NEEDLES = cover(WORDS, b"")


def looked_for(search: Search) -> list[bytes]:
    """Return what the automaton was built of."""
    return search._ready[1].words


@pytest.mark.parametrize("muted", [frozenset(), frozenset({3})])
def test_a_needle_that_stands_everywhere_is_no_longer_looked_for(muted: frozenset[int]) -> None:
    """From the next block on its literals are, with the same finds, overlaps included."""
    search, plain = (Search(WORDS, needles, muted) for needles in (NEEDLES, None))
    needle = next(word for word in looked_for(search) if word not in WORDS)
    data = b"out of memory, unheard of, no memory left\n" + (needle + b"\n") * (FEWEST + 2)

    before = search.find(data)

    assert plain.find(data) == before == search.find(data)
    assert {word for word, _, _ in before} == {0, 1, 2, 3} - muted
    assert needle not in looked_for(search)


def test_a_needle_that_is_a_literal_stays() -> None:
    """There is nothing better to look for."""
    search = Search([b"oops"], cover([b"oops"], b""))

    assert 999 == len(search.find(b"oops" * 999)) == len(search.find(b"oops" * 999))
    assert [b"oops"] == looked_for(search)


@pytest.mark.parametrize("around", [1, 40])
def test_literals_around_needles_stand_in_order_among_the_others(around: int) -> None:
    """Whether they are few, and put in one by one, or many."""
    words = [b"shortage of memory", b"memory", b"shorts"]
    search, plain = Search(words, cover(words, b"")), Search(words, None)
    data = b"memory\n" * 200 + b"shortage of memory\nmemory\n" * around + b"memory\n" * 200

    assert plain.find(data) == search.find(data)
    assert around == sum(word == 0 for word, _, _ in search.find(data))
