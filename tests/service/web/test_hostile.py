"""A log is written by strangers: nothing in it becomes markup, script, a link or a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.service.web.helpers import FAILURE, LOGS
from tests.service.web.server import Memory

ATTACKS = (
    "<script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    "<svg/onload=window.hit=1>",
    "\"><iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "javascript:window.hit=1",
    "</textarea></pre></code><style>*{display:none}</style>",
    "{{constructor.constructor('window.hit=1')()}}",
    "\u202e\u2066gnp.exe",
    "\x1b]8;;javascript:window.hit=1\x07click\x1b]8;;\x07\x1b[31mred",
)
COUNT = """() => ({
  hit: window.hit ?? 0,
  made: document.querySelectorAll("main :is(script, img, iframe, object, embed, style, base, form[action])").length,
  links: [...document.querySelectorAll("main a")].filter((a) => !/^https?:/.test(a.href)).length,
})"""
INERT = {"hit": 0, "made": 0, "links": 0}


def poisoned(attack: str) -> bytes:
    """Return a log whose model, process, lines, error and host hold an attack."""
    text = (LOGS / FAILURE).read_text()
    text = text.replace("acme/harbor-8b-instruct", attack.replace("'", "")).replace("models's max", f"{attack} max")
    return (
        f"({attack} pid=7) {attack}\n" + text + f"\n(Worker pid=9) ERROR 11-02 09:15:01 [x.py:1] {attack}\n"
    ).encode()


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_poisoned_log_is_shown_as_text(triage_file: Callable[..., Any], open_page: Callable[..., Any], attack: str):
    """In the report, the viewer, the stored incident and the history."""
    tab = triage_file({"name": f"{attack}.log".replace("/", ""), "mimeType": "", "buffer": poisoned(attack)})
    tab.wait_for_selector(".rows .logline")
    tab.fill(".find input", attack[:12])
    tab.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")
    for form in tab.locator("[role=tab]").all():
        form.click()
    assert INERT == tab.evaluate(COUNT)
    other = open_page(tab.url)
    other.wait_for_selector(".report")
    assert INERT == other.evaluate(COUNT)
    other.goto(tab.url.split("incidents/")[0] + "history")
    other.wait_for_selector(".incidents li")
    assert INERT == other.evaluate(COUNT)


def test_a_hostile_server_s_texts_are_text_too(address: str, memory: Memory, open_page: Callable[..., Any]):
    """Problems, buckets and incidents come through whatever stands in front of the service."""
    attack = ATTACKS[1]
    memory.faults["/v1/triage/stream"] = (500, {"title": attack, "detail": attack, "request_id": attack})
    memory.faults["/v1/incidents"] = (200, {"items": [{"id": "../../evil", "title": attack, "cause": attack, "bucket": attack,
                                                        "confidence": 1, "last_seen": attack}], "next": None})  # fmt: skip
    tab = open_page(address, expected=("500",))
    tab.wait_for_selector(".recent li")
    assert "/incidents/..%2F..%2Fevil" in tab.locator(".recent a").first.get_attribute("href")
    assert INERT == tab.evaluate(COUNT)
    tab.fill("#log", "ERROR x")
    tab.press("#log", "Control+Enter")
    tab.wait_for_selector("section[role=alert]")
    assert attack == tab.inner_text("h1")
    assert INERT == tab.evaluate(COUNT)


def test_only_web_addresses_become_links(address: str, filled: Memory, open_page: Callable[..., Any]):
    """A source may come from anybody's rules."""
    key, stored = next(iter(filled.stored.items()))
    fix = stored["report"]["fixes"][0]
    sources = ("javascript:alert(1)", "https://docs.example/x", "data:text/html,x")
    stored["report"] = stored["report"] | {
        "fixes": [fix | {"source": source, "rank": rank} for rank, source in enumerate(sources, 1)]
    }
    tab = open_page(f"{address}incidents/{key}")
    tab.wait_for_selector(".report")
    assert ["https://docs.example/x"] == tab.locator(".fixes a").evaluate_all("all => all.map((one) => one.href)")
