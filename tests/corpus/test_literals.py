"""Literals: every match of a pattern holds one, and none of them stands all over a healthy log."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest
from ahocorasick_rs import AhoCorasick
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.everyday import examples, sample
from tests.fixtures.servers import healthy_server
from vllm_triage.corpus.literals import LONGEST, all_strings, required_literals
from vllm_triage.corpus.store import load

# Rules whose literals are to be given by hand (`literals = [...]`).
PENDING: set[str] = set()
PER_THOUSAND = 1.0
"""Occurrences in a thousand lines of a healthy log that a literal of a failure rule may have."""


def _is_python(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


@cache
def patterns() -> dict[str, list[str]]:
    """Patterns of the corpus, with the literals that they hold. Some seconds of work, so not done while tests are collected."""
    drawn = sample(sorted({rule.pattern for rule in load().rules if rule.pattern}))
    held = {pattern: required_literals(pattern) for pattern in drawn}
    return {pattern: literals for pattern, literals in held.items() if literals and _is_python(pattern)}


@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    deadline=None,
    max_examples=examples(150),
)
@given(st.data())
def test_every_match_holds_a_required_literal(data):
    """Whatever a pattern of the corpus matches, the scanner has found a literal in it."""
    pattern = data.draw(st.sampled_from(sorted(patterns())))
    text = data.draw(st.from_regex(re.compile(pattern)))

    assert any(literal in text for literal in patterns()[pattern])


@given(
    st.lists(
        st.sampled_from(["abcdef", "ghijkl", "(?:mnopqr|stuvwx)", r"\d+", ".{0,9}", "x?", "(?P<name>[a-z]+)"]),
        min_size=1,
        max_size=6,
    ),
    st.data(),
)
def test_literals_of_patterns_built_from_pieces(pieces, data):
    """The same for patterns of all shapes, not only those that somebody wrote."""
    pattern = "".join(piece.replace("name", f"n{index}") for index, piece in enumerate(pieces))
    literals = required_literals(pattern)
    text = data.draw(st.from_regex(pattern))

    assert literals is None or any(literal in text for literal in literals)


def test_literals_have_the_length_that_the_scanner_wants():
    """Not so short that they stand everywhere, not so long that the automaton grows."""
    literals = {text for texts in patterns().values() for text in texts}

    assert {text for text in literals if not 5 <= len(text) <= LONGEST} == set()


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("disk is full", ["disk is full"]),
        ("(?:first thing|second thing)", ["first thing", "second thing"]),
        (r"\d+ tokens\? (?P<n>\w+)", [" tokens? "]),
        ("(?i)ignore case", None),
        (r"\w+ \d+", None),
        ("(?:optional part)?", None),
        ("broken(", None),
        ("[Ee]xactly this", ["Exactly this", "exactly this"]),
    ],
)
def test_literals_of_plain_patterns(pattern, literals):
    """What can be said without a doubt."""
    assert required_literals(pattern) == literals


def test_all_strings_of_a_list_of_names():
    """A list of class names needs no expression at run time."""
    assert all_strings("KeyError|ValueError") == ["KeyError", "ValueError"]
    assert all_strings(".*Error") is None


def test_no_literal_of_a_failure_rule_stands_all_over_a_healthy_log():
    """The scanner stops at every occurrence: a literal that healthy servers print all the time makes each log slow."""
    log = healthy_server(12_000)
    text = "\n".join(log)
    rules = [rule for rule in load().rules if rule.pattern and rule.role != "fact" and not rule.frequent]
    looked_for = {(rule.id, literal) for rule in rules if rule.id not in PENDING for literal in rule.literals}
    literals = sorted({literal for _, literal in looked_for})
    counts = Counter(
        literals[found] for found, _, _ in AhoCorasick(literals).find_matches_as_indexes(text, overlapping=True)
    )
    bound = PER_THOUSAND * len(log) / 1000

    assert [(rule, literal) for rule, literal in looked_for if counts[literal] > bound] == []


def test_the_healthy_log_is_noisy():
    """The measure itself: such a log does hold lines of every kind."""
    text = "\n".join(healthy_server(2000))

    assert all(text.count(part) >= 20 for part in ("Avg prompt throughput", "Received request", '" 200 OK', "GET /"))


def test_the_same_seed_gives_the_same_log():
    """A failing test can be run again."""
    assert healthy_server(300, seed=5) == healthy_server(300, seed=5) != healthy_server(300, seed=6)
