"""The history: filters, paging, the chart and its numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.service.web.helpers import until
from tests.service.web.server import Memory


def rows(tab: Any) -> list[str]:
    found: list[str] = tab.locator(".incidents code").all_inner_texts()
    return found


def test_incidents_are_listed_latest_first_and_open(address: str, filled: Memory, open_page: Callable[..., Any]):
    tab = open_page(f"{address}history")
    tab.wait_for_selector(".incidents li")
    latest = sorted((entry["incident"] for entry in filled.stored.values()), key=lambda row: row["last_seen"])[::-1]
    assert [row["cause"] for row in latest] == rows(tab)
    tab.click(".incidents a >> nth=0")
    tab.wait_for_selector(".report")
    assert latest[0]["title"] == tab.inner_text("h1")
    tab.go_back()
    tab.wait_for_selector(".incidents li")


def test_filters_narrow_the_list_and_stand_in_the_address(address: str, filled: Memory, open_page: Callable[..., Any]):
    tab = open_page(f"{address}history")
    tab.wait_for_selector(".incidents li")
    tab.locator("#of-bucket option[value=nccl_hang]").wait_for(state="attached")
    tab.select_option("#of-bucket", "nccl_hang")
    until(tab, "document.querySelectorAll('.incidents li').length", 1)
    assert ["nccl_hang/silent_distributed_init"] == rows(tab)
    assert tab.url.endswith("history?bucket=nccl_hang")
    tab.fill("#q", "nothing like it")
    tab.wait_for_selector("text=Nothing matches")
    tab.goto(f"{address}history?service=chat")
    tab.wait_for_selector(".incidents li")
    incidents = [entry["incident"] for entry in filled.stored.values()]
    assert sorted(row["cause"] for row in incidents if row["service"] == "chat") == sorted(rows(tab))
    assert "chat" == tab.input_value("#of-service")


def test_answers_that_were_said_wrong_or_are_unknown_are_found(
    address: str, filled: Memory, open_page: Callable[..., Any], tmp_path: Path
):
    """By one choice, which stands in the address; and what is listed can be taken along."""
    wrong = next(entry["incident"] for entry in filled.stored.values() if entry["incident"]["bucket"] != "unknown")
    wrong["feedback"] = "wrong"
    tab = open_page(f"{address}history")
    tab.wait_for_selector(".incidents li")
    tab.select_option("#judged", "wrong")
    until(tab, "document.querySelectorAll('.incidents li').length", 1)
    assert [wrong["cause"]] == rows(tab)
    assert tab.url.endswith("history?judged=wrong")
    with tab.expect_download() as saved:
        tab.click("text=Export")
    saved.value.save_as(tmp_path / "saved.jsonl")
    assert [wrong["id"]] == [json.loads(line)["id"] for line in (tmp_path / "saved.jsonl").read_text().splitlines()]
    tab.goto(f"{address}history?judged=unknown")
    tab.wait_for_selector("text=Nothing matches")
    assert [] == rows(tab)


def test_messages_that_wait_are_told(address: str, filled: Memory, open_page: Callable[..., Any]):
    """How many, for whom, since when; and what was given up, with its reason."""
    filled.lanes = [
        {
            "target": "slack",
            "waiting": 3,
            "since": "2026-11-02T10:02:00.000Z",
            "failed": 1,
            "reason": "channel_not_found",
        },
        {"target": "ops", "waiting": 0, "since": None, "failed": 0, "reason": ""},
    ]
    tab = open_page(f"{address}history")
    tab.wait_for_selector(".mail:not([hidden])")
    words = tab.inner_text(".mail")
    assert words.startswith("3 messages wait for slack since ")
    assert words.endswith("1 message could not be delivered to slack (channel_not_found).")


def test_more_are_shown_on_demand(address: str, filled: Memory, open_page: Callable[..., Any]):
    (entry, *_) = filled.stored.values()
    for number in range(120):
        filled.record(entry["report"], f"s{number}", "")
    tab = open_page(f"{address}history")
    tab.wait_for_selector(".incidents li")
    assert 50 == len(rows(tab))
    tab.click("text=Show more")
    until(tab, "document.querySelectorAll('.incidents li').length", 100)
    tab.click("text=Show more")
    tab.wait_for_selector("text=Show more", state="hidden")
    assert len(filled.stored) == len(rows(tab))


def test_the_chart_has_the_numbers_of_the_history(address: str, filled: Memory, open_page: Callable[..., Any]):
    tab = open_page(f"{address}history?span=month")
    tab.wait_for_selector(".overtime svg")
    times = [time for entry in filled.stored.values() for time in entry["incident"]["times"]]
    counted = tab.locator(".astable td").evaluate_all(
        "all => all.reduce((sum, one) => sum + Number(one.textContent), 0)"
    )
    assert len(times) == counted
    assert f"{len(times)} in " in tab.get_attribute(".overtime svg", "aria-label")
    drawn = tab.locator(".overtime rect title").evaluate_all(
        "all => all.reduce((sum, one) => sum + Number(one.textContent.split(': ')[1]), 0)"
    )
    assert len(times) == drawn
    tab.click("ul.legend button >> nth=0")
    until(
        tab,
        "new Set([...document.querySelectorAll('.incidents code')].map((one) => one.textContent.split('/')[0])).size",
        1,
    )


def test_hours_of_a_day(address: str, filled: Memory, open_page: Callable[..., Any]):
    (entry, *_) = filled.stored.values()
    filled.record(entry["report"], "now", "", datetime.now(UTC))
    tab = open_page(f"{address}history?span=day")
    tab.wait_for_selector(".overtime svg")
    assert "By hour" == tab.inner_text(".overtime h2")


def test_an_empty_history_says_so(address: str, open_page: Callable[..., Any]):
    tab = open_page(f"{address}history")
    tab.wait_for_selector("text=Nothing has been triaged here")
    assert 0 == tab.locator(".overtime svg").count()
