"""The lines of one server, cut into starts: which rules are tried where, and what is left of thousands of starts."""

from __future__ import annotations

import tracemalloc

import pytest

from tests.classifier.made import fed, incidents, line_rule, session, told, trace_rule
from vllm_triage.classifier.incidents import reader
from vllm_triage.classifier.incidents.effort import FACT_TRIES, MISSES, ORDINARY, TRIES, WORK
from vllm_triage.classifier.incidents.reader import AHEAD, LAST, LOOP, LOOP_HITS
from vllm_triage.classifier.matching.bounded import TooSlowError
from vllm_triage.classifier.matching.match import WINDOW

START = line_rule("facts/start", "server version", "fact", stage="launch", start="server")
COMMAND = line_rule("facts/command", "serve ", "fact", stage="launch", pattern=r"serve (?P<model>\S+)")
WEIGHTS = line_rule("facts/weights", "weights took", "fact", stage="weights")
READY = line_rule("facts/ready", "startup complete", "fact", stage="api_ready")
ANSWERED = line_rule("facts/answered", "POST /v1", "fact", stage="serving", frequent=True)
FIGURE = line_rule("facts/figure", "running: ", "fact", frequent=True, pattern=r"running: (?P<running>\d+)")
CAUSE = line_rule("a/cause", "no room", pattern=r"no room(?: for (?P<what>\w+))?$")
QUEUE = line_rule("a/queue", "waiting: ", frequent=True, pattern=r"waiting: (?P<waiting>\d\d\d)")
CALL = line_rule("facts/call", "LLM(model", "fact", in_code=True, pattern=r"LLM\(model='(?P<model>\w+)'")
RAISED = trace_rule("a/raised", "ValueError")


def test_each_start_has_what_was_said_in_it():
    """Matches, exceptions, stages, first and last line."""
    log = ["server version", "weights took", "no room", "ValueError: x", "server version", "no room for cache"]

    first, second = incidents(log, START, WEIGHTS, CAUSE, RAISED)

    assert [("a/cause", 3), ("a/raised", 4)] == told(first)
    assert [("a/cause", 6)] == told(second)
    assert [(1, 4, "weights"), (5, 6, "launch")] == [(item.first, item.last, item.reached) for item in (first, second)]


def test_an_exception_printed_again_by_the_next_start_is_that_one_s_too():
    """The reader of tracebacks begins anew; what one start raised is not counted in the other."""
    trace = ["Traceback (most recent call last):", '  File "x.py", line 1, in f', "ValueError: x"]

    starts = incidents(["server version", *trace, *trace, "server version", *trace], START, RAISED)

    assert [[2], [1]] == [[item.count for item in start.traces] for start in starts]


def test_what_a_launcher_says_belongs_to_the_start_that_follows():
    """Its command stands before the server's first words."""
    log = ["server version", "weights took", "serve second/model", "server version", "weights took"]

    first, second = incidents(log, START, COMMAND, WEIGHTS)

    assert (None, "second/model") == (first.facts.get("model"), second.facts.get("model"))


def test_a_command_that_no_start_follows_is_this_start_s():
    """Somebody names it at the end."""
    (start,) = incidents(["server version", "weights took", "serve acme/model"], START, COMMAND, WEIGHTS)

    assert "acme/model" == start.facts["model"]


def test_of_commands_that_no_start_follows_the_latest_are_kept():
    """A log that names thousands of them does not fill the memory."""
    log = ["server version", "weights took", *(f"serve acme/{number}" for number in range(50)), "server version"]

    _, second = incidents(log, START, COMMAND, WEIGHTS)

    assert f"acme/{50 - AHEAD - 1}" == second.facts["model"]


PROMPTS = [
    "INFO 10-25 13:10:00 [logger.py:41] Received request cmpl-1: it said: no room",
    "Added request, prompt: 'weights took no room'",
]


@pytest.mark.parametrize("line", PROMPTS)
def test_what_users_wrote_is_no_evidence(line):
    """Not outside a traceback and not within one; what vLLM says by such a line counts."""
    asked = line_rule("facts/asked", " request", "fact", stage="serving", pattern="(?:Received|Added) request")
    trace = ["Traceback (most recent call last):", '  File "x.py", line 1, in f']

    for log in ([line], [*trace, line, "ValueError: x"]):
        (start,) = incidents(log, line_rule("a/cause", "no room"), asked, RAISED)

        assert {"facts/asked"} == start.fired, log
        assert "a/cause" not in dict(told(start)), log


def test_words_in_source_code_are_marked_as_quoted():
    """A traceback shows what the program would have said."""
    log = [
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "    raise X('no room",
        "ValueError: no room",
    ]

    (start,) = incidents(log, line_rule("a/cause", "no room"), WEIGHTS)

    assert [(3, True), (4, False)] == [(hit.line.number, hit.quoted) for hit in start.hits]


def test_facts_in_source_code_are_none_but_calls():
    """``LLM(…)`` stands there as it was called."""
    log = [
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "    llm = LLM(model='acme')",
        '  File "x.py", line 2, in g',
        "    print('weights took')",
        "ValueError: x",
    ]

    (start,) = incidents(log, CALL, WEIGHTS)

    assert (["facts/call"], "acme") == (sorted(start.fired), start.facts["model"])


def test_once_served_requests_are_not_looked_at_and_the_last_figures_are():
    """The first request is a mark of progress; of statistics the last line counts."""
    log = [
        "startup complete",
        *["POST /v1", "running: 1", "waiting: 7"] * 50,
        "running: 8",
        "waiting: 123",
        "waiting: 9",
    ]

    (start,) = incidents(log, READY, ANSWERED, FIGURE, QUEUE)

    assert ("serving", 8) == (start.reached, start.facts["running"])
    assert [("a/queue", len(log) - 1, "123")] == [
        (hit.rule.id, hit.line.number, hit.captures["waiting"]) for hit in start.hits
    ]


