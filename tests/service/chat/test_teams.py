"""Teams: cards within its limits, in which nothing of a log is markup."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from tests.classifier.pack.logs import FAILURE, failing
from tests.service.chat.loopback import Loopback, Reply, wait_until
from tests.service.samples import failure, found_failure, healthy, unknown
from vllm_triage.classifier.api import triage
from vllm_triage.classifier.lines.types import Evidence
from vllm_triage.service.chat import teams_card
from vllm_triage.service.chat.interface import Brief, Event
from vllm_triage.service.chat.platforms.teams import TeamsSettings

LOG = b"INFO: start\nValueError: No available memory for the cache blocks.\n"


def texts(body: bytes) -> list[str]:
    """Return the texts of a message, after a look at its shape: text runs alone hold text."""
    told = json.loads(body)
    (attached,) = told["attachments"]
    assert (told["type"], attached["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    card = attached["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.5")
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    runs = [run for block in card["body"] for run in block["inlines"]]
    assert all(run["type"] == "TextRun" and run["text"] for run in runs)
    return [run["text"] for run in runs]


def test_a_card_tells_what_matters():
    body = teams_card.message(Event(failure().report, service="chat", link="https://triage.example/incidents/inc_1"))
    told = "\n".join(texts(body))

    for part in (
        "✖ The KV cache cannot hold",
        "kv_cache_oom/context_exceeds_cache 97 % · chat",
        "37: (EngineCore",
        "--max-model-len 41936",
    ):
        assert part in told
    assert (
        json.loads(body)["attachments"][0]["content"]["actions"][0]["url"] == "https://triage.example/incidents/inc_1"
    )


@pytest.mark.parametrize("sample", [failure, unknown, healthy])
def test_every_answer_has_a_card(sample):
    assert texts(teams_card.message(Event(sample().report)))


@pytest.mark.parametrize("sign", ["x", "ü", "\U0001d54f", '"', "\\"])
def test_a_message_fits_whatever_is_in_it(sign):
    long = sign * 9000
    found = found_failure().saying(title=long, summary=long, evidence=(Evidence(37, long),))
    found = found.advising(long, title=long)
    report = found.report
    event = Event(report, service=sign * 2000, name=sign * 2000, note=sign * 5000)

    for body in (teams_card.message(event), teams_card.digest([Brief.of(event)] * 30)):
        assert len(body) <= 28 * 1024
        assert texts(body)


def test_several_are_told_together():
    named, other = Brief.of(Event(failure().report, service="a")), Brief.of(Event(unknown().report))
    told = texts(teams_card.digest([named] * 3 + [other]))

    assert told[0] == "4 more incidents"
    assert told[1].startswith("3 × kv_cache_oom/context_exceeds_cache in a: The KV cache")


def test_an_incident_is_told_once_and_tried_again(serve):
    """A workflow that is busy is asked again, no sooner than it says; what it refuses is not repeated."""
    with Loopback(lambda _: Reply(202)) as teams:
        teams.planned.append(Reply(429, headers={"Retry-After": "0"}))
        service = serve(teams=[TeamsSettings(url=f"{teams.url}/workflows/secret")])
        for _ in range(3):
            report, incident = service.chat.context.triage(LOG, service="chat")
            service.chat.notify(report, incident, service="chat")
        wait_until(lambda: len(teams.calls) == 2)
        service.settle()

        assert [call.path for call in teams.calls] == ["/workflows/secret"] * 2
        assert "kv_cache_oom" in " ".join(texts(teams.calls[1].body))
        assert teams.calls[0].body == teams.calls[1].body


@pytest.mark.parametrize("fields", [{}, {"url": "ftp://a"}, {"url": "https://u:p@a/"}, {"url": "https://a", "x": 1}])
def test_settings_that_are_no_use(fields: dict[str, Any]):
    with pytest.raises(ValidationError) as error:
        TeamsSettings(**fields)
    assert "u:p" not in str(error.value)


def test_a_card_holds_the_evidence_to_unfold():
    """Its lines are text runs, as everything of a log; a card that would be too large has less of it, or none."""
    report = triage("\n".join(failing(before=300, after=300)))
    body = teams_card.message(Event(report))
    (action,) = json.loads(body)["attachments"][0]["content"]["actions"]
    lines = [run["text"] for block in action["card"]["body"] for run in block["inlines"]]

    assert "Action.ShowCard" == action["type"]
    assert any(FAILURE in line for line in lines)
    assert len(body) <= 28 * 1024
