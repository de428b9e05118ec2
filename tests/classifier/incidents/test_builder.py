"""One server start: what is kept of it, who spoke, how far it got."""

from __future__ import annotations

from typing import Any

import pytest

from tests.classifier.made import line_rule, trace_rule, trace_rules
from vllm_triage.classifier.incidents.builder import ALIKE, ERRORS, PER_RULE, IncidentBuilder
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.lines.types import Line
from vllm_triage.classifier.matching.types import Hit
from vllm_triage.corpus.types import Rule

PLACE = (b"x", 0, 1, b"")
CAUSE = line_rule("a/cause", "no room")


@pytest.fixture
def builder() -> IncidentBuilder:
    """A start that begins on the first line."""
    return IncidentBuilder(1)


def line(number: int, text: str, process: str = "", level: str = "") -> Line:
    """Return a line that somebody said."""
    return Line(number, text, process, level)


def keep(builder: IncidentBuilder, number: int, text: str = "no room", **keys: str) -> None:
    """Keep a match on a line."""
    builder.keep(Hit(CAUSE, line(number, text, **keys), {}, last=number), PLACE)


def kept(builder: IncidentBuilder) -> list[tuple[int, int, int]]:
    """Return first line, count and last line of what was kept."""
    return [(hit.line.number, hit.count, hit.last) for hit in builder.incident.hits]


def test_the_same_words_are_counted(builder):
    """Their first line is the evidence, the last one tells whether they go on."""
    for number in (3, 5, 9):
        keep(builder, number)

    assert [(3, 3, 9)] == kept(builder)


def test_words_of_other_lines_are_kept_besides(builder):
    """Up to a few; then they are counted too."""
    for number in range(1, ALIKE + 3):
        keep(builder, number, f"no room {number}")

    assert ALIKE == len(builder.incident.hits)
    assert ALIKE + 2 == builder.incident.hits[0].last


@pytest.mark.parametrize("other", [{"process": "Worker_TP1"}, {"level": "ERROR"}])
def test_another_process_or_level_says_something_else(builder, other):
    """Which one said it decides between causes and cascades."""
    keep(builder, 1)
    keep(builder, 2, **other)

    assert [(1, 1, 1), (2, 1, 2)] == kept(builder)


def test_of_one_rule_so_many_hits_are_kept(builder):
    """What a flood says is counted on the last of them."""
    for number in range(1, PER_RULE + 6):
        keep(builder, number, process=f"Worker_TP{number}")

    assert PER_RULE == len(builder.incident.hits)
    assert (PER_RULE, 6, PER_RULE + 5) == kept(builder)[-1]


def test_surroundings_are_kept_with_what_was_kept_first(builder):
    """Not with what is only counted."""
    block = b"before\nno room\nafter\nno room\n"
    builder.keep(Hit(CAUSE, line(2, "no room"), {}, last=2), (block, 7, 14, b""))
    builder.keep(Hit(CAUSE, line(4, "no room"), {}, last=4), (block, 21, 28, b""))

    assert [(1, "before", ""), (2, "no room", ""), (3, "after", ""), (4, "no room", "")] == (
        builder.incident.contexts.lines(2)
    )
    assert [] == builder.incident.contexts.lines(4)


def test_errors_that_begin_alike_are_kept_once(builder):
    """And no more than so many, for logs that no rule knows."""
    for number in range(2 * ERRORS):
        builder.note_error(
            line(number, "the same words at the beginning, for sixty characters or more " + str(number)), PLACE
        )
    assert 1 == len(builder.incident.errors)

    for number in range(2 * ERRORS):
        builder.note_error(line(number, f"{number} other words"), PLACE)

    assert ERRORS == len(builder.incident.errors)


def fact(**keys: Any) -> Rule:
    """Return a fact rule."""
    return line_rule("facts/x", "up", role="fact", **keys)


def test_stages_are_noted_once_and_the_furthest_counts(builder):
    """A stop may come again and again."""
    for number, stage in enumerate(["weights", "config", "weights", "shutdown", "shutdown"], 1):
        assert stage == builder.mark(fact(stage=stage), line(number, "up"), {})

    assert [("weights", 1), ("config", 2), ("shutdown", 4), ("shutdown", 5)] == [
        (span.stage, span.line) for span in builder.incident.stages
    ]
    assert "shutdown" == builder.incident.reached


def test_nothing_is_captured_in_eager_mode(builder):
    """vLLM tells how long that took all the same."""
    builder.mark(fact(), line(1, "up"), {"enforce_eager": "True"})

    assert "kv_cache" == builder.mark(fact(stage="graph_capture"), line(2, "up"), {})
    assert "graph_capture" == IncidentBuilder(1).mark(fact(stage="graph_capture"), line(2, "up"), {})


@pytest.mark.parametrize(
    ("version", "own"), [("", True), ("0.12.0", False), ("0.31.9", False), ("0.32.0", True), ("0.33.1", True)]
)
def test_once_the_api_server_has_a_name_its_words_bear_it(builder, version, own):
    """Another web server in the same log says the same words without; from 0.32 on vLLM's does so too."""
    rule, bare = fact(speaker="api_server"), line(3, "Application startup complete.")
    assert builder.is_spoken_by(rule, bare)

    builder.mark(fact(), line(1, "up", "APIServer"), {"vllm_version": version} if version else {})

    assert own == builder.is_spoken_by(rule, bare)
    assert builder.is_spoken_by(rule, line(4, "Application startup complete.", "APIServer"))
    assert builder.is_spoken_by(fact(), bare)


@pytest.mark.parametrize(
    ("source", "said"), [("llm.py:343", True), ("entrypoints/llm.py:9", True), ("core.py:9", False), ("", False)]
)
def test_offline_runs_speak_from_their_own_modules(builder, source, said):
    """A server says the same before its port is open."""
    spoken = split_line(1, f"INFO 02-20 09:39:27 [{source}] Supported tasks" if source else "Supported tasks")

    assert said == builder.is_spoken_by(fact(speaker="offline"), spoken)


def test_a_closed_start_has_its_exceptions_judged(builder):
    """Rules on exceptions, the engine by the stacks, the end."""
    for text in [
        "Traceback (most recent call last):",
        '  File "/x/site-packages/vllm/v1/engine/core.py", line 7, in run',
        "ValueError: no room",
    ]:
        builder.traces.feed(split_line(5, text))
    slow: dict[str, int] = {}

    incident = builder.close(9, trace_rules([trace_rule("a/raised", "ValueError")]), slow)

    assert [("a/raised", 5)] == [(hit.rule.id, hit.line.number) for hit in incident.hits]
    assert ({"engine": "V1"}, 1, 9, "") == (incident.facts, incident.first, incident.last, incident.reached)
    assert ["ValueError"] == [trace.kind for trace in incident.traces]


def test_a_traceback_that_is_cut_by_the_end_is_kept(builder):
    """Its stack may speak for itself."""
    builder.traces.feed(split_line(1, "Traceback (most recent call last):"))
    builder.traces.feed(split_line(2, '  File "/x/site-packages/vllm/v1/engine/core.py", line 7, in run'))

    assert [["run"]] == [
        [frame.function for frame in trace.frames] for trace in builder.close(2, trace_rules([]), {}).traces
    ]
