"""What can be wrong with a server at work: for each kind a function from its lines to the states that they show.

A state is looked for over the whole log, so that what was overcome is known too. It is *current* where it reaches the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from . import limits
from .marks import UNTOLD
from .middle import median, upper_quartile
from .types import CRAWLING, FULL, PREEMPTED, QUEUED, REJECTED, SLOW, STALLED, Draft, End, Sample, State

LATELY = 48
"""Last lines by which it is told how often they are printed."""
SHOWN = 4
"""Lines of a state up to which all are shown; of more the first, the worst and the last."""


class View:
    """The lines of one engine, and what must be known to judge them.

    Args:
        samples: In the order of the log.
        end: How the log goes on after them.
        excerpt: Whether the log is somebody's excerpt, of lines that were chosen because they show the trouble.
        engine: Its name; "" where there is but one.
    """

    __slots__ = ("end", "engine", "excerpt", "interval", "samples")

    def __init__(self, samples: Sequence[Sample], end: End, excerpt: bool = False, engine: str = "") -> None:
        self.samples = samples
        self.end = end
        self.excerpt = excerpt
        self.engine = engine
        self.interval = _interval(samples)
        """Seconds from one line to the next, as a rule."""

    def lasting(self, first: Sample | Draft, last: Sample | Draft, lines: int) -> bool:
        """Return whether a state lasted long enough to count."""
        if self.excerpt:
            return True
        if UNTOLD in (first.at, last.at):
            return lines >= limits.ENOUGH
        return elapsed(first, last) + self.interval >= limits.MINUTE and lines > 1

    def goes_on(self) -> float:
        """Return for how many seconds the log goes on after the last line; 0 where it does not tell."""
        last = self.samples[-1].at
        on = self.end.at - last if UNTOLD not in (last, self.end.at) else 0.0
        return on if 0 < on < limits.OTHER_LOG else 0.0


def elapsed(first: Sample | Draft, last: Sample | Draft) -> float:
    """Return the seconds between two lines; 0 where one of them has no stamp."""
    return max(0.0, last.at - first.at) if UNTOLD not in (first.at, last.at) else 0.0


def runs(flags: Sequence[bool], lapse: int = 0) -> list[tuple[int, int]]:
    """Return first and last index of each row of true ``flags``, across as many false ones in between as ``lapse``."""
    found: list[tuple[int, int]] = []
    for index, flag in enumerate(flags):
        if not flag:
            continue
        if found and index - found[-1][1] <= lapse + 1:
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
    return found


def _interval(samples: Sequence[Sample]) -> float:
    gaps = [
        later.at - earlier.at
        for earlier, later in pairwise(samples[-LATELY:])
        if UNTOLD not in (earlier.at, later.at) and later.at > earlier.at
    ]
    return min(median(gaps), limits.MINUTE) if gaps else limits.INTERVAL


# ---------------------------------------------------------------- an engine that stands still


def stalled(view: View) -> list[State]:
    """Requests are in the engine, and it does nothing: no token, no block taken or freed."""
    samples, last = view.samples, len(view.samples) - 1
    still = [False, *(_stands_still(*pair) for pair in pairwise(samples))]
    if view.excerpt and last == 0:
        still[0] = samples[0].idle and samples[0].asked  # what came before was not pasted
    found = [_standstill(view, first, until) for first, until in runs(still) if until != last]
    found = [state for state in found if state.seconds >= limits.ASTIR or state.lines > 2]
    if still and still[last]:
        if not _answered_after_all(view):
            found.append(_standstill(view, runs(still)[-1][0], last))
    elif _fell_silent(view):
        found.append(_standstill(view, last, last))
    return found


def _stands_still(before: Sample, sample: Sample) -> bool:
    """Return whether nothing moved from one line to the next, although there were requests all the time."""
    return (
        sample.idle
        and sample.asked
        and sample.running == before.running
        and sample.waiting >= before.waiting
        and abs(sample.usage - before.usage) < limits.USAGE
        and (before.idle or elapsed(before, sample) < limits.APART)
    )


def _standstill(view: View, first: int, last: int) -> State:
    samples, current = view.samples, last == len(view.samples) - 1
    # The line before is the last one that may have seen a token.
    since, until = samples[max(0, first - 1)], samples[last]
    seconds = elapsed(since, until) + (view.goes_on() if current else 0)
    lines = sum(sample.idle for sample in samples[first : last + 1])
    numbers = {
        "running": float(until.running),
        "waiting": float(until.waiting),
        "before": median(sample.generation for sample in samples[:first] if not sample.idle),
    }
    proof = tuple(dict.fromkeys((samples[first], until)))
    return State(STALLED, since, until, lines, seconds, current, view.engine, numbers, proof)


def _answered_after_all(view: View) -> bool:
    """Return whether a request was answered after the last line, so lately that the statistics could not show it yet."""
    return bool(view.end.answered) and view.goes_on() <= limits.UNHEARD * view.interval


def _fell_silent(view: View) -> bool:
    """Return whether a busy engine has printed no statistics for long, while others went on, and answered nobody.

    The engine of V0 prints them itself: when it hangs there are none.
    """
    last = view.samples[-1]
    busy = last.running > 0 and not last.idle
    long = max(limits.MINUTE, limits.SILENCE * view.interval)
    return busy and not view.end.answered and view.goes_on() >= long


# ---------------------------------------------------------------- too much work for it


LAPSE = 3
"""Lines without a preemption between two with one that belong together: not every interval sees one."""


def preempted(view: View) -> list[State]:
    """Running requests lose their blocks again and again, and are computed anew or moved to host memory."""
    samples = view.samples
    found = []
    for first, last in runs([bool(sample.preemptions or sample.swapped) for sample in samples], lapse=LAPSE):
        row = samples[first : last + 1]
        many = sum(sample.preemptions for sample in row)
        swaps = sum(sample.swapped > 0 for sample in row)
        enough = 1 if view.excerpt else limits.PREEMPTIONS
        if view.lasting(row[0], row[-1], len(row)) and (many >= enough or swaps > len(row) / 2):
            numbers = {"preemptions": float(many), "swapped": float(max(sample.swapped for sample in row))}
            found.append(_state(PREEMPTED, view, first, last, numbers, lapse=LAPSE))
    return found


def full(view: View) -> list[State]:
    """The KV cache is full and requests wait for blocks."""
    samples = view.samples
    found = []
    for first, last in runs([_is_full(sample) for sample in samples], lapse=1):
        state = _state(FULL, view, first, last, {}, lapse=1)
        # A burst is there at once and shrinks.
        swells = state.current and _is_huge(samples[last]) and samples[last].waiting > samples[first].waiting
        if swells or view.lasting(samples[first], samples[last], last - first + 1):
            found.append(state)
    return found


def _is_full(sample: Sample) -> bool:
    if not (sample.running and sample.waiting):
        return False
    if sample.usage >= limits.FULL:
        return True
    share = sample.usage / sample.running
    return sample.running > 1 and sample.usage >= limits.NEARLY_FULL and 100 - sample.usage < share


def queued(view: View) -> list[State]:
    """More requests arrive than the engine takes, and it is not the cache that keeps them out."""
    samples, last = view.samples, len(view.samples) - 1
    found = []
    for first, until in runs([_is_queue(sample) for sample in samples], lapse=1):
        state = _state(QUEUED, view, first, until, _queue_numbers(samples[first : until + 1]), lapse=1)
        huge = state.current and _is_huge(samples[until])
        capped = state.current and _is_capped(samples[first : until + 1])
        if not (huge or capped or view.lasting(samples[first], samples[until], until - first + 1)):
            continue
        if 0 < state.numbers["drain"] < limits.DRAIN and not view.excerpt:
            continue
        found.append(state)
    creeping = _creeps(samples)
    if creeping and not any(state.current for state in found):
        first = len(samples) - creeping
        found.append(_state(QUEUED, view, first, last, _queue_numbers(samples[first:]), lapse=0))
    return found


def _is_queue(sample: Sample) -> bool:
    return sample.running > 0 and sample.waiting >= limits.QUEUE and not _is_full(sample)


def _is_huge(sample: Sample) -> bool:
    return sample.waiting >= limits.HUGE_QUEUE and sample.waiting > sample.running


def _is_capped(row: Sequence[Sample]) -> bool:
    """Return whether a queue longer than what runs only grows behind a fixed number of requests, though the cache is mostly free."""
    first = row[0]
    return (
        len(row) >= limits.CAPPED_LINES
        and first.waiting > first.running
        and all(sample.running == first.running and sample.usage < limits.MOSTLY_FREE for sample in row)
        and all(before.waiting <= sample.waiting for before, sample in pairwise(row))
        and first.waiting < row[-1].waiting
    )


def _creeps(samples: Sequence[Sample]) -> int:
    """Return over how many lines, up to the last, a short queue has only become longer; 0 where it has not, or not by much."""
    first = len(samples) - 1
    while first > 0 and 0 < samples[first - 1].waiting <= samples[first].waiting:
        first -= 1
    lines, waiting = len(samples) - first, samples[-1].waiting
    longer = waiting >= 2 * max(samples[first].waiting, samples[-1].running)
    return lines if lines >= limits.CREEPING_LINES and waiting >= limits.CREEPING and longer else 0


def _queue_numbers(row: Sequence[Sample]) -> dict[str, float]:
    """Return by how much a queue grows a minute, and within how many seconds it is empty if it shrinks (else 0)."""
    seconds = elapsed(row[0], row[-1])
    growth = (row[-1].waiting - row[0].waiting) / seconds * 60 if seconds else 0.0
    return {"growth": growth, "drain": row[-1].waiting / -growth * 60 if growth < 0 else 0.0}


# ---------------------------------------------------------------- slower than it could be


def drafts_rejected(drafts: Sequence[Draft], excerpt: bool = False) -> list[State]:
    """Nearly nothing of what the draft model proposes is accepted."""
    found = []
    for first, last in runs([draft.accepted < limits.REJECTED for draft in drafts], lapse=1):
        row = drafts[first : last + 1]
        told = [draft.drafted for draft in row if draft.drafted != UNTOLD]
        if not excerpt and (not _proven(row) or (told and sum(told) < limits.DRAFTED)):
            continue
        numbers = {
            "accepted_percent": 100 * median(draft.accepted for draft in row),
            "before_percent": 100 * median(draft.accepted for draft in drafts[:first]),
            "drafted": float(sum(told)),
        }
        current = last >= len(drafts) - 2
        proof = tuple(dict.fromkeys((row[0], row[-1])))
        found.append(State(REJECTED, row[0], row[-1], len(row), elapsed(row[0], row[-1]), current, "", numbers, proof))
    return found


def _proven(row: Sequence[Draft]) -> bool:
    """Return whether so many drafts in a row were rejected that it is no chance."""
    seconds = elapsed(row[0], row[-1])
    return len(row) >= limits.ENOUGH or (len(row) >= limits.DRAFTED_LINES and seconds >= limits.MINUTE)


def slowed_down(view: View) -> list[State]:
    """Each request gets its tokens far more slowly than requests did before, under a like load."""
    samples = view.samples
    steady = [
        index
        for index in range(1, len(samples))
        if samples[index].running and samples[index - 1].running and samples[index].generation
    ]
    latest = _last_minute(view, steady)
    if not latest:
        return []
    running = median(samples[index].running for index in latest)
    before = [
        samples[index]
        for index in steady
        if index < latest[0] and running / limits.LIKE <= samples[index].running <= running * limits.LIKE
    ]
    if len(before) < limits.NORMAL:
        return []
    normal = upper_quartile(_speed(sample) for sample in before)  # it may have been slow for most of the log
    row = [samples[index] for index in latest]
    if max(_speed(sample) for sample in row) > limits.SLOWER * normal or not _comparable(row, before):
        return []
    first = latest[0]
    while first > 1 and samples[first - 1].running and _speed(samples[first - 1]) <= limits.SLOWER * normal:
        first -= 1
    numbers = {"speed": median(_speed(sample) for sample in row), "before": normal}
    return [_state(SLOW, view, first, len(samples) - 1, numbers, lapse=0)]


def crawling(view: View) -> list[State]:
    """Each request gets less than a token a second, and no prompt is read that could explain it.

    What is normal does not matter: a server that came up badly set up was never faster.
    """
    found = []
    for first, last in runs([_crawls(sample) for sample in view.samples]):
        row = view.samples[first : last + 1]
        if len(row) >= limits.CRAWLING_LINES and view.lasting(row[0], row[-1], len(row)):
            numbers = {"speed": median(_speed(sample) for sample in row)}
            found.append(_state(CRAWLING, view, first, last, numbers, lapse=0))
    return found


def _crawls(sample: Sample) -> bool:
    return bool(sample.running and sample.generation) and not sample.prompt and _speed(sample) < limits.CRAWLING


def _last_minute(view: View, steady: list[int]) -> list[int]:
    """Return the last indexes of ``steady`` that follow one another up to the end, if they are a minute or more."""
    latest: list[int] = []
    for index in reversed(steady):
        if index != len(view.samples) - 1 - len(latest):
            break
        latest.insert(0, index)
        if len(latest) >= limits.ENOUGH and elapsed(view.samples[index], view.samples[-1]) >= limits.MINUTE:
            return latest
    return []


def _speed(sample: Sample) -> float:
    """Return the tokens a second that one request gets."""
    return sample.generation / max(1, sample.running)


def _comparable(row: list[Sample], before: list[Sample]) -> bool:
    """Return whether neither more prompts nor longer contexts explain that requests are slower."""
    if median(sample.prompt for sample in row) > 2 * median(sample.prompt for sample in before):
        return False
    held, held_before = (median(sample.usage / max(1, sample.running) for sample in part) for part in (row, before))
    return held <= max(limits.LONGER * held_before, limits.USAGE)


def _state(kind: str, view: View, first: int, last: int, numbers: dict[str, float], lapse: int) -> State:
    """Return the state that the lines from ``first`` to ``last`` show, with the numbers that every load has."""
    samples = view.samples
    row = samples[first : last + 1]
    current = last >= len(samples) - 1 - lapse
    usage = [sample.usage for sample in row if sample.usage != UNTOLD]
    load = {
        "running": float(row[-1].running),
        "waiting": float(row[-1].waiting),
        "peak_waiting": float(max(sample.waiting for sample in row)),
        "usage": median(usage) if usage else UNTOLD,
    }
    highest = max(row, key=lambda sample: (sample.waiting, sample.usage))
    shown = row if len(row) <= SHOWN else [row[0], highest, row[-1]]
    proof = tuple(sorted(set(shown), key=lambda sample: sample.line))
    return State(
        kind, row[0], row[-1], len(row), elapsed(row[0], row[-1]), current, view.engine, {**load, **numbers}, proof
    )
