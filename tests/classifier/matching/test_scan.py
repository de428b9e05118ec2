"""The scan finds every literal where it stands, and says which rules wait for it."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.matching.needles import Needles, cover
from vllm_triage.classifier.matching.plan import STRUCTURE, words_of
from vllm_triage.classifier.matching.scan import FEW, SMALL, Scanner

WORDS = ["out of memory", "memory", "NCCL ", "é", "emo"]


def scanner_for(literals: Iterable[tuple[str, int]]) -> Scanner:
    """Return a scanner for literals, each with a rule that waits for it."""
    table = words_of(literals)
    return Scanner(list(table), list(table.values()))


SCANNER = scanner_for((word, index) for index, word in enumerate(WORDS))
NEEDLES = cover(SCANNER.words, b"much memory is out of use")


def naive(data: bytes) -> set[tuple[bytes, int]]:
    """Return every literal with every place where it starts, the slow way."""
    return {(word, start) for word in SCANNER.words for start in range(len(data)) if data.startswith(word, start)}


@given(st.lists(st.sampled_from([*WORDS, *STRUCTURE, "x", "\n", "mem", " "]), max_size=40))
def test_scan_finds_what_a_naive_search_finds(pieces: list[str]) -> None:
    """All occurrences are found, those within one another too, in order of their ends."""
    data = "".join(pieces).encode()
    found = SCANNER.find(data)
    assert naive(data) == {(SCANNER.words[word], start) for word, start, _ in found}
    assert [end for _, _, end in found] == sorted(end for _, _, end in found)
    assert all(data[start:end] == SCANNER.words[word] for word, start, end in found)


@given(st.lists(st.sampled_from([*WORDS, *STRUCTURE, "x", "\n", "mem", " "]), max_size=40))
def test_needles_find_what_the_literals_find(pieces: list[str]) -> None:
    """The same literals at the same places, in the same order."""
    data = "".join(pieces).encode()
    assert SCANNER.find(data) == Scanner(SCANNER.words, SCANNER.rules, NEEDLES).find(data)


def test_a_few_lines_are_searched_with_what_there_is() -> None:
    """Whichever automaton blocks made ready; they do not count as blocks."""
    scanner = Scanner(SCANNER.words, SCANNER.rules, NEEDLES)
    for size in (0, 1, SMALL + 1):
        scanner.find(b"memory" * (size // 6 + 1))
        assert SCANNER.find(b"out of memory") == scanner.find_part(b"out of memory")


def test_literals_that_go_on_behind_a_mark_are_told_by_their_begins() -> None:
    """As a prefix may end with the mark, and the rest of the literal follow it."""
    scanner = scanner_for([("a] b", 0), ("] c", 1), ("d] ", 2), ("e] f] g", 3), ("h", 4)])

    assert {b"a] ", b"e] ", b"e] f] "} == set(scanner.begins(b"] "))


def test_every_literal_holds_its_needle_once() -> None:
    """Where it is said to: otherwise it would be found twice, or not at all."""
    stands = [
        (index, SCANNER.words[index][before:].startswith(needle))
        for needle, under in zip(NEEDLES.words, NEEDLES.under, strict=True)
        for index, before in under
    ]
    assert [(index, True) for index in range(len(SCANNER.words))] == sorted(stands)


def test_what_is_built_sooner_is_for_the_first_small_blocks_alone() -> None:
    """A process that reads on, or a large block, gets the automaton that searches faster."""
    small, large = (Scanner(SCANNER.words, SCANNER.rules, NEEDLES) for _ in range(2))
    for _ in range(FEW):
        small.find(b"memory")
        assert small._search is None
    small.find(b"memory")
    large.find(b"memory" + bytes(SMALL))
    assert None not in (small._search, large._search)


@pytest.mark.parametrize("needles", [None, NEEDLES], ids=["literals", "needles"])
@given(pieces=st.lists(st.sampled_from([*WORDS, "x" * 50, "\n", "ERROR "]), max_size=60))
def test_steady_scan_drops_muted_literals_away_from_errors_alone(needles: Needles | None, pieces: list[str]) -> None:
    """The scanner for the rest of a large log finds all but what was muted, and that too where errors are near."""
    muted = SCANNER.words.index(b"memory")
    steady = Scanner(SCANNER.words, SCANNER.rules, needles).steady(frozenset({muted}))
    data = "".join(pieces).encode()
    all_found = {(word, start) for word, start, _ in SCANNER.find(data)}
    found = {(word, start) for word, start, _ in steady.find(data)}
    near = any(not SCANNER.rules[word] for word, _ in all_found)
    assert (all_found if near else {item for item in all_found if item[0] != muted}) == found


def test_rules_that_share_a_literal_are_both_named() -> None:
    """One literal may wake several rules; structure wakes none."""
    scanner = scanner_for([("same", 3), ("same", 8), ("ERROR ", 5)])
    assert scanner.rules[scanner.words.index(b"same")] == [3, 8]
    assert scanner.rules[scanner.words.index(b"ERROR ")] == [5]
    assert scanner.rules[scanner.words.index(b"Traceback (most recent call last)")] == []


def test_one_scanner_serves_several_threads() -> None:
    """Threads that scan at the same time get what one alone would get."""
    scanner = scanner_for([("out of memory", 0)])
    data = b"CUDA out of memory\n" * 2000
    expected = len(scanner.find(data))
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(len(scanner.find(data)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [expected] * 8
