from __future__ import annotations

import logging
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.chat.loopback import wait_until
from tests.service.samples import failure
from vllm_triage.service.chat.backoff import backoff
from vllm_triage.service.chat.deduplicate import LocalOnce, Once
from vllm_triage.service.chat.interface import BusyError, Event, RetryError, UndeliverableError, selects
from vllm_triage.service.chat.notify import Notifier
from vllm_triage.service.chat.settings import NotifySettings, Selection
from vllm_triage.service.chat.work_queue import Background
from vllm_triage.service.history import History

REPORT = failure().report
FAST = NotifySettings(update_seconds=0, backoff_seconds=0.001, attempts=3)


class Target:
    """Notes what it is given; ``fails`` are raised first."""

    def __init__(self, name: str = "target", *fails: Exception) -> None:
        self.name = name
        self.fails = list(fails)
        self.held: threading.Event | None = None
        self.sent: list[Event] = []
        self.shown: list[Event] = []

    def wants(self, event: Event) -> bool:
        return event.service != "unwanted"

    def send(self, event: Event) -> None:
        if self.held is not None:
            assert self.held.wait(60)
        if self.fails:
            raise self.fails.pop(0)
        self.sent.append(event)

    def again(self, event: Event) -> None:
        self.shown.append(event)


@pytest.fixture
def notify():
    """Make notifiers that end with the test."""
    made = []

    def make(*targets: Target, settings: NotifySettings = FAST, once: Once | None = None) -> Notifier:
        made.append(Notifier(settings, once or Once(), targets))
        return made[-1]

    yield make
    for notifier in made:
        notifier.close()


def event(key: str = "incident:a", service: str = "") -> Event:
    return Event(REPORT, key=key, service=service)


def settle(notifier: Notifier) -> None:
    wait_until(lambda: notifier.waiting == 0)


def test_ten_thousand_equal_events_are_one_message_with_the_right_count(notify):
    target = Target()
    notifier = notify(target)
    for _ in range(10_000):
        notifier.notify(event())
    settle(notifier)
    assert (1, 10_000) == (len(target.sent), max(item.recurrence for item in [*target.sent, *target.shown]))


def test_processes_on_one_history_send_one_message(notify, tmp_path):
    history = History(f"sqlite:///{tmp_path / 'h.db'}")
    history.upgrade()
    targets = [Target(), Target()]
    notifiers = [notify(target, once=Once(history)) for target in targets]
    for _ in range(50):
        for notifier in notifiers:
            notifier.notify(event())
    for notifier in notifiers:
        settle(notifier)
        notifier.close()
    history.close()
    assert 1 == sum(len(target.sent) for target in targets)
    seen = [item for target in targets for item in [*target.sent, *target.shown]]
    assert 100 == max(item.recurrence for item in seen)


def test_repetitions_are_counted_apart(notify):
    target = Target()
    notifier = notify(target)
    notifier.notify(event())
    settle(notifier)
    for _ in range(5):
        notifier.notify(event(), repeated=True)
    settle(notifier)
    assert (1, 6) == (target.shown[-1].recurrence, target.shown[-1].received)


def test_other_incidents_are_other_messages(notify):
    target = Target()
    notifier = notify(target)
    for key in ("a", "b", "a", "c"):
        notifier.notify(event(key))
    settle(notifier)
    assert {"a", "b", "c"} == {item.key for item in target.sent}
    assert 3 == len({item.id for item in target.sent})


def test_a_resolved_incident_is_told_and_begins_anew(notify):
    target = Target()
    notifier = notify(target)
    notifier.notify(event())
    settle(notifier)
    # Whoever knows that the last alert is over ends the window.
    notifier._once.forget("incident:a")
    notifier.resolve("incident:a")
    settle(notifier)
    notifier.notify(event())
    settle(notifier)
    assert [True] == [item.resolved for item in target.shown]
    assert [1, 1] == [item.recurrence for item in target.sent]


def test_a_failed_delivery_is_tried_again_under_the_same_id(notify):
    target = Target("target", RetryError("status 503"), RetryError("status 503"))
    notifier = notify(target)
    notifier.notify(event())
    settle(notifier)
    assert 1 == len(target.sent)
    assert {("target", "retried"): 2, ("target", "sent"): 1} == dict(notifier.figures)


