"""What a notebook shows: all that matters, nothing that runs or loads, whatever a log says."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.samples import failure, found_failure, healthy, unknown
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.lines.types import Evidence
from vllm_triage.classifier.report.model import Alternative, Filtered
from vllm_triage.corpus.records import replace

ALLOWED = {
    "div", "strong", "small", "code", "p", "em", "pre", "ol", "li", "br", "details", "summary", "table", "tr", "td",
}  # fmt: skip


class Parsed(HTMLParser):
    """Elements, attributes and text of a piece of HTML, which must close what it opens."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self._open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    ("sample", "told"),
    [
        (failure, ["✖ The KV cache cannot hold", "97 %", "vllm_version 0.19.1", "37  (EngineCore", "--max-model-len 41936", "Start it with", "Facts"]),
        (unknown, ["? A failure that is not recognised", "engine_bug 25 %", "`flange` b7"]),
        (healthy, ["✔ The server was stopped from outside", "requests waited in a queue"]),
    ],
)  # fmt: skip
def test_it_shows_what_matters(sample, told):
    page = Parsed(sample().report._repr_html_())

    assert [part for part in told if part not in page.text] == []


def test_an_answer_that_does_not_count_says_so():
    report = replace(failure().report, filtered=Filtered(by="ignore", ids=("kv_cache_oom",)))

    assert "left out by ignore: kv_cache_oom" in report._repr_html_()


@given(
    st.text(st.characters(codec="utf-8"), max_size=200)
    | st.sampled_from(["</pre><script>x()</script>", '"><img src=x onerror=y>', "&lt;", "<!--"])
)
def test_no_text_becomes_markup(text):
    """It is shown as it stands; elements are those that we write, without any address or script."""
    found = found_failure().saying(
        incident=Incident(1, facts={"model": text, "x<y": text}), title=text or "t", summary=text or "t",
        evidence=(Evidence(37, text, "EngineCore", "cause"),),
    )  # fmt: skip
    report = replace(found.report, alternatives=(Alternative(bucket=text, confidence=0.5),))
    page = Parsed(report._repr_html_())

    assert set(page.elements) <= ALLOWED
    assert set(page.attributes) == {"style"}
    assert report.title in page.text.replace("\r", "\n")


def test_a_secret_stays_hidden():
    assert "sk-live-0123456789abcdef" not in failure().report._repr_html_()
