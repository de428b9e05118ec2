"""Incidents are looked up where they are kept."""

from __future__ import annotations

import pytest

from tests.service.history.reports import report
from vllm_triage.service.agents.incidents import in_database, of_service
from vllm_triage.service.agents.interface import CannotError


@pytest.fixture
def kept(tmp_path) -> tuple[str, str]:
    """The URL of a history, and the id of the incident in it."""
    history_room = pytest.importorskip("vllm_triage.service.history")
    url = f"sqlite:///{tmp_path}/history.db"
    history = history_room.History(url)
    history.upgrade()
    name = history.record(report()).id
    history.close()
    return url, name


def test_a_history_of_this_machine(kept):
    url, name = kept
    find = in_database(url)

    found = find(name)
    assert found is not None
    assert found.cause == "kv_cache_oom/context_exceeds_cache"
    assert [find("inc_none"), find("../../x")] == [None, None]


def test_a_history_that_cannot_be_opened():
    with pytest.raises(CannotError, match="cannot be opened"):
        in_database("postgresql://nobody@127.0.0.1:1/none")("inc_1")


def test_a_service_that_does_not_answer():
    with pytest.raises(CannotError, match="cannot be reached"):
        of_service("http://127.0.0.1:1")("inc_1")


def test_what_is_no_id_is_asked_of_nobody():
    """It would become a part of a path."""
    assert of_service("http://127.0.0.1:1")("../triage") is None
