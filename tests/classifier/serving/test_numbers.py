"""Clock, spans, middles, limits of memory, and the numbers that a state tells."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_triage.classifier.lines.tail import Tail
from vllm_triage.classifier.serving import limits
from vllm_triage.classifier.serving.assess import TOLD, assess
from vllm_triage.classifier.serving.clock import Clock, span
from vllm_triage.classifier.serving.marks import UNTOLD
from vllm_triage.classifier.serving.middle import median, upper_quartile
from vllm_triage.classifier.serving.notes import ANSWERS, ENGINES, FRONT
from vllm_triage.classifier.serving.recorder import Recorder
from vllm_triage.classifier.serving.series import FIRST, LAST, MIDDLE, Series
from vllm_triage.classifier.serving.states import View, elapsed, runs
from vllm_triage.classifier.serving.types import Draft, End, Records, Sample, ServingHealth

DAY = 86400


def stamp(month: int, day: int, clock: str = "00:00:00") -> bytes:
    """Return vLLM's stamp."""
    return f"INFO {month:02}-{day:02} {clock} [x.py:1] ".encode()


@pytest.mark.parametrize(
    ("month", "days"),
    [(1, 31), (2, 28), (3, 31), (4, 30), (5, 31), (6, 30), (7, 31), (8, 31), (9, 30), (10, 31), (11, 30)],
)
def test_from_the_first_of_a_month_to_that_of_the_next(month: int, days: int) -> None:
    """Years have 365 days."""
    clock = Clock()
    assert -clock.read(stamp(month, 1)) + clock.read(stamp(month + 1, 1)) == days * DAY


def test_a_stamp_in_seconds() -> None:
    """Day of the year and time."""
    assert Clock().read(stamp(1, 1, "01:02:03")) == DAY + 3723
    assert Clock().read(stamp(12, 31, "00:00:01")) == 365 * DAY + 1
    assert Clock().read(b"01:02:03 ") == 3723
    assert Clock().read(b"13-01 01:02:03 ") == 3723  # no month
    assert Clock().read(b"2026-05-01T01:02:03 10:00:00 ") == 36000  # the last one


@pytest.mark.parametrize(
    ("first", "second", "later"),
    [
        (stamp(12, 31), stamp(1, 1), DAY), (stamp(7, 3), stamp(1, 1), (365 - 183) * DAY), (stamp(7, 2), stamp(1, 1), -182 * DAY), (b"12:00:01 ", b"00:00:00 ", DAY / 2 - 1),
        (b"12:00:00 ", b"00:00:00 ", -DAY / 2),
    ],
)  # fmt: skip
def test_new_year_and_midnight(first: bytes, second: bytes, later: float) -> None:
    """A stamp that is earlier by more than half a turn is of the next one."""
    clock = Clock()
    before = clock.read(first)
    assert clock.read(second) - before == later


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"), (40.4, "40 s"), (119.4, "119 s"), (120, "2 min"), (125, "2 min"), (150.1, "3 min"), (7169, "119 min"), (7200, "2 h 0 min"), (12000, "3 h 20 min"),
    ],
)  # fmt: skip
def test_times_in_words(seconds: float, words: str) -> None:
    """Seconds up to two minutes, minutes up to two hours."""
    assert span(seconds) == words


def test_the_middle_of_numbers() -> None:
    """The mean of two where there are as many on both sides; nothing of nothing."""
    assert [median(values) for values in ([], [3], [1, 3], [9, 1, 3], [4, 1, 3, 2])] == [0, 3, 2, 3, 2.5]
    assert [upper_quartile(values) for values in ([], [3], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8])] == [0, 3, 4, 7]


def test_how_many_readings_are_kept() -> None:
    """Twenty-four, forty-eight, sixty-four."""
    assert (FIRST, MIDDLE, LAST) == (24, 48, 64)
    whole: Series[int] = Series()
    assert not whole
    for number in range(24 + 48 + 64):
        whole.add(number)
    assert (list(whole), whole.last, whole.count) == ([*range(136)], 135, 136)
    whole.add(136)
    assert list(whole) == [*range(24), *range(24, 73, 2), *range(73, 137)]
    one: Series[int] = Series()
    one.add(7)
    assert (bool(one), one.last) == (True, 7)