def test_so_many_last_lines_of_a_frequent_kind_are_tried():
    """A rule that judges them looks no further back."""
    log = ["waiting: 123", "waiting: 124", *["waiting: 2"] * LAST]

    assert [("a/queue", 1), ("a/queue", 2)] == told(incidents(log[:-1], QUEUE)[0])
    assert [("a/queue", 1)] == told(incidents(log, QUEUE)[0])


def test_the_surroundings_of_the_last_line_of_a_kind_are_those_in_the_log():
    """The log's end is where it stands, not what comes before it."""
    (start,) = incidents(["waiting: 1", "before", "waiting: 123", "after"], QUEUE)

    assert [(1, "waiting: 1"), (2, "before"), (3, "waiting: 123"), (4, "after")] == [
        (number, text) for number, text, _ in start.contexts.lines(3)
    ]


@pytest.mark.parametrize(("rule", "words", "most"), [(CAUSE, "no room", TRIES), (WEIGHTS, "weights took", FACT_TRIES)])
def test_a_rule_that_was_done_in_one_start_is_tried_in_the_next(rule, words, most):
    """Each start has its own effort."""
    log = ["server version", *[words] * (most + 50), "server version", words]

    first, second = incidents(log, START, rule)

    if rule.role == "fact":
        assert [{rule.id, START.id}] * 2 == [first.fired, second.fired]
    else:
        assert [most + 1, 1] == [sum(hit.count for hit in start.hits) for start in (first, second)]


def test_a_rule_whose_words_stand_in_all_lines_is_given_up_in_this_start_alone():
    """And that is said of it."""
    log = ["server version", *["no room at all"] * (MISSES + 1), "no room", "server version", "no room"]

    first, second = incidents(log, START, CAUSE)

    assert ([], [("a/cause", len(log))]) == (told(first), told(second))
    assert ([True], []) == ([note.endswith(": a/cause.") for note in first.given_up], second.given_up)


def test_a_rule_has_seen_enough_long_lines_at_some_time():
    """Text that was made to slow it down; short lines are read on."""
    many = WORK // WINDOW**2
    long = "no room " + "x" * WINDOW

    (start,) = incidents([*[long] * many, "no room", "x" * WINDOW + " no room", "no room for cache"], CAUSE)

    assert [("a/cause", many + 1), ("a/cause", many + 3)] == told(start)
    assert [True] == [note.endswith(": a/cause.") for note in start.given_up]


def test_ordinary_lines_cost_nothing():
    """However many there are, of the same rule."""
    ordinary = "no room " + "x" * (ORDINARY - 8)

    # Near an error all words are looked for.
    end = ["RuntimeError: x", "x" * ORDINARY + " no room"]

    (start,) = incidents([*[ordinary] * (WORK // ORDINARY**2 + 9), *end], CAUSE)

    assert (["a/cause"], []) == ([rule for rule, _ in told(start)], start.given_up)


def test_some_long_lines_are_nothing_to_speak_of():
    """A long line is read like any other."""
    (start,) = incidents(["x" * ORDINARY * 2 + " no room"] * 5, CAUSE)

    assert ([("a/cause", 1)], []) == (told(start), start.given_up)


def test_a_rule_that_takes_too_long_is_named(monkeypatch):
    """On lines as they come, on the last of a kind, and on exceptions: others go on, and nothing breaks."""

    def match_line(rule, line, literal):
        if rule in (CAUSE, QUEUE):
            raise TooSlowError
        return {}

    monkeypatch.setattr(reader, "match_line", match_line)

    (start,) = incidents(["no room"] * 10 + ["waiting: 123", "weights took"], CAUSE, QUEUE, WEIGHTS)

    assert ([], "weights") == (start.hits, start.reached)
    assert [True] == [note.endswith(": a/cause, a/queue.") for note in start.given_up]


@pytest.mark.slow
def test_of_a_crash_loop_the_last_two_starts_are_whole():
    """Thousands of starts: all are counted, of the middle ones little is kept."""
    lines = [f"no room for part{number}" for number in range(9)]
    others = [line_rule(f"a/{number}", f"part{number}") for number in range(9)]
    trace = ["Traceback (most recent call last):", '  File "x.py", line 1, in f', "ValueError: x", "ERROR: y"]
    count = 1500

    starts = incidents(["server version", *lines, *lines, *trace] * count, START, CAUSE, RAISED, *others)

    assert count == len(starts)
    assert [1 + 23 * number for number in range(count)] == [start.first for start in starts]
    whole = [start for start in starts if start.traces and start.contexts.lines(start.first + 1)]
    assert [*starts[: LOOP - 1], *starts[-2:]] == whole
    assert {len(starts[-1].hits)} == {len(start.hits) for start in whole}
    assert {min(LOOP_HITS, len(starts[-1].hits))} == {len(start.hits) for start in starts if start not in whole}


@pytest.mark.slow
def test_a_crash_loop_does_not_fill_the_memory():
    """A start in the middle costs less than a few kilobytes, whatever stood around its errors."""
    lines = ["server version", *(f"{'.' * 2000} {number} no room" for number in range(8))]

    def grown(count: int) -> int:
        reading = session(START, CAUSE)
        fed(reading, lines * LOOP * 2)
        before = tracemalloc.get_traced_memory()[0]
        fed(reading, lines * count)
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    try:
        assert grown(300) < 300 * 12_000
    finally:
        tracemalloc.stop()
