"""axe finds nothing on any view, in either theme; the keys do what the list of keys says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.web.helpers import CONTRAST, FAILURE, LOGS, UNKNOWN, until
from tests.service.web.server import Memory

REPORTS = {
    "failed": LOGS / FAILURE,
    "unknown": UNKNOWN,
    "fine": LOGS / "written/stopped-from-outside.log",
    "hang": LOGS / "written/hangs-between-gpus.log",
}


def violations(tab: Any) -> list[str]:
    """Return what axe complains about in either theme, each with the elements."""
    package = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    tab.evaluate((Path(package.__file__).parent / "axe.min.js").read_text("utf-8"))
    told = []
    for theme in ("light", "dark"):
        tab.emulate_media(color_scheme=theme)
        found = tab.evaluate("axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations)")
        told += [f"{theme} {rule['id']}: {[node['html'][:150] for node in rule['nodes']]}" for rule in found]
    return told


def test_the_first_view(address: str, filled: Memory, open_page: Callable[..., Any]):
    tab = open_page(address)
    tab.wait_for_selector(".recent li")
    assert [] == violations(tab)
    tab.set_input_files("#file", REPORTS["failed"])
    assert [] == violations(tab)


@pytest.mark.parametrize("kind", REPORTS)
def test_reports(triage_file: Callable[..., Any], kind: str):
    tab = triage_file(REPORTS[kind])
    tab.wait_for_selector(".rows .logline")
    for details in tab.locator("details").all():
        details.evaluate("element => element.open = true")
    assert [] == violations(tab)


def test_a_stored_incident_on_a_small_screen(address: str, filled: Memory, open_page: Callable[..., Any]):
    tab = open_page(f"{address}incidents/{next(iter(filled.stored))}", width=360)
    tab.wait_for_selector(".report")
    assert [] == violations(tab)


def test_the_history(address: str, filled: Memory, open_page: Callable[..., Any]):
    tab = open_page(f"{address}history")
    tab.wait_for_selector(".incidents li")
    tab.wait_for_selector(".overtime svg")
    tab.click(".astable summary")
    assert [] == violations(tab)


def test_dialogs_and_problems(address: str, memory: Memory, open_page: Callable[..., Any]):
    memory.key = "secret"
    tab = open_page(address, expected=("401",))
    tab.keyboard.press("?")
    tab.wait_for_selector("dialog[open]")
    assert [] == violations(tab)
    tab.keyboard.press("Escape")
    tab.goto(f"{address}history")
    tab.wait_for_selector("#api-key")
    assert [] == violations(tab)
    tab.click("dialog >> text=Cancel")
    tab.wait_for_selector("[role=alert]")
    assert [] == violations(tab)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.usefixtures("filled")
def test_every_text_can_be_read_and_a_page_is_three_screens_at_most(
    address: str, open_page: Callable[..., Any], triage_file: Callable[..., Any], width: int, theme: str
):
    """4.5 : 1 at least, of large letters too, on the first view, a report and the history; a phone's screen is 844 high."""
    pages = {
        ".recent li": open_page(address, width=width, theme=theme),
        ".wholeline:not([hidden])": triage_file(width=width, theme=theme),
        ".incidents li": open_page(f"{address}history", width=width, theme=theme),
    }
    for there, tab in pages.items():
        tab.wait_for_selector(there)
        tab.wait_for_timeout(200)

        assert tab.evaluate(CONTRAST) == []
        assert tab.evaluate("document.documentElement.scrollHeight") < 3 * 844


@pytest.mark.parametrize("path", ["", "history", "unnamed", "incidents/{id}"])
def test_nothing_is_wider_than_a_small_screen(address: str, filled: Memory, open_page: Callable[..., Any], path: str):
    tab = open_page(address + path.format(id=next(iter(filled.stored))), width=360)
    tab.wait_for_selector(".report, .incidents li, .unnamed")
    tab.wait_for_timeout(200)
    assert 360 >= tab.evaluate("document.documentElement.scrollWidth")


@pytest.mark.usefixtures("every_fix")
def test_single_keys_move_and_act(triage_file: Callable[..., Any]):
    tab = triage_file(permissions=["clipboard-read", "clipboard-write"])
    tab.wait_for_selector(".rows .logline")
    focused = "document.activeElement.getAttribute('aria-label')"
    tab.keyboard.press("j")
    assert "Fix 1: Cap the context at what fits" == tab.evaluate(focused)
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.keyboard.press("k")
    assert "Fix 2: Let vLLM find the longest context that fits" == tab.evaluate(focused)
    tab.keyboard.press("c")
    tab.wait_for_selector(".first .copy.done")
    assert "--max-model-len 41936" == tab.evaluate("navigator.clipboard.readText()")
    tab.keyboard.press("/")
    assert "Search the log" == tab.evaluate(focused)
    tab.keyboard.type("jkn")
    assert "jkn" == tab.input_value(".find input"), "keys typed into a field are text"
    tab.keyboard.press("Escape")
    tab.keyboard.press("Escape")
    tab.keyboard.press("h")
    # Its rows come from the service, after the frame.
    tab.wait_for_selector(".history .incidents li")
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".report")
    tab.keyboard.press("n")
    tab.wait_for_selector("#log")


def test_single_keys_can_be_turned_off(address: str, open_page: Callable[..., Any]):
    tab = open_page(address)
    tab.keyboard.press("?")
    tab.uncheck("#single")
    tab.click("dialog button")
    tab.locator("dialog").wait_for(state="detached")
    tab.keyboard.press("h")
    tab.keyboard.press("?")
    assert tab.is_visible("#log")
    assert 0 == tab.locator("dialog").count()


def test_the_theme_is_kept(address: str, open_page: Callable[..., Any]):
    tab = open_page(address, theme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(paper)
    tab.click("#theme")
    assert light == tab.evaluate(paper)
    tab.click("#theme")
    dark = tab.evaluate(paper)
    assert light != dark
    tab.reload()
    assert dark == tab.evaluate(paper)


def test_results_are_told_to_those_who_listen(triage_file: Callable[..., Any]):
    tab = triage_file()
    until(tab, "document.querySelector('#say').textContent.startsWith('The KV cache cannot hold')", True)
