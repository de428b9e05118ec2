"""What a person sees when the service, the network or the address is not as it should be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI

from tests.service.web.helpers import FAILURE, LOGS
from tests.service.web.server import Memory, make_app


def ask(tab: Any) -> None:
    tab.fill("#log", "ERROR 11-02 09:15:01 [core.py:1] x")
    tab.press("#log", "Control+Enter")


@pytest.mark.parametrize(
    ("status", "problem", "words"),
    [
        (
            413,
            {"title": "The log is too large", "detail": "At most 2 GiB."},
            ["The log is too large", "At most 2 GiB."],
        ),
        (429, {"title": "Too many requests", "request_id": "req_7"}, ["Too many requests", "request req_7"]),
        (502, {}, ["The service behind the proxy does not answer."]),
        (500, {"title": 7, "detail": None}, ["The server answered 500"]),
    ],
)
def test_problems_are_told_in_words_and_can_be_tried_again(
    address: str, memory: Memory, open_page: Callable[..., Any], status: int, problem: dict[str, Any], words: list[str]
):
    memory.faults["/v1/triage/stream"] = (status, problem)
    tab = open_page(address, expected=(str(status),))
    ask(tab)
    tab.wait_for_selector("section[role=alert]")
    for text in words:
        assert text in tab.inner_text("section[role=alert]")
    memory.faults.clear()
    tab.click("button:text('Try again')")
    tab.wait_for_selector(".report")


def test_a_key_is_asked_for_once_kept_for_the_tab_and_not_beyond(
    address: str, filled: Memory, open_page: Callable[..., Any]
):
    filled.key = "secret"
    tab = open_page(f"{address}history", expected=("401",))
    tab.fill("#api-key", "wrong")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("dialog >> text=The key was not accepted")
    tab.fill("#api-key", "secret")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".incidents li")
    assert "password" not in tab.evaluate("JSON.stringify(localStorage)")
    assert "secret" not in tab.evaluate("JSON.stringify(localStorage) + document.cookie + location.href")
    tab.reload()
    tab.wait_for_selector(".incidents li")
    other = open_page(f"{address}history", expected=("401",))
    other.wait_for_selector("#api-key")


def test_a_key_is_asked_for_before_a_log_is_read(address: str, memory: Memory, open_page: Callable[..., Any]):
    memory.key = "secret"
    tab = open_page(address, expected=("401",))
    ask(tab)
    tab.fill("#api-key", "secret")
    tab.click("dialog >> text=Continue")
    tab.wait_for_selector(".report")


def test_without_a_network_the_log_stays_and_can_be_sent_later(address: str, open_page: Callable[..., Any]):
    tab = open_page(address, expected=("ERR_INTERNET_DISCONNECTED",))
    tab.context.set_offline(True)
    ask(tab)
    tab.wait_for_selector("text=You are offline")
    tab.context.set_offline(False)
    tab.click("button:text('Try again')")
    tab.wait_for_selector(".report")


def test_an_incident_that_is_gone(address: str, open_page: Callable[..., Any]):
    tab = open_page(f"{address}incidents/inc_none", expected=("404",))
    tab.wait_for_selector("text=There is no such incident")


def test_a_service_without_history_says_so_in_its_own_words(
    address: str, memory: Memory, open_page: Callable[..., Any]
):
    problem = {
        "type": "urn:vllm-triage:problem:no-history",
        "title": "This service keeps no history",
        "detail": "It is off.",
    }
    for path in ("/v1/incidents", "/v1/incidents/stats", "/v1/incidents/inc_1"):
        memory.faults[path] = (404, problem)
    for view in ("history", "incidents/inc_1"):
        tab = open_page(address + view, expected=("404",))
        tab.wait_for_selector("[role=alert] >> text=This service keeps no history")
        assert "It is off." in tab.inner_text("[role=alert]")


def test_below_a_root_path_everything_is_found(serve: Callable[[Any], str], open_page: Callable[..., Any]):
    """As behind a proxy that adds /triage: files, calls, links and the way back."""
    outer = FastAPI()
    outer.mount("/triage", make_app(Memory()))
    address = f"{serve(outer)}triage/"
    tab = open_page(address)
    tab.set_input_files("#file", LOGS / FAILURE)
    tab.wait_for_selector(".report")
    assert f"{address}incidents/inc_" in tab.url
    tab.click("nav >> text=History")
    tab.wait_for_selector(".incidents li")
    assert f"{address}history" == tab.url
    tab.click(".incidents a")
    tab.wait_for_selector(".report")
    tab.reload()
    tab.wait_for_selector(".report")
    tab.click(".brand")
    tab.wait_for_selector("#log")
    assert address == tab.url
