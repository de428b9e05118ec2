"""Acknowledged, muted, assigned: on both databases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.service.history.reports import report
from vllm_triage.service.history import Change, Filter


def listed(history: Any, **wanted: Any) -> list[str]:
    return [incident.service for incident in history.incidents(Filter(**wanted)).items]


def test_what_a_person_does_is_seen_in_lists_and_details(history, clock):
    """Each change leaves what it does not name."""
    got = history.record(report(), service="chat")
    assert ("open", "", None) == (got.state, got.assignee, got.handled_at)

    taken = history.handle(got.id, Change(state="acknowledged", by="kim"))
    clock.forward(minutes=1)
    named = history.handle(got.id, Change(assignee="  lou\n", by="max"))
    [row] = history.incidents(Filter()).items
    details = history.incident(got.id)

    assert ("acknowledged", "kim", "") == (taken.state, taken.handled_by, taken.assignee)
    assert ("acknowledged", "max", "lou", clock()) == (named.state, named.handled_by, named.assignee, named.handled_at)
    assert named == row == details.incident


def test_a_mute_ends_by_itself(history, clock):
    """Or never, or when somebody takes it back."""
    got = history.record(report(), service="chat")
    until = clock() + timedelta(hours=1)
    muted = history.handle(got.id, Change(state="muted", until=until))
    assert ("muted", until, True) == (muted.state, muted.muted_until, history.muted(got.id))

    clock.forward(hours=1)
    [row] = history.incidents(Filter(state="open")).items
    assert ("open", None, False) == (row.state, row.muted_until, history.muted(got.id))

    history.handle(got.id, Change(state="muted"))
    clock.forward(days=30)
    assert history.muted(got.id)
    history.handle(got.id, Change(state="open"))
    assert not history.muted(got.id)


def test_lists_by_state_and_person(history):
    for service in ("a", "b", "c"):
        history.record(report(), service=service)
    a, b, _ = sorted(history.incidents(Filter()).items, key=lambda incident: incident.service)
    history.handle(a.id, Change(state="muted"))
    history.handle(b.id, Change(state="acknowledged", assignee="kim"))

    assert (["a"], ["b"], ["c"]) == tuple(listed(history, state=state) for state in ("muted", "acknowledged", "open"))
    assert ["b"] == listed(history, assignee="kim")


@pytest.mark.parametrize(
    ("state", "hours", "words"),
    [
        ("closed", None, "one of open, acknowledged, muted"),
        (None, 1, "goes with the state muted"),
        ("muted", -1, "in the past"),
    ],
)
def test_what_makes_no_sense_is_refused(history, clock, state, hours, words):
    got = history.record(report())
    change = Change(state, None if hours is None else clock() + timedelta(hours=hours))
    with pytest.raises(ValueError, match=words):
        history.handle(got.id, change)
    assert history.incident(got.id).incident.handled_at is None


def test_an_incident_that_is_not_there(history):
    with pytest.raises(KeyError):
        history.handle("inc_none", Change(state="muted"))
    assert not history.muted("inc_none")


def test_it_goes_with_its_incident(history):
    got = history.record(report())
    history.handle(got.id, Change(state="muted"))
    assert history.remove(got.id)
    again = history.record(report())
    assert ("open", False) == (history.incident(again.id).incident.state, history.muted(again.id))
