"""The page on the real service: ``create_app`` with a SQLite history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.web.helpers import FAILURE, LOGS, until
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.settings import Settings


@pytest.fixture
def place(tmp_path: Path, serve: Callable[[Any], str]) -> str:
    """A service with a history that is empty: tests count what is in it."""
    database = tmp_path / "incidents.db"
    return serve(create_app(Settings(database=f"sqlite:///{database}", rate_limit=0)))


def triaged(tab: Any, path: Path) -> None:
    tab.set_input_files("#file", path)
    tab.wait_for_selector(".report")


def test_from_a_file_to_the_history_and_back(place: str, open_page: Callable[..., Any]):
    """Triage twice, look at it by its link, say that it was wrong, find it in the history and in the chart."""
    for _ in range(2):
        tab = open_page(place)
        tab.fill("#service", "chat")
        triaged(tab, LOGS / FAILURE)
    assert "Seen 2 times in chat" in tab.inner_text(".seen")
    other = open_page(tab.url)
    other.wait_for_selector(".report")
    assert "37" in other.locator(".loglines .cause .no").all_inner_texts()
    other.click("button.id")
    other.wait_for_selector(".meaning >> text=No room for the KV cache")
    other.click("text=Wrong, it was")
    other.locator("#was option[value=runtime_oom]").wait_for(state="attached")
    other.select_option("#was", "runtime_oom")
    other.click("button:text('Send')")
    other.wait_for_selector(".judged.wrong")
    other.click("nav >> text=History")
    other.wait_for_selector(".incidents .mark.wrong")
    other.wait_for_selector(".overtime svg")
    until(
        other, "[...document.querySelectorAll('.astable td')].reduce((sum, one) => sum + Number(one.textContent), 0)", 2
    )
    other.fill("#of-service", "elsewhere")
    other.wait_for_selector("text=Nothing matches")


def test_a_file_that_is_no_log(place: str, open_page: Callable[..., Any]):
    tab = open_page(place, expected=("422",))
    tab.set_input_files("#file", {"name": "a.bin", "mimeType": "", "buffer": bytes(range(256)) * 40})
    tab.wait_for_selector("section[role=alert] >> text=The body is no log")


@pytest.mark.slow
def test_a_big_log_is_answered_at_first_glance_and_then_in_full(
    place: str, open_page: Callable[..., Any], tmp_path: Path
):
    path = tmp_path / "big.log"
    with path.open("wb") as file:
        file.write((LOGS / FAILURE).read_bytes())
        block = b"(APIServer pid=7) INFO 11-02 09:14:03 [loggers.py:257] Engine 000: nothing to tell\n" * 10_000
        while file.tell() < 40_000_000:
            file.write(block)
    tab = open_page(place)
    with tab.expect_response(lambda answer: "store=false" in answer.url) as glance:
        triaged(tab, path)
    assert 200 == glance.value.status
    assert "37" == tab.inner_text(".chip.cause span")
    path.unlink()


def test_a_service_that_wants_a_key_and_keeps_no_history(serve: Callable[[Any], str], open_page: Callable[..., Any]):
    from vllm_triage.service.http.keys import make_key

    key, line = make_key("web", ["triage", "read"])
    address = serve(create_app(Settings(database="none", require_key="yes", api_keys=(line,), rate_limit=0)))
    tab = open_page(address, expected=("401", "404"))
    assert tab.is_visible("#keep"), "without the key nothing is known of the history"
    tab.set_input_files("#file", LOGS / FAILURE)
    tab.fill("#api-key", key)
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".report")
    assert 0 == tab.locator(".judge").count()
    tab.click("nav >> text=History")
    tab.wait_for_selector("text=This service keeps no history")
    tab.click("nav >> text=Triage")
    tab.locator("#keep").wait_for(state="hidden")


def test_a_wrong_address_is_answered_with_a_page(place: str, open_page: Callable[..., Any]):
    """For people; programs get the problem as JSON."""
    tab = open_page(f"{place}nosuch/path", expected=("404",))
    assert tab.inner_text("h1") == "Not found"
    assert tab.locator("a").get_attribute("href") == "../"
