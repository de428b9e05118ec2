"""Where a template stands in a text: as an expression with lazy gaps would find it, and never slower than the text is long."""

from __future__ import annotations

import random
import re

import pytest

from vllm_triage.corpus.messages.pieces import GAP, places_of, span_of


def by_expression(template: str, text: str) -> tuple[int, int] | None:
    found = re.search(rf".{{0,{GAP}}}?".join(map(re.escape, template.split("{}"))), text, re.DOTALL)
    return found.span() if found else None


def test_as_an_expression_finds_it() -> None:
    """Ten thousand small texts of three letters, in which pieces repeat."""
    chance = random.Random(7)
    for _ in range(10_000):
        pieces = ["".join(chance.choices("abc", k=chance.randint(1, 3))) for _ in range(chance.randint(1, 4))]
        template = "{}".join(pieces) + chance.choice(["", "{}"])
        text = "".join(chance.choices("abc", k=chance.randint(0, 30)))
        assert span_of(template, text) == by_expression(template, text), (template, text)


@pytest.mark.parametrize(
    ("template", "text", "expected"),
    [
        ("a {} b {}", "a 1 b 2", (0, 6)),
        ("{} b", "x" * 500 + " b", (100, 502)),
        ("a {} b", "a " + "x" * GAP + " b", (0, GAP + 4)),
        ("a {} b", "a " + "x" * (GAP + 1) + " b", None),
        ("a {} b {} c", "a 1 b 2 b " + "y" * 395 + " c", (0, 407)),
        ("a {} b", "", None),
        ("{}", "anything", None),
    ],
)
def test_gaps(template: str, text: str, expected: tuple[int, int] | None) -> None:
    """A slot is bounded; the pieces go as near as what follows them allows."""
    assert span_of(template, text) == expected


def test_places_are_in_order() -> None:
    assert places_of("got {} of {}.", "it got 3 of 4.") == [(3, 7), (8, 12), (13, 14)]


def test_a_text_that_repeats_the_pieces_costs_no_more() -> None:
    """An expression tries all ways to put six gaps into it, and would not come back."""
    template = "{} Retry after {} seconds ({}/{} requests remaining in current {}s window). Url: {}."
    bait = " Retry after  seconds (//" * 80
    assert span_of(template, bait) is None
