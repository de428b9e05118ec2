from __future__ import annotations

import dataclasses
import json
import re
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.everyday import examples
from tests.service.chat.slack_server import problem_of, texts, walk
from tests.service.samples import failure, healthy, unknown
from vllm_triage.classifier.report.model import Evidence
from vllm_triage.service.chat.interface import Brief, Event
from vllm_triage.service.chat.slack_blocks import clip, code, escape, message, pasted, unescape
from vllm_triage.service.chat.slack_digest import digest
from vllm_triage.service.wire import Incident

NOW = datetime(2026, 11, 2, tzinfo=UTC)
INCIDENT = Incident(
    id="inc_" + "a" * 26, fingerprint="0" * 16, service="chat", name="", bucket="kv_cache_oom", cause="kv_cache_oom/x",
    title="t", confidence=0.9, decided_by="rule", vllm_version="", model="", occurrences=12, first_seen=NOW, last_seen=NOW,
)  # fmt: skip
HOSTILE = (
    "<!channel> <!here|x> <@U123> <#C1> <https://evil.example|click> @channel @Everyone & ``` *b* https://a.example"
)
ANYTHING = st.text() | st.text(alphabet="<>&`@!|*_~ \nhere", max_size=4000) | st.just(HOSTILE) | st.just("&" * 5000)


def unsafe(payload) -> list[str]:
    """Return what Slack would act on in a payload, our own link and the name of who clicked left out."""
    found = []
    for item in [*walk(payload["blocks"]), {"type": "mrkdwn", "text": payload["text"]}]:
        if item.get("type") not in ("mrkdwn", "plain_text") or not isinstance(item.get("text"), str):
            continue
        found += re.findall(r"<(?!https://triage\.example/)[^>]*>?", item["text"])
        found += re.findall(r"@(?:channel|here|everyone)", item["text"], re.IGNORECASE)
    return found


def test_a_report_shows_cause_evidence_fixes_and_command():
    event = Event(failure().report, INCIDENT, "chat", "server.log", "https://triage.example/incidents/inc_1")
    told = message(event)
    everything = "\n".join(texts(told["blocks"]))
    for words in (
        "kv_cache_oom/context_exceeds_cache",
        "97 %",
        "37: EngineCore",
        "--max-model-len 41936",
        "Costs: Some accuracy.",
    ):
        assert words in everything
    assert "<https://triage.example/incidents/inc_1|Full report>" in everything
    assert ["header", "actions"] == [told["blocks"][0]["type"], told["blocks"][-1]["type"]]
    assert "sk-live" not in json.dumps(told)


def test_the_counter_is_shown():
    event = Event(failure().report, INCIDENT, recurrence=10_000, received=10_020)
    assert any("*10,000 ×* in this window (reported 10,020 times)" in text for text in texts(message(event)["blocks"]))


def test_no_failure_and_unknown_are_told_too():
    assert message(Event(healthy().report, INCIDENT))["text"].startswith("✔")
    told = message(Event(unknown().report, INCIDENT))
    assert any("Could be: `engine_bug` 25 %" in text for text in texts(told["blocks"]))
    assert ["", ""] == [problem_of(told), problem_of(message(Event(healthy().report)))]


@settings(max_examples=examples(150), deadline=None)
@given(text=ANYTHING, more=ANYTHING, count=st.integers(0, 60), ask=st.booleans())
def test_whatever_a_log_holds_fits_and_does_nothing(text, more, count, ask):
    """Within Slack's limits, without mentions, links or markup of the log."""
    base = failure().report
    line = Evidence(line=3, text=text, process=more[:40])
    fix = dataclasses.replace(base.fixes[0], title=text or "x", change=more, why=text, cost=more)
    hostile = dataclasses.replace(
        base,
        title=text or "x",
        summary=more,
        evidence=(line,) * count,
        symptoms=(line,) * count,
        fixes=(fix,) * count,
        notes=(more,) * count,
        corrected_command=text,
        facts={"model": text, "gpu_name": more, "vllm_version": text},
    )
    event = Event(hostile, INCIDENT, text, more, "https://triage.example/incidents/inc_1", note=text)
    told = message(event, ask_bucket=ask)
    assert ("", []) == (problem_of(told), unsafe(told))


def test_all_buckets_fit_into_the_menu():
    """A choice that Slack cuts off could not be taken."""
    from vllm_triage.classifier.api import shared

    menu = message(Event(failure().report, INCIDENT), ask_bucket=True)["blocks"][-1]["elements"][0]
    assert set(shared().corpus.buckets()) - {"unknown"} == {option["value"].split()[1] for option in menu["options"]}


@given(st.text(alphabet="a&<>`@here \n", max_size=200), st.integers(10, 60))
def test_clipping_leaves_no_half_entity(text, limit):
    told = clip(escape(text), limit)
    assert limit >= len(told)
    assert not re.search(r"&(?!amp;|lt;|gt;)", told)


@given(st.text(max_size=300))
def test_a_code_block_ends_where_it_should(text):
    assert 2 == code(text, 200).count("```")


@given(st.text())
def test_what_was_typed_comes_back_from_what_slack_sends(text):
    sent = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert text == unescape(sent)


def test_links_that_slack_made_are_unwrapped():
    assert "see https://a.example/x and b.example" == unescape(
        "see <https://a.example/x> and <http://b.example|b.example>"
    )


def test_code_blocks_go_before_the_words_around_them():
    assert "one\n\ntwo" == pasted("look: ```one\n``` and ```\ntwo``` thanks")
    assert "ValueError: x" == pasted("`ValueError: x`")
    assert "cut off" == pasted("```cut off")


def test_an_incident_seen_before_says_since_when():
    event = Event(failure().report, dataclasses.replace(INCIDENT, occurrences=12))
    assert any("12 × since 2026-11-02" in text for text in texts(message(event)["blocks"]))


def test_several_are_told_together():
    """How many of what, where, and one to look at; of many causes and services the rest is counted."""
    named = [Brief("kv_cache_oom/x", HOSTILE, f"s{at % 5}", "https://t.example/a|b") for at in range(30)]
    others = [Brief(f"b/cause_{at}", "t", "", "") for at in range(11)]
    told = digest([*named, *others])
    [_, lines, _] = told["blocks"]

    assert "41 more incidents" == told["text"]
    assert problem_of(told) == ""
    assert unsafe(told) == ["<https://t.example/a%7Cb|one of them>"]
    assert lines["text"]["text"].startswith("*30 ×* `kv_cache_oom/x` in *s0*, *s1*, *s2* and 2 other services: ")
    assert lines["text"]["text"].endswith("and 2 of 2 other causes")
