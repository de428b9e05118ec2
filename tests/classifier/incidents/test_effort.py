"""What is still worth looking at: bounded by what was seen, never by the clock."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.classifier.made import line_rule
from vllm_triage.classifier.incidents.effort import (
    FACT_TRIES,
    FEWEST,
    MISSES,
    NAMED,
    SETTLE,
    TRIES,
    VISITS,
    WORK,
    Effort,
)
from vllm_triage.classifier.matching.engine import Engine
from vllm_triage.classifier.matching.match import GIVE_UP, WINDOW

CAUSE, FACT = line_rule("a/cause", "no room"), line_rule("a/fact", "room 7", role="fact")
FREQUENT = line_rule("a/frequent", "many rooms", frequent=True)
SERVING = line_rule("a/serving", "served", role="fact", stage="serving", frequent=True)
ENGINE = Engine([CAUSE, FACT, FREQUENT, SERVING])
ERROR = b"RuntimeError: x\n"


@pytest.fixture
def effort() -> Effort:
    """The effort of a start that has just begun."""
    return Effort(ENGINE)


@pytest.mark.parametrize(("index", "tries"), [(0, TRIES), (1, FACT_TRIES), (2, 0)])
def test_a_rule_that_matched_often_enough_is_done(effort, index, tries):
    """A fact is told by a few processes; of a frequent kind the last line counts."""
    rule = ENGINE.line_rules[index]
    for _ in range(tries):
        effort.matched(index, rule)
    assert set() == effort.done

    effort.matched(index, rule)

    assert {index} == effort.done
    assert [] == effort.given_up()


def test_a_rule_whose_words_fit_nowhere_is_given_up_and_that_is_said(effort):
    """Thousands of lines that hold its literal and are something else."""
    for _ in range(MISSES):
        effort.missed(0)
        effort.missed(2)
    assert (set(), []) == (effort.done, effort.given_up())

    effort.missed(0)
    effort.missed(2)

    assert {0, 2} == effort.done
    # A frequent one is tried on the last lines of its kind: nothing is lost.
    assert ["a/cause."] == [note.rpartition(": ")[2] for note in effort.given_up()]


def test_a_rule_that_takes_too_long_is_given_up_and_that_is_said(effort):
    """After a few searches; the first one is worth a word."""
    effort.took_too_long(0, CAUSE)
    assert set() == effort.done
    assert ["a/cause."] == [note.rpartition(": ")[2] for note in effort.given_up()]

    for _ in range(GIVE_UP - 1):
        effort.took_too_long(0, CAUSE)

    assert {0} == effort.done


@pytest.mark.parametrize("size", [WINDOW, WINDOW // 4, 50 * WINDOW])
def test_long_lines_are_paid_for_by_the_square_of_what_is_seen_of_them(effort, size):
    """That many, then none for this rule; others go on, and it is said."""
    many = WORK // min(size, WINDOW) ** 2

    afforded = [effort.affords(0, CAUSE, size) for _ in range(many + 3)]

    assert [True] * many + [False] * 3 == afforded
    assert effort.affords(1, FACT, size)
    assert ["a/cause."] == [note.rpartition(": ")[2] for note in effort.given_up()]


def test_of_many_rules_a_few_are_named(effort):
    """A note is a sentence, not a list of the corpus."""
    for number in range(NAMED + 2):
        effort.took_too_long(0, line_rule(f"a/{number}", "x"))

    assert [True] == [note.endswith(": a/0, a/1, a/2, a/3, a/4 and 2 more.") for note in effort.given_up()]


def test_once_requests_are_answered_that_is_no_news(effort):
    """Rules that say no more than that are done; others go on."""
    effort.serves()

    assert {3} == effort.done


def found(effort: Effort, data: bytes) -> list[bytes]:
    """Let the effort learn from a block; return the literals that were found in it."""
    literals = effort.scanner.find(data)
    effort.learn(literals, len(data))
    return [ENGINE.scanner.words[word] for word, _, _ in literals]


def block(words: bytes, times: int, size: int) -> bytes:
    """Return a block of ``size`` bytes that holds ``words`` so many times."""
    return (words + b"\n") * times + b"." * (size - times * (len(words) + 1))


def test_what_stands_everywhere_is_looked_for_near_errors_alone(effort):
    """In a large log, and only what was seen often; all else is found as before."""
    found(effort, block(b"no room", VISITS + 1, SETTLE + 1))

    rest = b"no room\n" * 3 + b"room 7\n" + b"." * 200_000 + ERROR + b"no room\n"

    assert [b"room 7", b"Error: ", b"no room"] == found(effort, rest)


@pytest.mark.parametrize(("times", "size"), [(VISITS, SETTLE + 1), (VISITS + 1, SETTLE), (FEWEST - 1, SETTLE + 1)])
def test_nothing_is_muted_before_its_rules_had_their_chance(effort, times, size):
    """Not in a small log, not what was seen less often, not where little was found."""
    found(effort, block(b"no room", times, size))

    assert [b"no room"] == found(effort, b"no room\n")


def test_what_stands_in_lines_that_were_passed_over_counts(effort):
    """Nothing was looked for in them, but what they hold is known."""
    word = ENGINE.scanner.words.index(b"no room")
    effort.learn([], SETTLE + 1, Counter({word: VISITS + 1}))

    assert [] == found(effort, b"no room\n")


def test_visits_are_counted_over_blocks(effort):
    """But blocks in which hardly anything was found do not count."""
    for _ in range(VISITS // FEWEST + 1):
        found(effort, block(b"no room", FEWEST, SETTLE // 4))

    assert [] == found(effort, b"no room\n")


def test_literals_whose_rules_are_done_are_muted_at_once(effort):
    """Nothing more could come of them."""
    effort.done.add(0)
    found(effort, block(b"no room", FEWEST, SETTLE + 1))

    assert [] == found(effort, b"no room\n")


def test_a_log_that_changes_is_settled_on_once_more(effort):
    """What stands everywhere later is muted later, where eight times as much was read."""
    found(effort, block(b"no room", VISITS + 1, SETTLE + 1))
    first = effort.scanner
    found(effort, block(b"room 7", VISITS + 1, 4 * SETTLE))
    assert first is effort.scanner

    found(effort, block(b"room 7", 1, 4 * SETTLE))

    assert first is not effort.scanner
    assert [] == found(effort, b"room 7\nno room\n")


def test_another_start_begins_with_everything(effort):
    """Nothing that one start muted or gave up counts for the next."""
    found(effort, block(b"no room", VISITS + 1, SETTLE + 1))
    effort.took_too_long(0, CAUSE)

    fresh = Effort(ENGINE)

    assert ([b"no room"], set(), []) == (found(fresh, b"no room\n"), fresh.done, fresh.given_up())
