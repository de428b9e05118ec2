"""The lint: what can explode is refused, what the corpus holds is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.corpus.lint import lint_pattern
from vllm_triage.corpus.store import load
from vllm_triage.corpus.types import EXPRESSIONS


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:a+)+b",
        r"(?:\w+\s*)+x",
        r"(?:.*)*",
        r"(?:(?:ab)*c?)*",
        ".*.*end",
        "a.*b.*c.*d.*e.*f",
        "((x+)y?)+",
        r"server (?:a|aa)+ refused",
        r"(?:\w|[a-z])+x",
        r"(?:.*a){12}",
    ],
)
def test_patterns_that_explode_are_refused(pattern):
    """Repeats within repeats, and runs of `.*`, cost more than the text is long."""
    assert lint_pattern(pattern) != []


@pytest.mark.parametrize(
    "pattern",
    [
        r"error (?P<code>\d+)",
        "a.{0,80}b.*c",
        r"(?:one|two){1,4} \w+",
        r"[^\n]*",
        "plain text",
        r"(?:a|b)+c",
        r"(?:ab|cd)+c",
    ],
)
def test_plain_patterns_pass(pattern):
    """What rules are made of."""
    assert lint_pattern(pattern) == []


def test_every_expression_of_the_corpus_passes():
    """Also those on exceptions, messages and stacks."""
    found = [
        (rule.id, name, text)
        for rule in load().rules
        for name in EXPRESSIONS
        if (text := getattr(rule, name)) and lint_pattern(text)
    ]

    assert found == []


def test_a_broken_pattern_is_a_complaint():
    """Not an exception."""
    assert "does not parse" in lint_pattern("open(")[0]


@given(st.text(alphabet="ab()|*+?.{}[]\\1,", max_size=14))
def test_lint_takes_anything(pattern):
    """Whatever stands in a file, lint answers with a list."""
    assert isinstance(lint_pattern(pattern), list)
