"""The page's pure functions, run in the browser, against what Python answers on the same logs."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.web.helpers import LOGS
from vllm_triage.classifier import Report, triage
from vllm_triage.service.render.words import headline, percent

Answers = list[tuple[Path, Report]]
SAMPLES = sorted([*(LOGS / "written").glob("*.log"), *(LOGS / "recorded" / "0.32.0").glob("*.log")])[::9]
LINES = """async ([data, ranges, query]) => {
  const {LogFile} = await import(new URL("logfile.js", document.querySelector("script[type=module]").src));
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const log = await new LogFile(new Blob([bytes]), "x").index();
  const read = [];
  for (const [from, count] of ranges) read.push(await log.lines(from, count));
  return [log.count, read, query ? await log.search(query, 1e6) : []];
}"""
CALL = """async ([module, name, ...given]) => {
  const found = await import(new URL(module, document.querySelector("script[type=module]").src));
  return found[name](...given);
}"""


@pytest.fixture(scope="module")
def answers() -> Answers:
    return [(path, triage(path)) for path in SAMPLES]


@pytest.fixture
def tab(address: str, open_page: Callable[..., Any]) -> Any:
    return open_page(address)


def read(
    tab: Any, data: bytes, ranges: list[tuple[int, int]], query: str = ""
) -> tuple[int, list[list[str]], list[int]]:
    count, lines, found = tab.evaluate(LINES, [base64.b64encode(data).decode(), ranges, query])
    return count, lines, found


def lines_of(data: bytes) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n") if data else []


def test_any_lines_are_found_by_their_numbers(tab: Any):
    """Of any length, so that blocks end anywhere; with and without a last line end."""
    texts = st.lists(st.binary(max_size=30).map(lambda text: bytes(65 + byte % 26 for byte in text)), max_size=1500)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(texts, st.booleans(), st.integers(0, 1500), st.integers(1, 700))
    def check(texts: list[bytes], ended: bool, start: int, count: int) -> None:
        data = b"\n".join(texts) + b"\n" * ended
        expected = [line.decode() for line in lines_of(data)]
        found = [number for number, line in enumerate(expected) if "ab" in line.lower()]
        assert (len(expected), [expected[start : start + count]], found) == read(tab, data, [(start, count)], "Ab")

    check()


def test_lines_without_end_bars_and_broken_bytes(tab: Any):
    long = b"x" * 700_000
    data = b"first\r\n 10%\r 50%\r100%\n\x1b[31mred\x1b[0m \xff\n" + long + b"\nlast\n"
    count, [shown], _ = read(tab, data, [(0, 9)])
    assert 5 == count
    assert ["first", "100%", "red \ufffd"] == shown[:3]
    assert shown[3].startswith("x" * 2000 + " … (")
    assert "last" == read(tab, data, [(4, 1)])[1][0][0]


def test_the_lines_that_a_report_names_are_those_that_the_page_shows(tab: Any, answers: Answers):
    for path, report in answers:
        named = [*report.evidence, *report.symptoms, *report.chain]
        named = [line for line in named if not line.text.startswith("reached ")]
        count, shown, _ = read(tab, path.read_bytes(), [(line.line - 1, 1) for line in named])
        assert report.input.lines == count, path
        for line, (text,) in zip(named, shown, strict=True):
            # Secrets are masked in the report alone.
            assert line.text[:60].strip() in text or line.text[-40:] in text, path


def test_the_server_s_line_and_the_confidence_are_those_of_the_command_line(tab: Any, answers: Answers):
    for path, report in answers:
        facts = report.facts
        assert headline(facts) == " · ".join(tab.evaluate(CALL, ["format.js", "headline", facts])), path
    shares = sorted({report.confidence for _, report in answers} | {0, 0.005, 0.955, 0.985, 0.996, 1})
    assert [percent(share) for share in shares] == [
        tab.evaluate(CALL, ["format.js", "percent", share]) for share in shares
    ]


def test_figures_as_people_read_them(tab: Any):
    for name, value, expected in (
        ("bytes", 999, "999 B"), ("bytes", 6754, "6.8 kB"), ("bytes", 100_000_000, "100 MB"), ("bytes", 999_999, "1.0 MB"),
        ("seconds", 0.42, "0.4 s"), ("seconds", 59.6, "1 min"), ("seconds", 190, "3 min 10 s"), ("seconds", 7500, "2 h 5 min"),
        ("sureness", 0.98, "very sure"), ("sureness", 0.66, "likely"), ("sureness", 0.1, "unsure"),
    ):  # fmt: skip
        assert expected == tab.evaluate(CALL, ["format.js", name, value])
