"""Where a state begins to count: each limit with a server just within it, and one just beyond."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_triage.classifier.serving.assess import assess
from vllm_triage.classifier.serving.marks import UNTOLD
from vllm_triage.classifier.serving.types import Draft, End, Records, Sample, State


def sample(
    number: int,
    running: int = 4,
    waiting: int = 0,
    usage: float = 10.0,
    prompt: float = 50.0,
    generation: float = 100.0,
    preemptions: int = 0,
    swapped: int = 0,
    step: float = 10,
) -> Sample:  # fmt: skip
    at = 1000 + step * number if step else UNTOLD
    return Sample(
        number + 1, at, prompt, generation, running, waiting, swapped, preemptions, usage, b"line %d" % (number + 1)
    )


def rows(count: int, first: int = 0, **said: Any) -> list[Sample]:
    return [sample(number, **said) for number in range(first, first + count)]


def states(samples: list[Sample], end: End | None = None, excerpt: bool = False, stop: int = 0) -> dict[str, State]:
    """Return what holds at the end, by its kind."""
    records = Records({"000": samples}, [], len(samples), end or End(len(samples)))
    health = assess(records, stop, excerpt=excerpt)
    return {state.kind: state for state in health.states if state.current} if health else {}


def drafts(*shares: float, drafted: int = 500) -> list[Draft]:
    return [Draft(2 * n + 2, 1000 + 10.0 * n, share, drafted, b"draft") for n, share in enumerate(shares)]


STILL: dict[str, Any] = {"prompt": 0.0, "generation": 0.0}


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (sample(5, **STILL), True),
        (sample(5, generation=0.1, prompt=0.0), False),
        (sample(5, prompt=0.1, generation=0.0), False),
        (sample(5, usage=10.1, **STILL), False),  # blocks were taken: a long prefill
        (sample(5, running=3, **STILL), False),  # a request left
        (sample(5, running=0, **STILL), False),
        (sample(5, waiting=3, **STILL), True),  # more came, none left
        (sample(100, **STILL), False),  # idle for a quarter of an hour in between
        (sample(2000, waiting=40, usage=10.0, **STILL), False),
    ],
)
def test_an_engine_stands_still_when_nothing_moves_although_there_are_requests(last, expected):
    assert expected == ("stalled" in states([*rows(5), last]))


def test_the_same_standstill_hours_later_is_one() -> None:
    """Lines between two were left out: the same requests hold the same blocks."""
    found = states([*rows(5), *rows(3, 5, **STILL), sample(2000, waiting=41, **STILL)])

    assert ["stalled"] == [*found]
    assert 4 == found["stalled"].lines


def test_a_standstill_lasts_from_the_last_line_with_tokens_to_the_end_of_the_log():
    found = states([*rows(5), *rows(3, 5, **STILL)], End(60, 1000 + 70 + 300.0))["stalled"]

    assert (5, 8, 3, 330.0) == (found.since.line, found.until.line, found.lines, found.seconds)
    assert {"running": 4.0, "waiting": 0.0, "before": 100.0} == found.numbers


@pytest.mark.parametrize(
    ("answered", "later", "expected"), [((7,), 40, False), ((7,), 41, True), ((), 0, True), ((7,), 8 * 86400, False)]
)
def test_an_answer_ends_a_standstill_unless_the_statistics_should_show_it_by_now(answered, later, expected):
    """A stream is '200 OK' before its first token."""
    end = End(9, 1000 + 50.0 + later, answered)

    assert expected == ("stalled" in states([*rows(5), sample(5, **STILL)], end))


@pytest.mark.parametrize(
    ("later", "answered", "running", "expected"),
    [(61, (), 4, True), (59, (), 4, False), (61, (7,), 4, False), (61, (), 0, False)],
)
def test_a_busy_engine_that_says_nothing_for_a_minute_stands_still(later, answered, running, expected):
    """The engine of V0 prints its statistics itself."""
    samples = rows(5, running=running)

    assert expected == ("stalled" in states(samples, End(9, samples[-1].at + later, answered)))


def test_a_standstill_that_is_over_is_told_if_it_was_no_moment():
    """One line without a token is nothing; half a minute was something."""

    def overcome(lines: int) -> list[str]:
        samples = [*rows(5), *rows(lines, 5, **STILL), *rows(3, 5 + lines)]
        health = assess(Records({"": samples}, [], len(samples), End(len(samples))))
        return [state.kind for state in health.overcome] if health else []

    assert ([], ["stalled"]) == (overcome(1), overcome(3))


def test_the_engine_that_stands_still_beside_one_that_works_is_named():
    records = Records({"000": rows(20), "001": [*rows(5), sample(5, **STILL)]}, [], 26, End(40))

    health = assess(records)

    assert health is not None
    assert health.worst is not None
    assert ("stalled", "001", 150.0) == (health.worst.kind, health.worst.engine, health.worst.seconds)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (rows(6, waiting=2, usage=95.0), True),
        (rows(6, waiting=2, usage=94.9, running=30), False),
        (rows(6, waiting=0, usage=99.0), False),
        (rows(6, waiting=2, usage=99.0, running=0), False),
        (rows(5, waiting=2, usage=99.0), False),  # fifty seconds
        (rows(12, waiting=2, usage=99.0, step=5), True),
        (rows(11, waiting=2, usage=99.0, step=5), False),
        (rows(6, waiting=2, usage=99.0, step=0), True),  # no stamps: six lines
        (rows(5, waiting=2, usage=99.0, step=0), False),
        (rows(6, waiting=2, usage=82.0, running=4), True),  # not one more of these requests fits
        (rows(6, waiting=2, usage=79.0, running=3), False),
        ([*rows(3, waiting=2, usage=99.0), sample(3), *rows(3, 4, waiting=2, usage=99.0)], True),
        ([*rows(9, waiting=2, usage=99.0), *rows(2, 9)], False),  # over
        ([sample(1, waiting=90, usage=99.0), sample(2, waiting=187, usage=99.0)], True),  # grows beyond what a burst is
        ([sample(1, waiting=187, usage=99.0), sample(2, waiting=120, usage=99.0)], False),  # a burst that is worked off
    ],
)
def test_a_cache_is_full_when_requests_wait_for_it_over_a_minute(samples, expected):
    assert expected == ("cache_full" in states(samples))


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        ([30] * 6, True),
        ([29] * 6, False),
        ([30] * 5, False),
        ([0, 101], True),
        ([0, 99], False),
        ([500, 420, 340, 260, 180, 110], False),  # empty in a minute
        ([500, 480, 460, 440, 420, 400], True),
        (list(range(3, 15)), True),  # a short queue that only becomes longer
        (list(range(3, 14)), False),
        ([3, 4, 5, 6, 7, 6, 8, 9, 10, 11, 12, 13], False),
        ([9] * 30, False),
    ],
)
def test_a_queue_counts_when_it_is_long_or_only_grows(waiting, expected):
    samples = [sample(number, waiting=length) for number, length in enumerate(waiting)]

    assert expected == ("queued" in states(samples))


@pytest.mark.parametrize(
    ("running", "waiting", "usage", "expected"),
    [
        ([16, 16, 16], [84, 91, 97], 9.8, True),
        ([16, 16, 16], [84, 84, 84], 9.8, False),  # a burst
        ([16, 16, 16], [97, 91, 84], 9.8, False),  # empties
        ([16, 16], [84, 91], 9.8, False),
        ([15, 16, 16], [84, 91, 97], 9.8, False),  # still taking in
        ([16, 16, 16], [84, 91, 97], 50.0, False),  # the cache may be what keeps them out
        ([84, 84, 84], [84, 91, 97], 9.8, False),
    ],
)
def test_a_queue_that_grows_behind_a_fixed_number_counts_before_a_minute(running, waiting, usage, expected):
    samples = [
        sample(number, running=now, waiting=length, usage=usage)
        for number, (now, length) in enumerate(zip(running, waiting, strict=True))
    ]

    assert expected == ("queued" in states(samples))


def test_a_queue_tells_how_fast_it_changes():
    growing = states([sample(n, waiting=30 + 10 * n) for n in range(7)])["queued"].numbers
    shrinking = states([sample(n, waiting=600 - 10 * n) for n in range(7)])["queued"].numbers

    assert (60.0, 0.0) == (growing["growth"], growing["drain"])
    assert (-60.0, 540.0) == (shrinking["growth"], shrinking["drain"])


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (rows(6, preemptions=2), True),
        (rows(6, preemptions=1), False),
        (rows(5, preemptions=9), False),
        (rows(6, swapped=1), True),
        ([*rows(3, preemptions=9), *rows(3, 3), *rows(3, 6, preemptions=9)], True),
        ([*rows(3, preemptions=9), *rows(4, 3), *rows(3, 7, preemptions=9)], False),
    ],
)
def test_preemptions_count_when_they_do_not_end(samples, expected):
    assert expected == ("preempted" in states(samples))


@pytest.mark.parametrize(
    ("shares", "drafted", "expected"),
    [
        ([0.04] * 6, 500, True),
        ([0.06] * 6, 500, False),
        ([0.0] * 3, 500, False),  # twenty seconds
        ([0.0] * 7, 42, False),  # too few tokens to say
        ([0.0] * 7, 43, True),
        ([0.0] * 6, -1, True),  # V0 does not tell how many
        ([0.5] * 9 + [0.0] * 6, 500, True),
        ([0.0] * 9 + [0.5] * 3, 500, False),
    ],
)
def test_drafts_are_rejected_when_nearly_none_is_accepted_to_the_end(shares, drafted, expected):
    health = assess(Records({"": rows(2)}, drafts(*shares, drafted=drafted), 2, End(99)))

    assert health is not None
    assert expected == (health.worst is not None and health.worst.kind == "drafts_rejected")


@pytest.mark.parametrize(
    ("latest", "expected"),
    [
        ({"generation": 32.0}, True),
        ({"generation": 34.0}, False),
        ({"generation": 32.0, "prompt": 101.0}, False),  # prefill takes the time
        ({"generation": 32.0, "usage": 31.0}, False),  # far longer contexts
        ({"generation": 32.0, "running": 9}, False),  # another load: nothing to compare with
        ({"generation": 16.0, "running": 2}, True),
    ],
)
def test_a_server_is_slow_by_what_was_normal_in_its_own_log(latest, expected):
    assert expected == ("slowed_down" in states([*rows(13), *rows(7, 13, **latest)]))


def test_too_little_of_its_past_tells_nothing_of_a_servers_speed():
    assert "slowed_down" not in states([*rows(12), *rows(7, 12, generation=10.0)])
    assert "slowed_down" not in states([*rows(30), *rows(6, 30, generation=10.0)])


def test_slowness_is_told_from_where_it_began():
    found = states([*rows(20), *rows(30, 20, generation=10.0)])["slowed_down"]

    assert (21, 2.5, 25.0) == (found.since.line, found.numbers["speed"], found.numbers["before"])


@pytest.mark.parametrize(
    ("count", "said", "excerpt", "expected"),
    [
        (7, {"generation": 0.4, "running": 1}, False, True),
        (7, {"generation": 3.9, "running": 4}, False, True),
        (7, {"generation": 1.0, "running": 1}, False, False),
        (7, {"generation": 0.4, "running": 1, "prompt": 0.5}, False, False),  # short requests come and go
        (7, {"generation": 0.4, "running": 0}, False, False),
        (5, {"generation": 0.4, "running": 1}, False, False),
        (3, {"generation": 0.4, "running": 1}, True, True),
        (2, {"generation": 0.4, "running": 1}, True, False),
    ],
)
def test_less_than_a_token_a_second_is_a_crawl(count, said, excerpt, expected):
    assert expected == ("crawling" in states(rows(count, **{"prompt": 0.0, **said}), excerpt=excerpt))


def test_a_crawl_tells_its_speed_and_one_that_ended_is_history():
    slow = rows(7, generation=0.8, running=2, prompt=0.0)

    assert 0.4 == states(slow)["crawling"].numbers["speed"]
    assert "crawling" not in states([*slow, *rows(2, 7)])


@pytest.mark.parametrize("kind", ["cache_full", "queued", "preempted"])
def test_of_an_excerpt_few_lines_are_enough(kind):
    """Whoever pasted them chose them."""
    told: dict[str, dict[str, Any]] = {
        "cache_full": {"waiting": 5, "usage": 99.0},
        "queued": {"waiting": 40},
        "preempted": {"preemptions": 1},
    }
    samples = rows(1, **told[kind])

    assert (set(), {kind}) == (set(states(samples)), set(states(samples, excerpt=True)))


def test_what_is_printed_after_a_stop_is_not_judged():
    """The front end of a server that was stopped at work repeats its last numbers."""
    samples = [*rows(5), *rows(2, 5, **STILL)]

    assert ({"stalled"}, set()) == (set(states(samples)), set(states(samples, stop=6)))


def test_the_worst_of_several_states_is_the_one_that_matters_most():
    samples = [*rows(8, waiting=200, usage=99.0), sample(8, waiting=200, usage=99.0, **STILL)]
    health = assess(Records({"": samples}, [], len(samples), End(9)))

    assert health is not None
    assert health.worst is not None
    assert ("stalled", {"stalled", "cache_full"}) == (health.worst.kind, {state.kind for state in health.states})


def test_a_summary_of_a_healthy_life():
    health = assess(Records({"0": rows(9), "1": rows(9, generation=60.0, usage=70.0)}, [], 1800, End(9)))

    assert health is not None
    assert (1800, 2, 80.0, 160.0, 100.0) == (
        health.lines, health.engines, health.seconds, health.typical_generation, health.peak_generation,
    )  # fmt: skip
    assert (4, 0, 70.0, None, ()) == (
        health.peak_running, health.peak_waiting, health.peak_usage, health.worst, health.overcome,
    )  # fmt: skip


def test_a_log_without_statistics_has_no_health():
    assert (None, None) == (assess(None), assess(Records()))
