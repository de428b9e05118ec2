"""What holds for every format: nothing secret, nothing that a program or a terminal would take for its own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.fixtures.marked import FOLDER, read_marked
from tests.service.samples import failure, found_failure, found_unknown, healthy, unknown
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.diagnosis import Diagnosis, Evidence
from vllm_triage.classifier.report.build import build
from vllm_triage.classifier.report.model import Memory, Way, Withheld
from vllm_triage.corpus.records import replace
from vllm_triage.service.render.formats.text import use_color
from vllm_triage.service.render.interface import Options, Result, names, render

SECRET = "sk-live-0123456789abcdef"
PLAIN = Options(color="never", width=100)
VERBOSE = Options(verbose=True, explain=True, color="never", width=100)


@pytest.mark.parametrize("form", names())
def test_secrets_are_masked(form):
    """In facts, in the corrected command, in evidence."""
    found = found_failure()
    found.evidence.append(Evidence(3, f"HF_TOKEN=hf_abcdefghijklmnopqrstuvwx --api-key {SECRET}", "", "cause"))
    text = render(form, [Result("x.log", build(found))], VERBOSE)

    assert SECRET not in text
    assert "hf_abcdef" not in text


@pytest.mark.parametrize("form", names())
@given(text=st.text(max_size=300))
def test_any_line_of_a_log_can_be_shown(form, text):
    """Control characters, markup, half a surrogate: a format never fails, and a terminal is never told what to do."""
    found = Diagnosis("unknown", "unknown/x", 0.5, "none", text, text, [Evidence(1, text)], notes=[text])
    out = render(form, [Result("x.log", build(found))], VERBOSE)

    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.log")), ids=lambda path: path.stem)
@pytest.mark.parametrize("width", [40, 80, 100, 120])
def test_an_answer_fits_on_a_screen(path, width):
    """At most thirty rows, no line but what is to be copied longer than the terminal is wide."""
    answer = shared().report(read_marked(path).log)
    lines = render("text", [Result(path.name, answer)], Options(color="never", width=width)).rstrip("\n").split("\n")
    rows = sum(max(1, -(-cell_len(line) // width)) for line in lines)
    copied = {
        part.strip()
        for text in [answer.corrected_command, *(fix.change for fix in answer.fixes)]
        for part in text.split("\n")
    }
    long = [line for line in lines if cell_len(line) > width and line.strip() not in copied]

    # What is copied is never wrapped: on a narrow terminal it takes more rows.
    assert (rows <= Options().height or width < 60, long) == (True, [])


def test_what_has_no_room_on_the_screen_is_counted():
    """Fixes are left out one by one; without a screen there is room for all that is shown without -v."""
    low, high, free = (
        render("text", [failure()], Options(color="never", width=100, height=rows)) for rows in (22, 30, 0)
    )

    assert ["and 2 more, with -v" in text for text in (low, high, free)] == [True, False, False]
    assert ["Stop what else runs on it." in text for text in (low, high, free)] == [False, True, True]


def test_verbose_shows_every_fix_and_every_wrapper():
    """What one screen leaves out."""
    text = render("text", [failure()], VERBOSE)

    assert all(
        words in text
        for words in ("rm -r ~/.cache/acme", "Destructive", "EngineCore failed to start", "also possible", "Refutes it")
    )


def test_json_of_one_log_is_an_object_and_of_several_a_list():
    """For a program that reads one log, and for one that reads many."""
    one, many = (json.loads(render("json", results, Options())) for results in ([failure()], [failure(), unknown()]))

    assert (one["bucket"], [item["bucket"] for item in many]) == ("kv_cache_oom", ["kv_cache_oom", "unknown"])


def test_json_lines_is_a_line_for_each_log():
    """The file's name goes with it, unless it was standard input."""
    lines = [json.loads(line) for line in render("jsonl", [failure(), unknown(), healthy()], Options()).splitlines()]

    assert [line.get("file") for line in lines] == ["server.log", None, "ok.log"]


def test_markdown_cannot_be_broken_out_of():
    """A log that holds a fence gets a longer one; what is not fenced is escaped."""
    found = found_unknown()
    found.evidence[0].text = "``````` and more"
    found.title = "<script>*bold*"
    text = render("markdown", [Result("x.log", build(found))], Options())

    assert "````````text" in text
    assert "&lt;script&gt;\\*bold\\*" in text


def test_markdown_calls_nobody_and_makes_no_link():
    """Whatever name a log has in it."""
    found = found_unknown()
    found.title = "@all [a](b)"
    text = render("markdown", [Result("x.log", build(found))], Options())

    assert text.startswith("## ? @\u200ball \\[a\\](b)\n")


def test_a_change_of_several_lines_stays_in_its_block():
    """Each line within the item of the list, in a fence longer than what is in it."""
    found = found_failure()
    found.fixes[0].change = "one \\\n```two"
    text = render("markdown", [Result("x.log", build(found))], Options())

    assert "   ````shell\n   one \\\n   ```two\n   ````\n" in text


@pytest.mark.parametrize(
    ("choice", "environment", "expected"),
    [
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours(choice, environment, expected, monkeypatch):
    """The option first, then the two variables that programs agree on, then the terminal."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert use_color(choice) is expected


def test_text_shows_where_the_memory_goes_and_what_would_fit():
    """A sum that closes stands in answers about memory; with holes it is for -v; the ways that fit are for -v."""
    way = Way(change="--max-model-len 4096", context=4096, yields="2.00 GiB hold that many tokens")
    whole = Memory(
        line="23.6 GiB × 0.9 = 21.2 = all", share=0.9, weights_gib=14, kv_cache_gib=5, total_gib=23.6, ways=(way,)
    )
    report = replace(failure().report, bucket="kv_cache_oom", memory=whole)
    shown = render("text", [Result("x.log", report)], PLAIN)
    verbose = render("text", [Result("x.log", report)], VERBOSE)
    holes = render("text", [Result("x.log", replace(report, memory=replace(whole, total_gib=None)))], PLAIN)

    assert "  memory     23.6 GiB × 0.9" in shown
    assert "one request fits with" not in shown
    assert "--max-model-len 4096   4096 tokens: 2.00 GiB hold" in verbose
    assert "  memory  " not in holes


def test_text_tells_with_v_which_fixes_were_left_out():
    """Each with its reason."""
    report = replace(failure().report, withheld=(Withheld(title="Use more GPUs", reason="the server has one"),))
    verbose = render("text", [Result("x.log", report)], VERBOSE)

    assert "Use more GPUs: the server has one" in verbose
    assert "Use more GPUs" not in render("text", [Result("x.log", report)], PLAIN)
