"""Expressions compile when first used, and then are the compiled pattern."""

from __future__ import annotations

import re

import pytest

from vllm_triage.classifier.patterns.lazy import LazyPattern


def test_pattern_compiles_on_first_use() -> None:
    """A broken expression is no error before somebody uses it."""
    pattern = LazyPattern("(")
    with pytest.raises(re.error):
        pattern.match("x")


@pytest.mark.parametrize("method", ["match", "search", "fullmatch"])
def test_methods_are_those_of_the_compiled_pattern(method: str) -> None:
    """Every method answers as on the compiled pattern, the first time and later."""
    pattern = LazyPattern("a+", re.IGNORECASE)
    for text in ("Aa", "aaa", "ba", ""):
        expected = getattr(re.compile("a+", re.IGNORECASE), method)(text)
        assert (expected and expected.span()) == ((found := getattr(pattern, method)(text)) and found.span())


def test_replacing_and_listing_work_as_well() -> None:
    """Substitution and the two kinds of listing answer as on the compiled pattern."""
    assert LazyPattern("a").sub("b", "aXa") == "bXb"
    assert LazyPattern(rb"a.").findall(b"abac") == [b"ab", b"ac"]
    assert [found.start() for found in LazyPattern("a").finditer("aXa")] == [0, 2]
    assert LazyPattern("a").made.pattern == "a"


def test_unknown_attribute_is_an_error() -> None:
    """What a pattern does not have is missed as on any object."""
    with pytest.raises(AttributeError, match="absent"):
        LazyPattern("a").absent  # noqa: B018
