"""Annotations of GitHub Actions: one workflow command for each log, which the log cannot break out of."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.service.samples import failure, found_words, healthy, unknown
from vllm_triage.service.render.interface import Options, Result, render

COMMAND = re.compile(r"::(?P<level>error|warning|notice) (?P<where>[^:\n]*)::(?P<message>[^\r\n]*)")


def commands(*results: Result) -> list[re.Match[str]]:
    """Return the commands of some results, as the runner reads them."""
    lines = render("github", list(results), Options()).split("\n")
    assert "" == lines.pop()
    found = [COMMAND.fullmatch(line) for line in lines]
    assert None not in found
    return [match for match in found if match]


def test_the_level_says_what_it_is():
    """A failure, one that is not recognised, none."""
    assert ["error", "warning", "notice"] == [match["level"] for match in commands(failure(), unknown(), healthy())]


def test_an_annotation_stands_at_its_line():
    """With cause and confidence as its title; standard input has neither file nor line."""
    first, second = commands(failure(), unknown())

    assert "title=kv_cache_oom/context_exceeds_cache 97 %25,file=server.log,line=37" == first["where"]
    assert "title=unknown/unrecognised_failure" == second["where"]
    assert "%0A1. Cap the context at what fits: --max-model-len 41936%0A" in first["message"]


@given(text=st.text(max_size=200), name=st.text(min_size=1, max_size=60))
def test_no_log_gives_the_runner_a_command(text, name):
    """Line ends, percent signs, commands of its own: all of it stays within one message."""
    found = found_words(text, text + "\n::set-env name=A::b")

    assert 1 == len(commands(Result(name, found.report)))