def test_rows_of_flags() -> None:
    """Over gaps as long as told."""
    flags = [True, True, False, True, False, False, True]
    assert runs(flags) == [(0, 1), (3, 3), (6, 6)]
    assert runs(flags, 1) == [(0, 3), (6, 6)]
    assert runs(flags, 2) == [(0, 6)]
    assert runs([False]) == []


def sample(number: int, at: float = 0, **said: Any) -> Sample:
    """Return a line of statistics, ten seconds after the one before."""
    told: dict[str, Any] = {
        "prompt": 1.0,
        "generation": 100.0,
        "running": 4,
        "waiting": 0,
        "swapped": 0,
        "preemptions": 0,
        "usage": 10.0,
    } | said
    return Sample(line=number, at=at or 1000 + 10.0 * number, raw=b"line", **told)


def judged(samples: list[Sample], end: End | None = None, drafts: list[Draft] | None = None) -> ServingHealth:
    """Return how a server with one engine did."""
    found = assess(Records({"": samples}, drafts or [], len(samples), end or End(999)))
    assert found is not None
    return found


def test_what_a_full_cache_tells() -> None:
    """Requests at its end, the longest queue, the usual share; the lines that show it best."""
    rows = [sample(number, usage=96.0, waiting=waiting) for number, waiting in enumerate([5, 9, 7, 6, 6, 6], 1)]
    state = judged(rows).worst
    assert state is not None
    assert (state.kind, state.numbers) == (
        "cache_full",
        {"running": 4.0, "waiting": 6.0, "peak_waiting": 9.0, "usage": 96.0},
    )
    assert [line.line for line in state.proof] == [1, 2, 6]
    assert (state.since.line, state.until.line, state.lines, state.seconds, state.engine) == (1, 6, 6, 50.0, "")


def test_what_preemptions_tell() -> None:
    """All of them, and how many requests were moved to host memory at most."""
    rows = [sample(number, preemptions=3, swapped=number % 4, usage=UNTOLD) for number in range(1, 7)]
    state = judged(rows).worst
    assert state is not None
    assert (state.kind, state.numbers["preemptions"], state.numbers["swapped"], state.numbers["usage"]) == (
        "preempted",
        18.0,
        3.0,
        UNTOLD,
    )


def test_what_rejected_drafts_tell() -> None:
    """Shares in per cent, what was usual before, and how many tokens were drafted."""
    drafts = [Draft(number, 10.0 * number, share, 500, b"x") for number, share in enumerate([0.5, 0.7, *[0.02] * 6], 1)]
    state = judged([sample(99)], drafts=drafts).worst
    assert state is not None
    assert state.numbers == {"accepted_percent": 2.0, "before_percent": 60.0, "drafted": 3000.0}
    assert ([line.line for line in state.proof], state.seconds, state.lines) == ([3, 8], 50.0, 6)


def test_what_a_slow_server_tells() -> None:
    """The speed of a request now, and what was normal."""
    state = judged(
        [*[sample(number) for number in range(1, 20)], *[sample(number, generation=20.0) for number in range(20, 28)]]
    ).worst
    assert state is not None
    assert (state.kind, state.numbers["speed"], state.numbers["before"], state.since.line) == (
        "slowed_down",
        5.0,
        25.0,
        20,
    )


def test_how_often_lines_are_printed() -> None:
    """The middle of the last ones, a minute at most; ten seconds where they have no stamps."""
    assert View([sample(1, 5), sample(2, 10), sample(3, 15), sample(4, 500)], End()).interval == 5
    assert View([sample(1, 5), sample(2, 300)], End()).interval == 60
    assert View([sample(1, UNTOLD), sample(2, UNTOLD)], End()).interval == limits.INTERVAL == 10
    assert (
        elapsed(sample(1, 5), sample(2, 9)),
        elapsed(sample(1, 9), sample(2, 5)),
        elapsed(sample(1, UNTOLD), sample(2, 5)),
    ) == (4, 0, 0)


@pytest.mark.parametrize(("on", "expected"), [(10, 10), (0, 0), (-5, 0), (7 * DAY - 1, 7 * DAY - 1), (7 * DAY, 0)])
def test_how_long_a_log_goes_on(on: float, expected: float) -> None:
    """A stamp of a week later is of another log."""
    assert View([sample(1)], End(9, sample(1).at + on)).goes_on() == expected
    assert View([sample(1)], End(9, UNTOLD)).goes_on() == 0