@pytest.mark.parametrize(
    ("fails", "retried"),
    [([RetryError("status 503")] * 3, 2), ([UndeliverableError("status 410")], 0), ([KeyError("secret words")], 0)],
)
def test_what_cannot_be_delivered_is_counted_and_logged_without_content(notify, caplog, fails, retried):
    target = Target("target", *fails)
    notifier = notify(target)
    with caplog.at_level(logging.INFO):
        notifier.notify(event())
        settle(notifier)
    assert ([], 1, retried) == (target.sent, notifier.figures["target", "dead"], notifier.figures["target", "retried"])
    assert "undeliverable" in caplog.text
    assert "secret words" not in caplog.text
    assert REPORT.title not in caplog.text


def test_a_target_that_hangs_keeps_no_other_waiting(notify):
    release = threading.Event()
    slow, quick = Target("slow"), Target("quick")
    slow.held = release
    notifier = notify(slow, quick)
    notifier.notify(event())
    wait_until(lambda: bool(quick.sent))
    release.set()
    settle(notifier)


def test_a_flood_of_different_incidents_is_bounded(notify):
    """Beyond the queue events are refused and counted; memory stays."""
    release = threading.Event()
    target = Target()
    target.held = release
    notifier = notify(target, settings=NotifySettings(queue=10))
    for number in range(1000):
        notifier.notify(event(f"incident:{number}"))
    release.set()
    settle(notifier)
    outcomes = {outcome: number for (_, outcome), number in notifier.figures.items()}
    assert 1000 == outcomes["sent"] + outcomes.get("dead", 0) + outcomes.get("refused", 0)
    assert 0 < outcomes.get("dead", 0) + outcomes.get("refused", 0)


def test_what_waits_is_delivered_at_the_end(notify):
    """Shutdown does not wait for the next try: it is made at once, and is the last."""
    target = Target("target", RetryError("status 503", 200))
    notifier = notify(target, settings=NotifySettings(backoff_seconds=200))
    notifier.notify(event())
    wait_until(lambda: notifier.figures["target", "retried"] == 1)
    notifier.close()
    assert 1 == len(target.sent)


def test_what_cannot_be_delivered_in_time_is_counted_at_the_end(notify):
    release = threading.Event()
    target = Target()
    target.held = release
    notifier = notify(target, settings=NotifySettings(drain_seconds=0.05))
    notifier.notify(event())
    wait_until(lambda: notifier._lanes[0][1].waiting == 1)
    notifier.close()
    release.set()
    assert 1 == notifier.figures["target", "dead"]


def test_a_history_that_cannot_be_reached_costs_no_message(notify, tmp_path):
    history = History(f"sqlite:///{tmp_path / 'h.db'}")
    history.upgrade()
    history.close()
    target = Target()
    notifier = notify(target, once=Once(history))
    notifier.notify(event())
    notifier.notify(event())
    settle(notifier)
    assert 1 == len(target.sent)


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        (Selection(), True),
        (Selection(buckets={"kv_cache_oom"}), True),
        (Selection(buckets={"kv_cache_oom/context_exceeds_cache"}), True),
        (Selection(buckets={"nccl_hang"}), False),
        (Selection(services={"chat"}), True),
        (Selection(services={"other"}), False),
        (Selection(min_confidence=0.98), False),
        (Selection(only_new=True), True),
    ],
)
def test_filters(select, wanted):
    assert wanted == selects(select, event(service="chat"))


def test_a_background_that_is_closed_takes_nothing():
    background = Background("test", 1)
    background.close(0)
    with pytest.raises(BusyError):
        background.submit(lambda: None)


def test_a_job_that_fails_ends_no_other():
    def fails() -> None:
        raise ValueError

    done = threading.Event()
    background = Background("test", 10)
    background.submit(fails)
    background.submit(done.set)
    assert done.wait(30)
    assert 0 == background.close(1)


def test_windows_end_and_the_oldest_keys_go():
    now = [0.0]
    once = LocalOnce(lambda: now[0], limit=2).once
    assert [(True, 1), (False, 2)] == [once("a", 10), once("a", 10)]
    now[0] = 10
    assert (True, 1) == once("a", 10)
    once("b", 10)
    once("c", 10)
    assert (True, 1) == once("a", 10)


@given(st.integers(1, 20), st.none() | st.floats(0, 1e9))
def test_delays_grow_within_their_limit(attempt, asked):
    settings = NotifySettings(backoff_seconds=1, backoff_limit_seconds=300)
    delay = backoff(attempt, settings, asked)
    assert min(300, 2 ** (attempt - 1)) / 2 <= delay <= 300
    assert delay >= min(asked or 0, 300)
