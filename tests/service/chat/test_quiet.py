"""Who is not told: of what is muted, and of other tenants' incidents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.service.chat.conftest import FAILED
from tests.service.chat.loopback import wait_until
from tests.service.samples import failure
from vllm_triage.service.chat.interface import Event, selects
from vllm_triage.service.chat.settings import Selection
from vllm_triage.service.history import Change

REPORT = failure().report


@pytest.fixture
def told(service) -> Callable[..., int]:
    """Have an occurrence told; return how many messages there are then."""

    def tell(name: str, tenant: str = "") -> int:
        incident = service.history.record(REPORT, service=name, tenant=tenant)
        service.chat.notify(REPORT, incident, service=name, tenant=tenant)
        service.settle()
        wait_until(lambda: not service.chat.figures.waiting)
        return len(service.slack.posted)

    return tell


def test_a_muted_incident_is_counted_and_not_told(service, told):
    """When the mute is over, the next window tells it."""
    _, incident = service.chat.context.triage(FAILED.encode(), service="chat")
    service.history.handle(incident.id, Change(state="muted"))
    event: Any = (service.history.incident(incident.id).report, incident)
    service.chat.notify(*event, service="chat")
    service.settle()
    assert (0, 1) == (len(service.slack.posted), service.chat.figures.deliveries["", "muted"])

    service.history.handle(incident.id, Change(state="open"))
    service.chat.context.forget(f"incident:{incident.fingerprint}:chat")
    service.chat.notify(*event, service="chat")
    service.settle()
    assert 1 == len(service.slack.posted)


def test_a_tenants_incident_is_not_told_to_everybody(told):
    assert 0 == told("chat", "acme")
    # The same failure of nobody in particular has a window of its own.
    assert 1 == told("chat")


@pytest.mark.parametrize(
    ("tenants", "tenant", "wanted"),
    [((), "", True), ((), "acme", False), (("acme",), "acme", True), (("acme",), "", False), (("acme", ""), "", True)],
)
def test_targets_name_the_tenants_that_they_want(tenants, tenant, wanted):
    assert wanted == selects(Selection(tenants=frozenset(tenants)), Event(REPORT, tenant=tenant))
