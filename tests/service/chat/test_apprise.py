"""Everything else, through Apprise: here its own target for JSON, on loopback."""

from __future__ import annotations

import json

import pytest

from tests.service.chat.loopback import Loopback, Reply, wait_until
from tests.service.samples import failure, unknown
from vllm_triage.service.chat.interface import Brief, Event
from vllm_triage.service.chat.platforms.apprise import AppriseSettings, AppriseTarget, adapter

pytest.importorskip("apprise")
LOG = b"INFO: start\nValueError: No available memory for the cache blocks.\n"


def test_an_incident_is_told_once_and_tried_again(serve):
    with Loopback() as receiver:
        receiver.planned.append(Reply(500))
        service = serve(apprise=[AppriseSettings(url=receiver.url.replace("http://", "json://") + "/hook")])
        for _ in range(3):
            report, incident = service.chat.context.triage(LOG, service="chat")
            service.chat.notify(report, incident, service="chat")
        wait_until(lambda: len(receiver.calls) == 2)
        service.settle()
        told = [json.loads(call.body) for call in receiver.calls]

    assert len(told) == 2
    assert told[1]["title"].startswith("✖ Nothing is left for the KV cache")
    for part in (
        "kv_cache_oom/no_cache_blocks",
        "2: ValueError: No available memory",
        "https://triage.example/incidents/",
    ):
        assert part in told[1]["message"]


def test_several_are_told_together():
    with Loopback() as receiver:
        target = AppriseTarget(AppriseSettings(url=receiver.url.replace("http://", "json://")))
        target.digest([Brief.of(Event(failure().report))] * 2 + [Brief.of(Event(unknown().report))])
        told = json.loads(receiver.calls[0].body)

    assert told["title"] == "3 more incidents"
    assert told["message"].splitlines()[0].startswith("2 × kv_cache_oom/context_exceeds_cache")


def test_an_address_that_apprise_does_not_know_is_refused_at_the_start():
    """By the name of the target: the address may hold a password."""
    with pytest.raises(ValueError, match="apprise ops: Apprise cannot read its url") as error:
        adapter((AppriseSettings(url="nosuch://user:s3cret@host", name="ops"),))
    assert "s3cret" not in str(error.value)


def test_its_log_stays_silent(caplog):
    with Loopback(lambda _: Reply(500)) as receiver, caplog.at_level("DEBUG"):
        target = AppriseTarget(AppriseSettings(url=receiver.url.replace("http://", "json://user:s3cret@")))
        with pytest.raises(Exception, match="not delivered"):
            target.send(Event(failure().report))

    assert "s3cret" not in caplog.text
