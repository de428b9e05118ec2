"""A log as it comes: in blocks of any size, forked while it is read, of one server or several, or no log at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.made import fed, line_rule, session, told, trace_rule
from vllm_triage.classifier.incidents.effort import SETTLE, VISITS
from vllm_triage.classifier.input.read import Block

START = line_rule("facts/start", "server version", "fact", stage="launch", start="server")
CAUSE = line_rule("a/cause", "no room")
MODEL = line_rule("facts/model", "model: ", "fact", pattern=r"model: (?P<model>\w+)")
RULES = (START, CAUSE, MODEL, trace_rule("a/raised", "ValueError"))
TRACE = ["Traceback (most recent call last):", '  File "x.py", line 1, in f', "    code()", "ValueError: x"]
LOG = ["server version", "model: acme", *TRACE, "no room", "", "server version", *TRACE, "bye"]


def read(lines: list[str], cuts: list[int]) -> object:
    """Return what is read of lines that come in blocks which end at ``cuts``."""
    reading = session(*RULES)
    for first, last in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        fed(reading, lines[first:last])
    starts = reading.finish()
    return (
        [(item.first, item.last, item.reached, item.facts, told(item), len(item.traces)) for item in starts],
        [(line.number, line.text) for line in reading.tail()],
        reading.lines,
        reading.bytes,
    )


@given(st.lists(st.integers(1, len(LOG) - 1), unique=True).map(sorted))
def test_it_does_not_matter_how_a_log_is_cut(cuts):
    """Starts, matches, exceptions, the end: the same in one block or in one for each line."""
    assert read(LOG, []) == read(LOG, cuts)


def test_lines_and_bytes_are_counted():
    """Bytes are those of the input, which may have been packed."""
    reading = session(*RULES)

    for block in (Block(b"a\nb\n", 1, 100), Block(b"c\nd", 3, 20)):
        reading.feed(block)

    assert (4, 120) == (reading.lines, reading.bytes)
    assert ["a", "b", "c", "d"] == [line.text for line in reading.tail()]


def test_a_copy_can_be_finished_while_the_log_goes_on():
    """In the middle of a traceback, too: neither knows of the other."""
    reading = fed(session(*RULES), LOG[:5])
    other = reading.fork()
    early = reading.fork().finish()

    fed(reading, LOG[5:])
    fed(other, ["TypeError: y", "no room"])

    assert [[("a/cause", 7), ("a/raised", 6)], [("a/raised", 13)]] == [told(item) for item in reading.finish()]
    assert [[("a/cause", 7)]] == [told(item) for item in other.finish()]
    assert ([""], 5) == ([trace.kind for trace in early[-1].traces], early[-1].last)


def test_a_copy_of_a_large_log_looks_for_the_same():
    """Scanners are shared, with what was muted."""
    reading = session(*RULES)
    fed(reading, ["no room"] * (VISITS + 1) + ["x" * 99] * (SETTLE // 50))
    copy = reading.fork()

    for each in (copy, reading):
        fed(each, ["no room", "model: acme"])

    for each in (copy, reading):
        (start,) = each.finish()
        # The literal that was muted is not found any more; the new one is.
        assert ({"model": "acme"}, VISITS + 1) == (start.facts, start.hits[0].count)


def test_servers_that_share_a_log_are_read_apart():
    """Each with its own starts, the first one's first; a copy knows them all."""
    banner = "vLLM API server version 0.12.0"
    log = [f"a-1  | {banner}", f"b-1  | {banner}", "a-1  | model: one", "b-1  | model: two", "b-1  | no room"]
    reading = fed(session(*RULES), log)

    for each in (reading.fork(), reading):
        starts = each.finish()

        assert [("a-1", {"model": "one"}, []), ("b-1", {"model": "two"}, [("a/cause", 5)])] == [
            (start.server, start.facts, told(start)) for start in starts
        ]
        assert "no room" == starts[1].tail[-1].text


def test_a_line_that_is_another_server_s_ends_no_traceback():
    """It stands as an empty one in the log of the first."""
    banner = "vLLM API server version 0.12.0"
    message = ["a-1  | ValueError: x", "b-1  | hello", "a-1  | no room left", "b-1  | hello"]
    log = [f"a-1  | {banner}", f"b-1  | {banner}", *(f"a-1  | {line}" for line in TRACE[:3]), *message]

    first, _ = fed(session(*RULES), log).finish()

    assert ["x\nno room left"] == [trace.message for trace in first.traces]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the log is empty"),
        (b" \n\t\n", "the log is empty"),
        (b"\x01\x02\x03\x04 text\n" * 9, "the input is binary"),
        (b"\x01\x02 server version \x03\n", ""),
        (b"\x1b[31mred\x1b[0m\n", ""),
        (b"text\n", ""),
    ],
)
def test_what_is_no_log_is_refused(data, reason):
    """Unless something of a server was read in it; before the end and after it."""
    reading = session(*RULES)
    reading.feed(Block(data, 1, len(data)))

    assert reading.refusal().startswith(reason)
    reading.finish()
    assert reading.refusal().startswith(reason)
    assert bool(reason) == bool(reading.refusal())


def test_the_log_of_another_program_is_known_as_such():
    """Nothing in it is vLLM's: no start, no word of its parts."""
    lines = [f"job {number}: done" for number in range(20)]

    assert fed(session(*RULES), lines).finish()[0].foreign
    assert not fed(session(*RULES), [*lines, "cuda"]).finish()[0].foreign
    assert not fed(session(*RULES), [*lines, "server version"]).finish()[0].foreign


def test_the_start_that_is_read_can_be_looked_at():
    """A page that follows an upload shows how far it has got."""
    reading = fed(session(*RULES), ["server version"])

    assert "launch" == reading.incident.reached
