"""Rules made ready for scanning."""

from __future__ import annotations

from tests.classifier.made import line_rule, trace_rule
from vllm_triage.classifier.matching.engine import Engine


def test_rules_are_sorted_by_how_they_are_tried():
    """Each line rule is known by its position; the scanner leads from literals to these."""
    lines = [
        line_rule("a/one", "no room"),
        line_rule("a/two", "x", literals=("here", "there"), role="fact", stage="serving", frequent=True),
        line_rule("a/three", "there", frequent=True),
        line_rule("a/four", "up", role="fact", stage="serving"),
    ]
    engine = Engine([lines[0], trace_rule("a/raised", "ValueError"), *lines[1:]])

    assert lines == [engine.line_rules[place] for place in range(4)]
    assert {1} == engine.serving
    assert [(b"here", 1), (b"there", 1), (b"there", 2)] == engine.frequent
    waiting = dict(zip(engine.scanner.words, engine.scanner.rules, strict=True))
    assert ([0], [1], [1, 2]) == (waiting[b"no room"], waiting[b"here"], waiting[b"there"])
