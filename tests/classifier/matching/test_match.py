"""Rules on lines and on exceptions: what they are tried on, and what becomes of those that take too long."""

from __future__ import annotations

import pytest

from tests.classifier.made import line_rule, trace_rule, trace_rules
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.lines.types import Frame, Trace
from vllm_triage.classifier.matching import match
from vllm_triage.classifier.matching.bounded import TooSlowError
from vllm_triage.classifier.matching.match import GIVE_UP, WINDOW, match_frames, match_line

STACK = [Frame("vllm/v1/worker/gpu_worker.py", "load_model", "load()"), Frame("torch/nn/x.py", "forward", "f()")]


@pytest.fixture
def too_slow(monkeypatch):
    """Let every search take too long."""

    def never(*_: object) -> None:
        raise TooSlowError

    monkeypatch.setattr(match, "search", never)


def raised(kind: str = "ValueError", message: str = "no room") -> Trace:
    """Return an exception with a stack of two frames."""
    return Trace(7, 1, "EngineCore", kind, message, list(STACK), text=f"{kind}: {message}")


def test_a_rule_is_tried_on_its_levels_alone():
    """One that speaks of errors is not asked about a warning."""
    rule = line_rule("a/b", "no room", levels=("", "ERROR"))

    assert {} == match_line(rule, split_line(1, "no room"), "no room")
    assert match_line(rule, split_line(1, "WARNING 10-25 13:08:43 [x.py:1] no room"), "no room") is None


def test_captures_of_alternatives_have_one_name():
    """Groups cannot share a name: the second is numbered."""
    rule = line_rule("a/b", "room", pattern=r"room (?P<size>\d+)|(?P<size_2>\d+) room")

    assert {"size": "7"} == match_line(rule, split_line(1, "room 7"), "room")
    assert "7" == (match_line(rule, split_line(1, "7 room"), "room") or {})["size"]


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        (WINDOW // 2 - 3, WINDOW // 2 - 10, True),
        (WINDOW // 2 - 2, WINDOW // 2 - 10, False),
        (WINDOW // 2 - 3, WINDOW // 2 - 9, False),
    ],
)
def test_a_long_line_is_seen_around_its_literal(before, after, seen):
    """So far on either side and no further, wherever in the line it stands."""
    rule = line_rule("a/b", "no room", pattern="farx*no roomx*end")
    text = "y" * WINDOW + "far" + "x" * before + "no room" + "x" * after + "end" + "y" * WINDOW

    assert seen == (match_line(rule, split_line(1, text), "no room") is not None)


def test_a_line_that_takes_too_long_is_told_from_one_that_does_not_match(too_slow):
    """The caller counts it."""
    with pytest.raises(TooSlowError):
        match_line(line_rule("a/b", "no room"), split_line(1, "no room"), "no room")


def test_an_exception_is_known_by_its_class_words_and_place():
    """All that a rule asks for must be there."""
    rules = [
        trace_rule("a/class", "ValueError"),
        trace_rule("a/words", "ValueError", message="no (?P<what>room)"),
        trace_rule("a/other-words", "ValueError", message="other"),
        trace_rule("a/place", "ValueError", frames="gpu_worker.py:load_model"),
        trace_rule("a/other-place", "ValueError", frames="cpu_worker.py"),
        trace_rule("a/innermost", "ValueError", innermost="forward"),
        trace_rule("a/not-innermost", "ValueError", innermost="load_model"),
        trace_rule("a/not-there", "ValueError", not_frames="cpu_worker"),
        trace_rule("a/there", "ValueError", not_frames="gpu_worker"),
        trace_rule("a/other-class", "TypeError"),
    ]

    hits = trace_rules(rules).hits(raised(), {})

    assert ["a/class", "a/words", "a/place", "a/innermost", "a/not-there"] == [hit.rule.id for hit in hits]
    assert ({"what": "room"}, 7) == (hits[1].captures, hits[1].line.number)


def test_a_rule_that_takes_too_long_on_exceptions_is_given_up(too_slow):
    """After a few of them; others that need no search go on."""
    rules = trace_rules([trace_rule("a/words", "ValueError", message="no room"), trace_rule("a/class", "ValueError")])
    slow: dict[str, int] = {}

    hits = [hit for number in range(10) for hit in rules.hits(raised(message=f"no room {number}"), slow)]

    assert {"a/words": GIVE_UP} == slow
    assert 10 == sum(hit.rule.id == "a/class" for hit in hits)


def test_a_place_that_cannot_be_told_in_time_is_not_the_place(too_slow):
    """No verdict is built on it, and none breaks."""
    assert not match_frames(trace_rule("a/place", "ValueError", frames="gpu_worker"), raised())
    assert not match_frames(trace_rule("a/not-there", "ValueError", not_frames="cpu_worker"), raised())
    assert match_frames(trace_rule("a/class", "ValueError"), raised())
