"""What nobody has named: groups, their rules as files, what is said where there are none; axe in both themes, two sizes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.service.web.helpers import until
from tests.service.web.server import Memory
from tests.service.web.test_accessible import violations

NOW = datetime.now(UTC)
RULE = """# Proposed by vllm-triage: 8 logs.
id = "found_0a1b2c3d"
title = "RuntimeError: harbor plugin refused berth"

[[cause]]
id = "harbor_plugin"
"""
LINE = "acme.harbour.MooringError: the third bollard of /srv/acme/harbour/quays/third-quay/bollards.yaml is missing"


def group(memory: Memory, number: int, **more: Any) -> dict[str, Any]:
    """Return a group whose examples are incidents that there are."""
    examples = [
        {"line": f"{LINE} ({number}.{place})", "incident": key, "service": service}
        for place, (key, service) in enumerate(zip(memory.stored, ("chat", "", "search"), strict=False))
    ]
    return {
        "id": f"{number:08x}", "logs": 8, "incidents": 3, "first_seen": (NOW - timedelta(days=9)).isoformat(),
        "last_seen": NOW.isoformat(), "releases": ["0.19.1", "0.32.0"], "nearest": "kv_cache_oom", "examples": examples,
        "rule": RULE, "covers": 3, "problem": "", **more,
    }  # fmt: skip


@pytest.fixture
def found(filled: Memory) -> Memory:
    """A service with two groups, one of them without a rule."""
    bare = group(filled, 2, rule="", covers=0, problem="its lines share too little, or share it with harmless ones")
    groups = [group(filled, 1), bare]
    filled.unnamed |= {"groups": groups, "incidents": 9, "alone": 3, "made": NOW.isoformat()}
    return filled


def test_groups_are_shown_with_their_rules(address: str, found: Memory, open_page: Callable[..., Any], tmp_path: Path):
    """How many, since when, which releases, three lines that lead to their incidents, and the rule as a file."""
    tab = open_page(f"{address}unnamed")
    tab.wait_for_selector(".groups li")
    assert "8 logs3 incidentsvLLM 0.19.1, 0.32.0nearest: kv_cache_oom" in tab.inner_text(
        ".groups .facts >> nth=0"
    ).replace("\n", "")
    assert 3 == tab.locator(".groups > li >> nth=0").locator(".line").count()
    assert "9 incidents without a name in 2 groups, 3 incidents alone." in tab.inner_text("[role=status].waiting")
    assert "No rule is proposed: its lines share too little" in tab.inner_text(".groups > li >> nth=1")
    tab.click("text=Proposed rule")
    with tab.expect_download() as saved:
        tab.click("text=Download TOML")
    assert "found_00000001.toml" == saved.value.suggested_filename
    saved.value.save_as(tmp_path / "saved.toml")
    assert RULE == (tmp_path / "saved.toml").read_text("utf-8")
    tab.click(".groups .line >> nth=0")
    tab.wait_for_selector(".report")


def test_the_keyboard_is_enough(address: str, found: Memory, open_page: Callable[..., Any]):
    """There, from group to group, into the rule and the incident."""
    tab = open_page(address)
    tab.keyboard.press("Escape")
    tab.keyboard.press("u")
    tab.wait_for_selector(".groups li")
    assert "Not named yet" == tab.inner_text("h1")
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    until(tab, "document.activeElement.textContent.includes('(2.0)')", True)
    tab.keyboard.press("k")
    until(tab, "document.activeElement.textContent.includes('(1.0)')", True)
    for _ in range(3):
        tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.matches('summary')")
    tab.keyboard.press("Enter")
    assert tab.is_visible("text=Download TOML")
    tab.keyboard.press("j")
    tab.keyboard.press("k")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".report")


@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(address: str, found: Memory, open_page: Callable[..., Any], width: int):
    """With a rule opened; and nothing is wider than the screen."""
    found.unnamed["problem"] = "It took longer than 120 seconds."
    tab = open_page(f"{address}unnamed", width=width)
    tab.wait_for_selector(".groups li")
    tab.click("text=Proposed rule")
    assert [] == violations(tab)
    assert width >= tab.evaluate("document.documentElement.scrollWidth")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "Nothing has been triaged here yet."),
        ({"made": NOW.isoformat()}, "Every failure of this history was answered by a rule"),
        ({"made": NOW.isoformat(), "incidents": 2, "alone": 2}, "No group of three logs with the same error yet: 2 incidents without a name"),
    ],
)  # fmt: skip
def test_where_there_is_none_it_says_so(
    address: str, memory: Memory, open_page: Callable[..., Any], answer: dict[str, Any], words: str
):
    """An empty history, one where all is named, one where each stands alone."""
    memory.unnamed |= answer
    tab = open_page(f"{address}unnamed")
    tab.wait_for_selector(f"text={words}")
    assert [] == violations(tab)


def test_what_is_worked_out_comes_by_itself(address: str, found: Memory, open_page: Callable[..., Any]):
    """Without a click; and a rule that is open stays so when nothing has changed."""
    known = dict(found.unnamed)
    found.unnamed |= {"groups": [], "incidents": 0, "made": None, "pending": True}
    tab = open_page(f"{address}unnamed")
    tab.wait_for_selector("text=Looking for what failures have in common")
    found.unnamed |= known | {"pending": True}
    tab.wait_for_selector(".groups li")
    tab.click("text=Proposed rule")
    found.unnamed["pending"] = False
    tab.wait_for_selector("text=looking again", state="detached")
    assert tab.is_visible("text=Download TOML")


def test_words_of_a_log_stay_words(address: str, found: Memory, open_page: Callable[..., Any]):
    """Whatever stands in a line or in a rule becomes no element."""
    evil = "<img src=x onerror=alert(1)>"
    found.unnamed["groups"][0]["examples"][0]["line"] = evil
    found.unnamed["groups"][0]["rule"] = evil
    tab = open_page(f"{address}unnamed")
    tab.wait_for_selector(".groups li")
    assert [evil, evil] == [tab.inner_text(".groups .line >> nth=0"), tab.locator(".groups pre").text_content()]
    assert 0 == tab.locator("main img").count()


def test_a_problem_offers_another_try(address: str, memory: Memory, open_page: Callable[..., Any]):
    """In its own words."""
    memory.faults["/v1/unnamed"] = (
        503,
        {"title": "The history cannot be reached", "status": 503, "detail": "Try again."},
    )
    tab = open_page(f"{address}unnamed", expected=("503",))
    tab.wait_for_selector("[role=alert] >> text=The history cannot be reached")
    memory.faults.clear()
    tab.click("text=Try again >> nth=-1")
    tab.wait_for_selector("text=Nothing has been triaged here yet.")
