"""A model's opinion that comes after the answer reaches the chats that have been told."""

from __future__ import annotations

import json
from typing import Any

from tests.service.chat.loopback import wait_until
from tests.service.chat.slack_server import FakeSlack
from tests.service.chat.test_notify import Target as Changed
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.proposal import Proposal
from vllm_triage.classifier.report.model import Report
from vllm_triage.service.chat.deduplicate import Once
from vllm_triage.service.chat.interface import Event, second_opinion
from vllm_triage.service.chat.notify import Notifier
from vllm_triage.service.chat.settings import NotifySettings, Selection
from vllm_triage.service.chat.targets import Target

LOG = b"(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845] acme.CogError: the cog is gone\n"
LOOK = {
    "title": "Read the kernel's log",
    "actions": [{"do": "run", "shell": "dmesg -T"}],
    "why": "",
    "predicts": "An Xid.",
}
ANSWER = {
    "cause": "acme.CogError: the cog is gone", "candidate": "", "lines": [1], "fixes": [LOOK], "confidence": 0.9, "missing": "",
}  # fmt: skip
TOLD = "A second opinion, checked: Read the kernel's log (proposed by oak-70b)"


def considered(report: Report) -> Report:
    """Return an answer with the opinion in it."""
    return shared().consider(report, [Proposal.from_json(ANSWER, "oak-70b")])


class Sent(Target):
    """A place whose messages cannot be changed."""

    def __init__(self) -> None:
        super().__init__("sent", Selection())
        self.sent: list[Event] = []

    def send(self, event: Event) -> None:
        """Note it."""
        self.sent.append(event)


def test_it_is_said_once_where_messages_cannot_be_changed() -> None:
    """Later counts of the same window say it no more; where messages are changed nothing is sent."""
    report = shared().report(LOG)
    sent, changed = Sent(), Changed()
    notifier = Notifier(NotifySettings(update_seconds=0), Once(), [sent, changed])
    try:
        notifier.consider(Event(considered(report), key="a"))
        notifier.tell(Event(report, key="a"))
        wait_until(lambda: len(sent.sent) == 1)
        for _ in range(2):
            notifier.consider(Event(considered(report), key="a"))
            notifier.tell(Event(report, key="a"))
        wait_until(lambda: notifier.waiting == 0)
    finally:
        notifier.close()
    assert ["", TOLD] == [event.note for event in sent.sent]
    assert sent.sent[0].id != sent.sent[1].id
    assert ["dmesg -T"] == [fix.change for fix in sent.sent[1].report.fixes]
    assert [""] == [event.note for event in changed.sent]


def test_an_opinion_behind_the_rules_sends_nothing() -> None:
    """It stands in what is shown anew, and is nobody's message."""
    assert "" == second_opinion(shared().report(LOG))
    assert TOLD == second_opinion(considered(shared().report(LOG)))


def test_slack_shows_it_in_channel_and_thread_and_says_so_once(
    serve: Any, slack_settings: Any, slack: FakeSlack
) -> None:
    """In what a person asked for, too."""
    service = serve(slack=slack_settings())
    report, incident = service.chat.context.triage(LOG)
    service.chat.notify(report, incident)
    service.event({"type": "app_mention", "ts": "1.1", "text": f"<@U1> {LOG.decode()}"})
    service.settle()
    for _ in range(2):
        service.chat.consider(considered(report), incident)
        service.settle()

    assert 4 == len(slack.updated)
    assert all("dmesg -T" in json.dumps(message["blocks"]) for message in slack.updated)
    assert [TOLD] * 2 == [message["text"] for message in slack.posted[2:]]
