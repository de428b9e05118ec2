"""What a person sees and does with a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.web.helpers import FAILURE, LOGS, UNKNOWN, until
from tests.service.web.server import Memory

HEALTHY = LOGS / "written/stopped-from-outside.log"


def texts(tab: Any, selector: str) -> list[str]:
    found: list[str] = tab.locator(selector).all_inner_texts()
    return found


def test_a_pasted_log_is_answered_by_control_and_enter(address: str, open_page: Callable[..., Any]):
    """The verdict stands there with cause, confidence, server and first fix, and has the focus."""
    tab = open_page(address)
    tab.fill("#log", (LOGS / FAILURE).read_text())
    tab.press("#log", "Control+Enter")
    tab.wait_for_selector(".report.failed")
    assert "The KV cache cannot hold one request of the full context" == tab.inner_text("h1")
    assert "kv_cache_oom/context_exceeds_cache" == tab.inner_text(".identity code")
    assert "98" == tab.get_attribute("[role=meter]", "aria-valuenow")
    assert ["vLLM 0.19.1 (V1)", "harbor-8b-instruct", "TP 1", "max_model_len 131072"] == texts(tab, ".server span")
    assert "--max-model-len 41936" == tab.inner_text(".first code")
    assert "H1" == tab.evaluate("document.activeElement.tagName")


def test_the_way_from_cause_to_symptom_names_process_and_line(triage_file: Callable[..., Any]):
    tab = triage_file()
    assert ["Cause", "Only a symptom", "Only a symptom"] == texts(tab, ".chain .role")
    assert ["EngineCore", "EngineCore", "APIServer"] == texts(tab, ".chain .process")
    assert ["line 37", "line 26", "line 51"] == texts(tab, ".chain .link")
    assert texts(tab, ".chain .said")[0].startswith("ValueError: To serve at least one request")


def test_the_start_is_drawn_and_told(triage_file: Callable[..., Any]):
    tab = triage_file()
    picture = tab.get_attribute(".start svg", "aria-label")
    assert "It stopped at: KV cache." in picture
    assert "stopped here" == tab.text_content(".start .stage.last .figure")
    rows = tab.locator(".start table tbody tr").all_text_contents()
    assert "Weightsdone1214" in rows
    assert "API upnot reached––" in rows


def test_the_corrected_command_comes_in_forms_by_arrow_keys(triage_file: Callable[..., Any]):
    tab = triage_file()
    assert ["+    --max-model-len 41936"] == [line.strip("\n") for line in tab.locator(".line.ins").evaluate_all(
        "lines => lines.map((line) => line.textContent.replace('added: ', ''))")]  # fmt: skip
    tab.focus("#tab-diff")
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text("#form-shell pre").startswith("vllm serve acme/harbor-8b-instruct")
    tab.keyboard.press("End")
    assert "max_model_len=41936" in tab.inner_text("#form-python pre")
    assert 1 == tab.locator("[role=tabpanel]:visible").count()
    tab.reload()
    tab.wait_for_selector(".report")
    assert "true" == tab.get_attribute("#tab-python", "aria-selected"), "the form last chosen is chosen again"


@pytest.mark.usefixtures("every_fix")
def test_copying_and_downloading(triage_file: Callable[..., Any], tmp_path: Path):
    tab = triage_file(permissions=["clipboard-read", "clipboard-write"], accept_downloads=True)
    read = "navigator.clipboard.readText()"
    tab.click(".fix >> nth=2 >> .copy")
    tab.wait_for_selector(".copy.done")
    assert "--kv-cache-dtype fp8 --max-model-len 83872" == tab.evaluate(read)
    tab.click("text=Copy Markdown")
    tab.wait_for_selector(".actions .copy.done")
    copied = tab.evaluate(read)
    assert copied.startswith("## ✖ The KV cache cannot hold one request of the full context\n")
    assert tab.url in copied
    tab.click("text=Copy for an assistant")
    tab.evaluate("""async () => {
      for (let turn = 0; turn < 200 && !(await navigator.clipboard.readText()).includes("Answer in this form"); turn += 1)
        await new Promise((done) => setTimeout(done, 50));
    }""")
    assert "| ValueError: To serve at least one request" in tab.evaluate(read)
    with tab.expect_download() as download:
        tab.click("text=Download JSON")
    download.value.save_as(tmp_path / "report.json")
    assert "kv_cache_oom" == json.loads((tmp_path / "report.json").read_text())["bucket"]


def test_a_stored_incident_has_an_address_that_shows_it_again(
    triage_file: Callable[..., Any], open_page: Callable[..., Any]
):
    """Without the log: the lines around the cause are in the report."""
    tab = triage_file()
    assert "/incidents/inc_" in tab.url
    other = open_page(tab.url)
    other.wait_for_selector(".report")
    assert 0 == other.locator(".viewer").count()
    assert "37" in texts(other, ".loglines .cause .no")
    other.click("nav >> text=Triage")
    other.wait_for_selector("#log")


def test_an_answer_that_is_not_to_be_kept_is_not(address: str, memory: Memory, open_page: Callable[..., Any]):
    tab = open_page(address)
    tab.uncheck("#keep")
    tab.click("text=Try an example")
    tab.wait_for_selector(".report")
    assert {} == memory.stored
    assert 0 == tab.locator("text=Copy link").count()
    assert 0 == tab.locator(".judge").count()


def test_feedback_right_and_wrong(triage_file: Callable[..., Any], memory: Memory):
    tab = triage_file()
    tab.click('.judge >> text="Right"')
    tab.wait_for_selector(".judged.right")
    tab.click(".judge >> text=Change")
    tab.click("text=Wrong, it was")
    tab.locator("#was option[value=runtime_oom]").wait_for(state="attached")
    assert 0 == tab.locator("#was option[value=kv_cache_oom]").count()
    tab.select_option("#was", "runtime_oom")
    tab.fill("#note", "ran full at night")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".judged.wrong")
    (incident,) = memory.stored
    assert [
        {"incident": incident, "verdict": "right"},
        {"incident": incident, "verdict": "wrong", "bucket": "runtime_oom", "note": "ran full at night"},
    ] == memory.feedback


def test_a_kind_that_nobody_has_described_can_be_named(triage_file: Callable[..., Any], memory: Memory):
    tab = triage_file()
    tab.click("text=Wrong, it was")
    assert not tab.is_visible("#kind")
    tab.select_option("#was", label="a kind that is not in this list …")
    tab.fill("#kind", "acme_license")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".judged.wrong")
    (said,) = memory.feedback
    assert ("acme_license", True) == (said["bucket"], said["new"])


def test_what_a_bucket_means_is_told_on_demand(triage_file: Callable[..., Any]):
    tab = triage_file()
    assert not tab.is_visible(".meaning")
    tab.click("button.id")
    tab.wait_for_selector(".meaning >> text=No room for the KV cache")
    assert "true" == tab.get_attribute("button.id", "aria-expanded")


def test_an_unknown_failure_has_candidates_and_says_what_to_attach(triage_file: Callable[..., Any], memory: Memory):
    tab = triage_file(UNKNOWN)
    tab.wait_for_selector(".report.unknown")
    (stored,) = memory.stored.values()
    nearest = [other["bucket"] for other in stored["report"]["alternatives"][:4]]
    assert nearest
    assert nearest == texts(tab, ".nearest code")
    assert "from its first line on" in tab.inner_text(".attach")
    assert "the third bollard is missing" in texts(tab, ".chain .said")[0]


def test_a_healthy_log_gets_no_fixes_in_the_face(triage_file: Callable[..., Any]):
    tab = triage_file(HEALTHY)
    tab.wait_for_selector(".report.fine")
    assert 0 == tab.locator(".fix:visible").count()
    assert 0 == tab.locator(".first").count()


def test_a_fix_says_what_it_needs(address: str, filled: Memory, open_page: Callable[..., Any]):
    """A restart, the superuser, a release."""
    key, stored = next(iter(filled.stored.items()))
    fix = {**stored["report"]["fixes"][0], "restart": False, "root": True, "fixed_in": "0.21.0", "versions": ">=0.8"}
    stored["report"] = {**stored["report"], "fixes": [fix]}
    tab = open_page(f"{address}incidents/{key}")
    tab.wait_for_selector(".report")
    told = dict(line.split(maxsplit=1) for line in tab.locator(".fix .meta > div").evaluate_all(
        "rows => rows.map((row) => row.children[0].textContent.replace(' ', '-') + ' ' + row.children[1].textContent)"))  # fmt: skip
    expected = {
        "Needs": "the superuser, or access to the host",
        "Takes": "no restart",
        "vLLM": ">=0.8",
        "Fixed-in": "0.21.0",
    }
    assert expected.items() <= told.items()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_cause_line_is_never_cut_and_any_other_can_be_read_whole(triage_file: Callable[..., Any], width: int):
    """Rows are one line high; the chosen one stands below them, wrapped: by a click, or by the arrow keys."""
    tab = triage_file(LOGS / FAILURE)
    tab.set_viewport_size({"width": width, "height": 900})
    tab.wait_for_selector(".wholeline:not([hidden])")
    cause = tab.evaluate(
        "document.querySelector('.rows .logline.cause .front').textContent + document.querySelector('.rows .logline.cause .text').textContent"
    )
    shown = tab.locator(".wholeline")
    assert shown.inner_text().endswith(cause)
    assert shown.evaluate("element => element.scrollWidth <= element.clientWidth")
    number = int(tab.locator(".rows .logline.cause .no").inner_text())
    tab.locator(".scroller").focus()
    tab.keyboard.press("ArrowDown")
    until(tab, "document.querySelector('.wholeline .no').textContent", f"line {number + 1}")
    tab.locator(".rows .logline.cause").click()
    until(tab, "document.querySelector('.wholeline .no').textContent", f"line {number}")


def test_a_link_that_only_this_machine_can_open_says_so(triage_file: Callable[..., Any], address: str):
    """And the page says where a log goes."""
    tab = triage_file(LOGS / FAILURE)
    assert tab.locator("text=opens on this machine only").count() == 1
    assert "Copy link" in str(tab.locator(".actions .copy >> nth=0").get_attribute("aria-label"))
    tab.goto(address)
    assert tab.locator("text=The log goes to this service, on this machine, and nowhere else;").count() == 1
