"""Rows are found by their pieces, whether these are packed or not, and however much was looked through."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.corpus.messages import Label, Row
from vllm_triage.corpus.messages import index as messages
from vllm_triage.corpus.messages.matching import Matcher

READ, PLACE = Label("lora", "", "user", "start", True, "read"), Label("engine_bug", "", "vllm", "start")
TEMPLATES = (
    "rank {} of the adapter",
    "rank of {}",
    "rank of a kind",
    "adapter {} is gone",
    "short {}",
    "of the adapter {}",
)
ROWS = [Row("vllm", text, "raise", "ValueError", "a/b", "f", 1, "0.1", "", READ) for text in TEMPLATES]
ROWS.append(Row("torch", "the adapter is of a kind", "raise", "ValueError", "c/d", "f", 1, "0.1", "", PLACE))
KEPT = [row for row in ROWS if messages.piece_of(row)]
PIECES = ["rank ", "of the adapter", "rank of", " a kind", "adapter ", "is gone", "short", " ", "x"]


def naive(text: str) -> set[str]:
    return {row.template for row in ROWS if messages.piece_of(row) and messages.piece_of(row) in text}


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_every_piece_in_a_text_is_found(parts: list[str]) -> None:
    text = "".join(parts)
    index = messages.Index(messages.pieces_of(KEPT))
    assert {KEPT[position].template for position in index.find(text)} == naive(text)
    assert index._find_at_once(text) == index.find(text)


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_packed_rows_are_found_as_they_were(parts: list[str]) -> None:
    text = "".join(parts)
    shown = [
        [(match.row.template, match.row.label, match.start, match.end, match.whole) for match in matcher.find(text)]
        for matcher in (Matcher(ROWS), Matcher(*messages.unpacked(messages.packed(ROWS))))
    ]
    assert shown[0] == shown[1]


def test_a_row_keeps_its_module_where_that_labels_it() -> None:
    rows, pieces = messages.unpacked(messages.packed(ROWS))
    assert {row.path for row in rows if row.label == READ} == {""}
    assert {row.path for row in rows if row.label == PLACE} == {"c/d"}
    assert sum(len(found) for items in pieces.values() for _, found in items) == len(rows) == len(KEPT) < len(ROWS)


def test_a_process_that_reads_on_gets_an_automaton() -> None:
    index = messages.Index(messages.pieces_of(KEPT))
    index.find("x" * messages.SOON)
    assert index._automaton is None
    assert index.find("rank of a kind")
    assert index._automaton is not None
