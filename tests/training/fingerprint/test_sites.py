"""Logging calls are found with the line that the prefix prints and the words that the message starts with."""

from __future__ import annotations

import ast

import pytest

from vllm_triage.training.fingerprint.sites import Site, leading_words, sites_of


def test_a_call_over_several_lines_has_the_line_of_its_name() -> None:
    """Python prints the line of the method's name since 3.8."""
    module = ast.parse('x = 1\nlogger.info(\n    "Loading %s",\n    name,\n)\n(logger\n .warning("Late"))\n')

    assert [Site(2, "Loading "), Site(7, "Late")] == sites_of(module)


@pytest.mark.parametrize(
    "code",
    ['logger.info_once("Words")', 'self.logger.error("Words")', 'log_fn("Words")', 'logger.log(level, "Words")'],
)
def test_calls_under_other_names_count(code: str) -> None:
    """vLLM logs once, through an attribute, a function of its own, or with a level."""
    assert [Site(1, "Words")] == sites_of(ast.parse(code))


def test_other_calls_do_not_count() -> None:
    """A method of another name logs nothing."""
    assert [] == sites_of(ast.parse('print("Words")\nself.step("Words")'))


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ('"Loading %s from %s"', "Loading "),
        ('f"Loading {name} now"', "Loading "),
        ('"Loading {} now".format(name)', "Loading "),
        ('"Loading " + name', "Loading "),
        ('f"{name} is loaded"', ""),
        ("message", ""),
        ('" ".join(parts)', ""),
    ],
)
def test_words_end_at_the_first_placeholder(expression: str, words: str) -> None:
    """What stands behind it is worked out at run time."""
    assert words == leading_words(ast.parse(expression, mode="eval").body)
