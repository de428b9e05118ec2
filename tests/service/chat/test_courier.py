"""What is told one by one, and what together: on a history of its own, without a thread."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.service.samples import failure
from vllm_triage.service.chat.courier import FLOOD, Courier
from vllm_triage.service.chat.deduplicate import Once
from vllm_triage.service.chat.interface import ALERTS, Brief, Event
from vllm_triage.service.chat.letters import pack_event
from vllm_triage.service.chat.settings import NotifySettings
from vllm_triage.service.history import History
from vllm_triage.service.letter import Letter

REPORT = failure().report
SETTINGS = NotifySettings(digest_after=2, digest_seconds=3600)


class People:
    """A chat that notes what it is told."""

    name = "chat"

    def __init__(self) -> None:
        self.alone: list[str] = []
        self.together: list[list[str]] = []

    def wants(self, event: Event) -> bool:
        return True

    def send(self, event: Event) -> None:
        self.alone.append(event.service)

    def again(self, event: Event) -> None:
        raise AssertionError

    def digest(self, incidents: Sequence[Brief]) -> None:
        self.together.append([told.service for told in incidents])


class Clock:
    """The courier goes by the time of day; letters are due by this."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def history(tmp_path, clock):
    made = History(f"sqlite:///{tmp_path}/history.db", clock=clock)
    made.upgrade()
    yield made
    made.close()


def courier(history: History, people: People) -> Any:
    return Courier(people, history.outbox, SETTINGS, Once(history), lambda *_: None, lambda _: None)


def put(history: History, *services: str) -> None:
    events = [Event(REPORT, service=service, key=service) for service in services]
    history.outbox.put([Letter("chat", event.service, pack_event(event)) for event in events])


def work(history: History, people: People) -> None:
    courier(history, people).work(history.outbox.take("chat", 100, 60))


def test_what_comes_while_others_are_kept_back_joins_them(history, clock):
    """In the next period too: a flood is some messages and one digest."""
    people = People()
    put(history, "a", "b", "c", "d")
    work(history, people)
    put(history, "e", "f")
    work(history, people)
    clock.ahead = timedelta(hours=2)
    work(history, people)
    assert (["a", "b"], [["c", "d", "e", "f"]]) == (people.alone, people.together)
    assert [] == history.outbox.figures()


def test_a_digest_waits_for_the_alerts_that_are_still_being_read(history, clock):
    """Those that somebody works on count; after a while it waits no more."""
    people = People()
    put(history, "a", "b", "c", "d")
    work(history, people)
    history.outbox.put([Letter(ALERTS, "alerts", b"")])
    [reading] = history.outbox.take(ALERTS, 1, 60)
    clock.ahead = timedelta(hours=2)
    work(history, people)
    assert [] == people.together

    history.outbox.done([reading.number])
    clock.ahead = timedelta(hours=4)
    work(history, people)
    assert [["c", "d"]] == people.together


def test_a_digest_does_not_wait_for_ever(history, clock):
    people = People()
    clock.ahead = -FLOOD * timedelta(seconds=SETTINGS.digest_seconds)
    put(history, "a", "b", "c", "d")
    clock.ahead = timedelta()
    work(history, people)
    history.outbox.put([Letter(ALERTS, "alerts", b"")])
    clock.ahead = timedelta(hours=2)
    work(history, people)
    assert [["c", "d"]] == people.together
