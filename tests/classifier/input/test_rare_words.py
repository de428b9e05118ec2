"""Rare words are found wherever they stand, in short texts and long ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.input.rare_words import SMALL, RareWords

WORDS = (b"<br", b"it/s", b"]:\n")
PIECES = st.lists(st.sampled_from([*WORDS, b"<b", b"it/", b"]", b"\n", b"x" * 99]), max_size=20).map(b"".join)


@given(PIECES, st.booleans())
def test_they_are_told_to_be_there_if_they_are(text: bytes, long: bool) -> None:
    """However long the text is."""
    data = text + bytes(SMALL) * long
    assert any(word in data for word in WORDS) == RareWords(WORDS).any_in(data)


@given(PIECES, st.booleans())
def test_their_places_are_those_of_a_plain_search(text: bytes, long: bool) -> None:
    """All of them, in order."""
    data = text + bytes(SMALL) * long
    expected = [at for at in range(len(text)) if data.startswith(WORDS, at)]
    assert expected == RareWords(WORDS).starts_in(data)
