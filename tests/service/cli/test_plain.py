"""Command lines that are read without the argument parser are read as it would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.service.cli.arguments import parser
from vllm_triage.service.cli.plain import DEFAULTS, SWITCHES, plain

WORDS = [
    *SWITCHES,
    "-f",
    "--format",
    "json",
    "text",
    "sarif",
    "a.log",
    "-",
    "--",
    "",
    "--jobs",
    "3",
    "-vV",
    "--form",
    "-fjson",
    "--quiet=1",
    "-1",
]


def test_the_defaults_are_those_of_the_parser() -> None:
    assert vars(parser().parse_args([])) == DEFAULTS


def test_every_switch_of_the_parser_is_known() -> None:
    switches = {
        option: action.dest
        for action in parser()._actions
        for option in action.option_strings
        if action.nargs == 0 and action.dest != "help"
    }
    assert switches == SWITCHES


@given(st.lists(st.sampled_from(WORDS), max_size=6))
def test_what_is_plain_is_read_as_the_parser_reads_it(words: list[str]) -> None:
    found = plain(words)
    if found is not None:
        assert vars(found) == vars(parser().parse_args(words))


@pytest.mark.parametrize(
    "words", [["a.log"], ["-f", "json", "a.log", "b.log"], ["a.log", "--format", "json"], ["-V"], []]
)
def test_usual_lines_are_plain(words: list[str]) -> None:
    found = plain(words)
    assert found is not None
    assert vars(found) == vars(parser().parse_args(words))


@pytest.mark.parametrize(
    "words", [["-h"], ["-f", "none"], ["-f"], ["a.log", "-v", "b.log"], ["--jobs", "2"], ["-vV"], ["--", "-x"]]
)
def test_all_else_is_left_to_the_parser(words: list[str]) -> None:
    assert plain(words) is None


def test_one_call_does_not_change_the_next() -> None:
    first = plain([])
    assert first is not None
    first.only.append("kv_cache_oom")
    assert plain([]).only == []  # type: ignore[union-attr]
