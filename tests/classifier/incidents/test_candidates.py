"""The lines of a block that are worth reading, by their places and numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.made import line_rule
from vllm_triage.classifier.incidents.candidates import SWEEP, WINDOWS, Followed, candidates, is_prompt, read_line
from vllm_triage.classifier.lines.tail import LINE
from vllm_triage.classifier.lines.traceback_limits import GIVE_UP
from vllm_triage.classifier.lines.tracebacks import TraceReader
from vllm_triage.classifier.matching.engine import Engine
from vllm_triage.classifier.matching.scan import Found

RULES = [line_rule("a/cause", "no room"), line_rule("a/fact", "room 7"), line_rule("a/both", "no room")]
ENGINE = Engine(RULES)


class Reading:
    """Stands for the reader: its tracebacks, and what is done."""

    def __init__(self, done: tuple[int, ...] = (), open_traces: int = 0) -> None:
        self.traces = TraceReader()
        self.traces.open = open_traces
        self.done = set(done)
        self.again = False

    def lazy(self, _data: bytes) -> bool:
        """Look in all of a block at once."""
        return False

    def find(self, data: bytes, start: int, end: int, number: int) -> Found:
        """Look for all literals."""
        assert number == 1 + data.count(b"\n", 0, start) or start == 0
        return [(word, first + start, last + start) for word, first, last in ENGINE.scanner.find(data[start:end])]

    def follow(self, data: bytes, start: int, number: int, found: Found, index: int, reach: int) -> Followed:
        """Pass over nothing."""
        return start, number, index


def seen(data: bytes, reading: Reading | None = None, number: int = 1) -> list[tuple[int, bytes, list[int]]]:
    """Return number, bytes and rules of the lines that are worth reading."""
    lines = candidates(data, number, ENGINE.scanner, reading or Reading())
    return [(line, data[start:end], sorted(literals)) for start, end, line, literals in lines]


def test_lines_with_a_literal_or_a_sign_of_a_traceback_are_read():
    """Each with the rules that wait for it; all others are skipped."""
    data = b"quiet\nno room 7\nquiet\nValueError: x\nroom 7"

    assert [(12, b"no room 7", [0, 1, 2]), (14, b"ValueError: x", []), (15, b"room 7", [1])] == seen(data, number=11)


def test_within_a_traceback_all_lines_are_read():
    """Empty ones too: they may end it."""
    assert [(1, b"a", []), (2, b"", []), (3, b"no room", [0, 2])] == seen(b"a\n\nno room\n", Reading(open_traces=1))


def test_rules_that_become_done_within_a_block_are_waited_for_no_longer():
    """Lines with nothing but their literals are not even counted through, and all others are read as before."""
    reading = Reading()
    data = b"room 7\n" * 3000 + b"no room\n" + b"room 7\n" * 3000 + b"no room"
    numbers = []
    for *_, number, _literals in candidates(data, 1, ENGINE.scanner, reading):
        numbers.append(number)
        reading.done.add(1)

    assert [1, 3001, 6002] == numbers


def test_rules_that_are_done_wait_for_nothing():
    """A line of which all rules are done is skipped; others are tried on what is left."""
    data = b"no room\nroom 7\nno room 7\n"

    assert [(2, b"room 7", [1]), (3, b"no room 7", [1])] == seen(data, Reading(done=(0, 2)))
    assert [(1, b"no room", [2]), (3, b"no room 7", [2])] == seen(data, Reading(done=(0, 1)))


def test_what_becomes_done_in_a_block_is_done_for_the_rest_of_it():
    """The reader says so while it reads."""
    reading, data = Reading(), b"no room\nroom 7\nno room\n"
    numbers = []
    for _, _, number, literals in candidates(data, 1, ENGINE.scanner, reading):
        numbers.append((number, sorted(literals)))
        reading.done |= {0, 2}

    assert [(1, [0, 2]), (2, [1])] == numbers


def test_a_start_within_a_block_begins_with_all_rules():
    """What was done for the start before is looked for again, from the next line on."""
    reading, data = Reading(done=(0, 2)), b"no room\nroom 7\nno room\nquiet\nno room\n"
    numbers = []
    for _, _, number, literals in candidates(data, 1, ENGINE.scanner, reading):
        numbers.append((number, sorted(literals)))
        reading.done = set()

    assert [(2, [1]), (3, [0, 2]), (5, [0, 2])] == numbers


def test_carriage_returns_end_lines_and_do_not_count():
    """Progress bars are drawn over one line; CRLF is one end."""
    data = b"no room\rroom 7\r\nquiet\rno room\nroom 7"

    assert [(1, b"no room", [0, 2]), (1, b"room 7", [1]), (2, b"no room", [0, 2]), (3, b"room 7", [1])] == seen(data)


@given(st.lists(st.sampled_from(["no room", "room 7", "quiet", "", "ValueError: x"]), max_size=30), st.booleans())
def test_every_line_is_read_once_and_with_its_own_number(lines, inside):
    """In order, whether a traceback is open or not."""
    data = "\n".join(lines).encode()
    wanted = [(at, line) for at, line in enumerate(lines, 1) if inside or line not in ("quiet", "")]
    if inside and lines and not lines[-1]:
        wanted.pop()  # nothing follows the last line end

    assert wanted == [(at, text.decode()) for at, text, _ in seen(data, Reading(open_traces=int(inside)))]


def test_tracebacks_that_nobody_continues_are_closed():
    """While they are open every line is read; after so many it is enough."""
    reading = Reading()
    data = b"Traceback (most recent call last):\n" + b"(B pid=1) quiet\n" * (2 * GIVE_UP)
    read = 0
    for start, end, number, literals in candidates(data, 1, ENGINE.scanner, reading):
        reading.traces.feed(read_line(data, start, end, number, literals))
        read += 1

    assert GIVE_UP < read <= GIVE_UP + SWEEP + 1
    assert 0 == reading.traces.open


def test_of_a_long_line_the_begin_and_what_surrounds_literals_is_read():
    """Wherever in it they stand; the rest is not decoded."""
    data = b"begin" + b"." * 5 * LINE + b"<before>no room<after>" + b"." * 5 * LINE + b"end"
    literals = {0: "no room"}

    text = read_line(data, 0, len(data), 3, literals).text

    assert text.startswith("begin")
    assert "<before>no room<after>" in text
    assert "end" not in text
    assert len(text) < 2 * LINE


def test_of_a_long_line_so_many_literals_are_looked_at():
    """A line made of all words that there are costs no more than a few."""
    words = [f"word-{number:03}" for number in range(50)]
    data = b"." * LINE + "".join(word + "." * 5000 for word in words).encode()

    text = read_line(data, 0, len(data), 1, dict(enumerate(words))).text

    assert WINDOWS <= sum(word in text for word in words) < WINDOWS + 3


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("INFO Received request cmpl-1: x", True),
        ("Added request, prompt: 'x'", True),
        ('prompt: "x"', True),
        ("Generated response cmpl-1", True),
        ("the prompt: no", False),
        ("x" * 300 + " Received request ", False),
        ("no room", False),
    ],
)
def test_what_users_wrote_is_told_by_how_its_line_begins(text, prompt):
    """The words of vLLM's request log."""
    assert prompt == is_prompt(text)