def test_no_more_states_are_told_than_anybody_reads() -> None:
    """Twelve, the longest of them, in their order."""
    rows: list[Sample] = []
    for turn in range(14):
        rows += [sample(1 + len(rows) + at, usage=99.0, waiting=2) for at in range(7 + turn)]
        rows += [sample(1 + len(rows) + at) for at in range(4)]
    states = judged(rows).states
    assert (TOLD, len(states), [state.lines for state in states]) == (12, 12, list(range(9, 21)))


def statistics(front: str, generation: str = "20.0") -> str:
    """Return a line of statistics."""
    return f"{front}Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: {generation} tokens/s, Running: 3 reqs, Waiting: 0 reqs\n"


def recorded(text: str) -> Records:
    """Return what is kept of a log."""
    recorder, tail, lines = Recorder(), Tail(), text.count("\n")
    recorder.read(text.encode(), 1)
    tail.extend(text.encode(), 1 + lines)
    return recorder.finish(tail, lines) or Records()


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("Engine 000: ", "000"), ("Engine 015: ", "015"), ("2 Engines Aggregated: ", "2 Engines Aggregated"), ("", ""), ("Other: ", ""), ("Engine 000 ", ""),
    ],
)  # fmt: skip
def test_which_engine_a_line_is_about(name: str, engine: str) -> None:
    """By the words before its numbers."""
    assert list(recorded(statistics(f"(APIServer pid=7) INFO 05-01 10:00:00 [loggers.py:1] {name}")).engines) == [
        engine
    ]


def test_so_many_engines_are_told_apart() -> None:
    """Sixteen."""
    text = "".join(statistics(f"INFO 05-01 10:00:00 [loggers.py:1] Engine {number:03}: ") for number in range(17))
    assert (ENGINES, len(recorded(text).engines)) == (16, 16)


def test_the_server_that_speaks_last_is_judged() -> None:
    """By its process, where the log tells it."""
    text = "".join(
        statistics(f"(APIServer pid={pid}) INFO 05-01 10:00:00 [loggers.py:1] Engine 000: ") for pid in (7, 7, 8)
    )
    found = recorded(text)
    assert ([row.line for row in found.engines["000"]], found.lines) == ([3], 1)


@pytest.mark.parametrize(("size", "found"), [(FRONT, 1), (FRONT + 1, 0)])
def test_prefixes_are_not_endless(size: int, found: int) -> None:
    """What stands further behind is somebody's text."""
    assert FRONT == 400
    assert len(recorded("x\n" + statistics("y" * (size - 1))).engines) == found


def test_answers_after_the_last_line() -> None:
    """Fifty of them are noted, with their lines, and the latest stamp."""
    answer = 'INFO:     10.0.0.1:4 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    text = (
        statistics("INFO 05-01 10:00:00 [loggers.py:1] Engine 000: ") + "INFO 05-01 10:00:30 [a.py:1] x\n" + answer * 60
    )
    end = recorded(text).end
    assert (ANSWERS, end.line, end.answered) == (50, 62, tuple(range(3, 53)))
    assert end.at - recorded(text).engines["000"][0].at == 30
    for other in ('"GET /health HTTP/1.1" 200', '"POST /v1/x HTTP/1.1" 500', '"POST /v1/x HTTP/2" 200'):
        assert recorded(text.split("\n")[0] + f"\n{other}\n").end.answered == ()


def test_numbers_of_judging() -> None:
    """A change of one of them is a change of verdicts: it must be meant."""
    assert (limits.MINUTE, limits.ENOUGH, limits.APART, limits.USAGE, limits.ASTIR) == (60, 6, 900, 0.05, 30)
    assert (limits.SILENCE, limits.UNHEARD, limits.FULL, limits.NEARLY_FULL) == (6, 4, 95, 80)
    assert (limits.QUEUE, limits.HUGE_QUEUE, limits.DRAIN, limits.CREEPING, limits.CREEPING_LINES) == (
        30,
        100,
        60,
        10,
        12,
    )
    assert (limits.PREEMPTIONS, limits.REJECTED, limits.DRAFTED, limits.DRAFTED_LINES) == (10, 0.05, 300, 3)
    assert (limits.SLOWER, limits.NORMAL, limits.LIKE, limits.LONGER) == (0.33, 12, 2, 3)
