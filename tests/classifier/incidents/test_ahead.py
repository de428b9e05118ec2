"""Lines that say what the log has said before are passed over unseen, unless a rule waits for something in them."""

from __future__ import annotations

import pytest

from tests.classifier.made import line_rule
from vllm_triage.classifier.incidents import candidates
from vllm_triage.classifier.incidents import reader as reader_module
from vllm_triage.classifier.incidents.builder import ERRORS, SITES
from vllm_triage.classifier.incidents.effort import FACT_TRIES
from vllm_triage.classifier.incidents.reader import LARGE, IncidentReader
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.lines.tail import Tail
from vllm_triage.classifier.lines.types import Line
from vllm_triage.classifier.matching.engine import Engine
from vllm_triage.corpus.types import Rule

PREFIX = "(APIServer pid=5) ERROR 11-02 10:00:01 [serving.py:9] "
STACK = [
    "Traceback (most recent call last):",
    *(
        line
        for depth in range(30)
        for line in (
            f'  File "/x/vllm/v1/engine/core.py", line {depth}, in step_{depth}',
            f"    return self.step({depth})",
        )
    ),
]
DIFFERENT = [f"{PREFIX}{number:03d} refused" for number in range(SITES)]
"""Lines after which neither errors nor places are kept any more."""


def read(lines: list[str], *rules: Rule) -> tuple[Incident, IncidentReader]:
    """Read a log in one block."""
    data = ("\n".join(lines) + "\n").encode()
    reader = IncidentReader(Engine(list(rules)))
    reader.read(data, 1, b"")
    return reader.finish(Tail(), len(lines))[-1], reader


def stacks(count: int) -> list[str]:
    """Return so many stacks that end alike."""
    return [PREFIX + line for line in [*STACK, "ValueError: no more"]] * count


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what literals were looked for in."""
    from vllm_triage.classifier.matching.search import Search

    sizes: list[int] = []
    usual = Search.find

    def noted(self: Search, data: bytes) -> list[tuple[int, int, int]]:
        sizes.append(len(data))
        return usual(self, data)

    monkeypatch.setattr(Search, "find", noted)
    return sizes


def test_in_known_stacks_nothing_is_looked_for(searched: list[int]) -> None:
    """Of a large block; their count and their last line are right."""
    lines = [*DIFFERENT, *stacks(200)]

    [trace] = read(lines)[0].traces

    assert (200, len(lines)) == (trace.count, trace.last)
    assert sum(searched) < sum(map(len, lines)) // 3


def test_of_errors_that_begin_alike_only_what_is_their_own_is_looked_at(searched: list[int]) -> None:
    """Not what stands before it on each line."""
    lines = [*DIFFERENT, *(f"{PREFIX}request {number} was refused" for number in range(9000))]

    incident, _ = read(lines)

    assert ERRORS == len(incident.errors)
    assert sum(searched) < sum(map(len, lines)) * 2 // 3


@pytest.mark.parametrize("literal", ["9] request 8000 ", "] request 8000 ", "request 8000 ", "8000 was refused"])
def test_a_rule_on_one_of_many_lines_is_tried(literal: str) -> None:
    """Also where its literal begins within what stands before each line."""
    lines = [*DIFFERENT, *(f"{PREFIX}request {number} was refused" for number in range(9000))]

    incident, _ = read(lines, line_rule("a/one", literal, pattern="8000 was refused"))

    assert [SITES + 8001] == [hit.line.number for hit in incident.hits]


def test_a_rule_on_who_writes_is_tried_on_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands before a line is part of it."""
    monkeypatch.setattr(reader_module, "LARGE", 0)
    lines = [*DIFFERENT, *(f"{PREFIX}request {number} was refused" for number in range(150))]

    incident, reader = read(lines, line_rule("a/all", "[serving.py:9]", pattern="refused$"))

    assert len(lines) == max(hit.last for hit in incident.hits) == reader.effort._matches[0]


def test_rules_that_miss_in_a_known_stack_count_as_tried() -> None:
    """As if each line had been read: a rule that waits for a word of frames is given up in the end."""
    rule = line_rule("a/never", "core.py", pattern=r"core\.py is gone")

    incident, reader = read([*DIFFERENT, *stacks(300)], rule)

    assert reader.effort.done == {0}
    assert "a/never" in incident.given_up[0]


def test_literals_in_known_stacks_count_as_seen() -> None:
    """They stand everywhere in this log: from its third MiB on they are looked for near errors alone."""
    lines = [*DIFFERENT, *stacks(100)]

    _, reader = read(lines, line_rule("a/never", "return self", pattern="return self and go"))

    word = reader._engine.scanner.words.index(b"return self")
    assert reader.effort._visits[word] == 3000


def test_the_end_of_a_known_stack_and_the_next_head_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that matches the end counts once more for each, and only where it is the same process that says it."""
    numbers: list[int] = []
    usual = candidates.read_line

    def noted(data: bytes, start: int, end: int, number: int, literals: dict[int, str]) -> Line:
        numbers.append(number)
        return usual(data, start, end, number, literals)

    monkeypatch.setattr(reader_module, "read_line", noted)
    other = [line.replace("pid=5", "pid=6").replace("APIServer", "APIServer_1") for line in stacks(1)]
    lines = [*DIFFERENT, *stacks(200), *other, *stacks(100)]

    incident, reader = read(lines, line_rule("a/end", "no more"))

    [trace] = incident.traces
    assert (301, len(lines), ["APIServer", "APIServer_1"]) == (trace.count, trace.last, trace.processes)
    assert {"APIServer": (300, len(lines)), "APIServer_1": (1, SITES + 200 * len(other) + len(other))} == {
        hit.line.process: (hit.count, hit.last) for hit in incident.hits
    }
    assert reader.effort._matches == {0: 301}
    assert len(numbers) < SITES + 4 * len(other)


def test_a_fact_at_the_end_of_known_stacks_is_read() -> None:
    """As often as facts are tried."""
    lines = [*DIFFERENT, *stacks(100)]

    incident, reader = read(lines, line_rule("a/fact", "no more", role="fact"))

    assert incident.traces[0].count == 100
    assert reader.effort._matches == {0: FACT_TRIES + 1}


def test_a_stack_that_ends_as_another_has_ended_is_counted_with_that_one() -> None:
    """Two exceptions take turns at the end of one stack."""
    ends = ["ValueError: no more", "ValueError: no room"]
    lines = [*DIFFERENT, *(PREFIX + line for number in range(100) for line in [*STACK, ends[number % 2]])]

    incident, _ = read(lines)

    assert [(50, len(lines) - len(STACK) - 1), (50, len(lines))] == [
        (trace.count, trace.last) for trace in incident.traces
    ]


def test_these_logs_are_large() -> None:
    """Otherwise all of them is looked at."""
    assert len("\n".join(stacks(100))) > LARGE
