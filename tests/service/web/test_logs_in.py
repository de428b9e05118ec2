"""Logs come in by every way, of every kind and size; the whole log can be read in the page."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.web.helpers import FAILURE, LOGS, until
from tests.service.web.server import Memory

LINE = "(EngineCore pid=7) INFO 11-02 09:14:03 [loggers.py:257] Engine 000: Avg prompt throughput: {:.1f} tokens/s\n"
DROP = """([text, name]) => {
  const transfer = new DataTransfer();
  if (name) transfer.items.add(new File([text], name)); else transfer.setData("text/plain", text);
  for (const type of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(type, {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""


@pytest.fixture
def failure() -> str:
    return (LOGS / FAILURE).read_text()


@pytest.mark.parametrize("name", ["server.log", ""])
def test_a_log_is_dropped_as_a_file_or_as_text(address: str, open_page: Callable[..., Any], failure: str, name: str):
    """From another view, too."""
    tab = open_page(f"{address}history")
    tab.wait_for_selector(".history")
    tab.evaluate(DROP, [failure, name])
    if not name:
        # A text that was dropped may be a slip; a file was chosen.
        assert tab.inner_text(".picked strong") == "Pasted text"
        tab.keyboard.press("Enter")
    tab.wait_for_selector(".report.failed")


def test_an_example_is_nobodys_incident(address: str, open_page: Callable[..., Any], memory: Memory):
    """It is answered, and never counted."""
    tab = open_page(address)
    tab.click("text=Try an example")
    tab.wait_for_selector(".report.failed")
    assert tab.locator("text=Copy link").count() == 0
    assert tab.locator("text=Seen for the first time").count() == 0


def test_the_state_filter_says_what_it_is(address: str, open_page: Callable[..., Any]):
    """Not a blank field."""
    tab = open_page(f"{address}history")
    tab.wait_for_selector("#judged")
    assert tab.evaluate("document.getElementById('judged').selectedIndex") == 0


def test_text_is_pasted_anywhere_and_kept_aside_where_it_is_long(
    address: str, open_page: Callable[..., Any], failure: str
):
    tab = open_page(address)
    tab.evaluate(PASTE, failure)
    assert failure == tab.input_value("#log")
    tab.evaluate(PASTE, failure + LINE * 20_000)
    assert "Pasted text" == tab.inner_text(".picked strong")
    tab.click("text=Take another")
    assert failure == tab.input_value("#log")


@pytest.mark.parametrize("content", ["", "   \n \n"])
def test_nothing_is_not_sent(address: str, open_page: Callable[..., Any], memory: Memory, content: str):
    tab = open_page(address)
    tab.fill("#log", content)
    tab.click("button[type=submit]")
    assert "There is no log yet" in tab.inner_text("[role=alert]")


def test_what_is_no_log_is_said_in_the_service_s_own_words(address: str, open_page: Callable[..., Any], failure: str):
    tab = open_page(address)
    tab.set_input_files("#file", {"name": "a.log", "mimeType": "", "buffer": bytes(range(256)) * 40})
    tab.wait_for_selector("section[role=alert]")
    assert "This is no log" == tab.inner_text("h1")
    tab.click("text=Another log")
    assert "a.log" == tab.inner_text(".picked strong")


def test_a_packed_log_goes_as_it_is_and_is_unpacked_to_be_read_here(triage_file: Callable[..., Any], failure: str):
    packed = gzip.compress(failure.encode())
    tab = triage_file({"name": "server.log.gz", "mimeType": "", "buffer": packed})
    tab.wait_for_selector(".rows .logline.cause")
    assert "37" == tab.inner_text(".rows .logline.cause .no")


def test_lines_are_found_coloured_and_jumped_to(triage_file: Callable[..., Any]):
    tab = triage_file()
    tab.wait_for_selector(".rows .logline.cause")
    assert ["symptom26", "cause37", "symptom51"] == tab.locator(".chip").all_text_contents()
    tab.click(".chip >> nth=2")
    tab.wait_for_selector(".rows .logline.chosen.symptom")
    colours = tab.locator(".rows .front").evaluate_all(
        "all => [...new Set(all.filter((one) => one.textContent).map((one) => getComputedStyle(one).color))]"
    )
    assert 2 <= len(colours), "each process has a colour of its own"
    tab.fill(".find input", "AVAILABLE KV CACHE MEMORY")
    until(tab, "document.querySelector('.find .hint').textContent", "1 of 3")
    assert 1 <= tab.locator(".rows mark").count()
    tab.press(".find input", "Shift+Enter")
    until(tab, "document.querySelector('.find .hint').textContent", "3 of 3")
    assert "44" == tab.inner_text(".rows .logline.chosen .no")
    tab.fill(".find input", "not in this log")
    tab.wait_for_selector(".find >> text=nothing found")
    tab.click(".chain .link >> nth=0")
    tab.wait_for_selector(".rows .logline.chosen.cause")


def test_a_reading_is_cancelled_by_escape(address: str, open_page: Callable[..., Any], memory: Memory, failure: str):
    memory.delay = 5
    tab = open_page(address)
    tab.fill("#log", failure)
    tab.press("#log", "Control+Enter")
    tab.wait_for_selector(".running")
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#log")
    assert failure == tab.input_value("#log")
    assert {} == memory.stored


@pytest.fixture
def big(tmp_path: Path, failure: str) -> Iterator[Path]:
    path = tmp_path / "big.log"
    head, tail = failure.split("\n", 20)[:20], failure.split("\n", 20)[20]
    numbers = random.Random(1)
    with path.open("w") as file:
        file.write("\n".join(head) + "\n")
        block = "".join(LINE.format(numbers.random() * 900) for _ in range(10_000))
        while file.tell() < 100_000_000:
            file.write(block)
        file.write(tail)
    yield path
    path.unlink()


def kept_on_the_heap(tab: Any) -> int:
    """Return the bytes that the page's scripts hold once what they no longer need is collected."""
    session = tab.context.new_cdp_session(tab)
    session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    # What buffers hold lies beside the heap.
    return int(usage["usedSize"] + usage["backingStorageSize"])


@pytest.mark.slow
def test_a_log_of_100_megabytes(triage_file: Callable[..., Any], big: Path):
    """Only the lines that are seen are in the document; searching and jumping work to the end."""
    tab = triage_file(big)
    tab.wait_for_selector(".rows .logline.cause", timeout=60_000)
    lines = int(tab.inner_text(".foot").split(" ")[0].replace(",", ""))
    assert 900_000 < lines
    assert 200 > tab.locator(".logline").count()
    assert 60e6 > kept_on_the_heap(tab)
    tab.focus(".scroller")
    tab.keyboard.press("End")
    tab.wait_for_selector(f".rows .no >> text='{lines}'")
    tab.fill(".find input", "Starting to load model")
    tab.wait_for_selector(".find >> text='1 of 1'", timeout=60_000)
    assert "14" == tab.inner_text(".rows .logline.chosen .no")
