"""Who looks after an incident, who is signed in, and what a first visitor sees."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.service.web.helpers import until
from tests.service.web.server import Memory
from tests.service.web.test_accessible import violations


@pytest.fixture
def incident(filled: Memory) -> dict[str, Any]:
    found: dict[str, Any] = next(iter(filled.stored.values()))["incident"]
    return found


def test_an_incident_is_acknowledged_muted_and_assigned(
    address: str, filled: Memory, incident: dict[str, Any], open_page: Callable[..., Any]
):
    """By the keyboard alone; the list tells it, and finds it again."""
    filled.me |= {"name": "kim", "scopes": ["read", "operate"]}
    tab = open_page(f"{address}incidents/{incident['id']}")
    tab.focus(".handling button:has-text('Acknowledge')")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".handling >> text=Acknowledged (by kim)")
    assert "acknowledged" == incident["state"]

    tab.focus(".handling button:has-text('Assign …')")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('#assignee').value", "kim")
    assert [] == violations(tab)
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".handling >> text=assigned to kim")

    tab.focus(".handling button:has-text('Mute …')")
    tab.keyboard.press("Enter")
    tab.select_option("#mute", "day")
    tab.click(".handling button:has-text('Save')")
    tab.wait_for_selector(".handling >> text=Muted: no messages to chats")
    ends = datetime.fromisoformat(incident["muted_until"]) - datetime.now(UTC)
    assert timedelta(hours=23) < ends < timedelta(hours=25)
    assert [] == violations(tab)

    tab.goto(f"{address}history?judged=muted")
    tab.wait_for_selector(".incidents >> text=assigned to kim")
    assert 1 == tab.locator(".incidents li").count()


def test_what_cannot_be_changed_says_why(
    address: str, filled: Memory, incident: dict[str, Any], open_page: Callable[..., Any]
):
    tab = open_page(f"{address}incidents/{incident['id']}", expected=("403",))
    tab.wait_for_selector(".handling")
    problem = {"title": "The API key does not allow this", "detail": "It lacks operate.", "status": 403}
    filled.faults[f"/v1/incidents/{incident['id']}"] = 403, problem
    tab.click(".handling button:has-text('Acknowledge')")
    tab.wait_for_selector(".handling [role=alert]:has-text('It lacks operate.')")
    tab.click(".handling button:has-text('Back')")
    tab.wait_for_selector(".handling >> text=Not acknowledged")


def test_who_may_only_read_is_offered_no_more(
    address: str, filled: Memory, incident: dict[str, Any], open_page: Callable[..., Any]
):
    filled.me = {"name": "kim@example.com", "scopes": ["read"], "signed_in": True, "sign_in": "/auth/login"}
    tab = open_page(f"{address}incidents/{incident['id']}")
    tab.wait_for_selector(".handling:not(:has(button)) >> text=Not acknowledged")
    tab.wait_for_selector("[aria-label='Was this right?']", state="detached")


def test_who_is_signed_in_is_named_and_may_leave(address: str, filled: Memory, open_page: Callable[..., Any]):
    filled.me = {"name": "kim@example.com", "scopes": ["read"], "signed_in": True, "sign_in": "/auth/login"}
    tab = open_page(f"{address}history")
    tab.wait_for_selector("text=kim@example.com")
    assert [] == violations(tab)
    tab.click("text=Sign out")
    tab.wait_for_selector("header >> text=Sign in")
    assert tab.get_attribute("header a.button", "href").endswith("/auth/login?after=%2F")


def test_who_is_not_signed_in_is_offered_to(address: str, memory: Memory, open_page: Callable[..., Any]):
    """And comes back to where they were."""
    memory.key = "secret"
    memory.me["sign_in"] = "/auth/login"
    tab = open_page(f"{address}history?bucket=nccl_hang", expected=("401",))
    tab.wait_for_selector("dialog >> text=Sign in instead")
    assert "after=%2Fhistory%3Fbucket%3Dnccl_hang" in tab.get_attribute("dialog a", "href")
    assert [] == violations(tab)


@pytest.mark.parametrize("width", [390, 1280])
def test_a_first_visitor_sees_an_answer(address: str, open_page: Callable[..., Any], width: int):
    """Of the engine behind the page; the whole of it is a click away."""
    tab = open_page(address, width=width)
    tab.wait_for_selector(".recent >> text=What comes back")
    assert "First fix" in tab.inner_text(".recent")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert [] == violations(tab)
    tab.click("text=See the whole answer")
    tab.wait_for_selector(".report")
