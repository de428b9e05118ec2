"""What holds for every format: nothing secret, nothing that a program or a terminal would take for its own."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.fixtures.marked import FOLDER, read_marked
from tests.service.samples import Sample, failure, found_failure, found_unknown, found_words, healthy, unknown
from vllm_triage.classifier.advice import Advice
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.lines.types import Evidence
from vllm_triage.classifier.report.model import Memory, Way, Withheld
from vllm_triage.corpus.records import replace
from vllm_triage.service.render.colors import use_color
from vllm_triage.service.render.interface import Options, Result, names, render
from vllm_triage.service.render.words import continued, headline

SECRET = "sk-live-0123456789abcdef"
PLAIN = Options(color="never", width=100)
VERBOSE = Options(verbose=True, explain=True, color="never", width=100)


@pytest.mark.parametrize("form", names())
def test_secrets_are_masked(form):
    """In facts, in the corrected command, in evidence."""
    found = found_failure()
    more = Evidence(3, f"HF_TOKEN=hf_abcdefghijklmnopqrstuvwx --api-key {SECRET}", "", "cause")
    found = found.saying(evidence=(*found.verdict.evidence, more))
    text = render(form, [Result("x.log", found.report)], VERBOSE)

    assert SECRET not in text
    assert "hf_abcdef" not in text


@pytest.mark.parametrize("form", names())
@given(text=st.text(max_size=300))
def test_any_line_of_a_log_can_be_shown(form, text):
    """Control characters, markup, half a surrogate: a format never fails, and a terminal is never told what to do."""
    out = render(form, [Result("x.log", found_words(text).report)], VERBOSE)

    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.log")), ids=lambda path: path.stem)
def test_an_answer_fits_on_a_screen(path):
    """At most thirty rows, no line but what is to be copied longer than the terminal is wide."""
    answer = shared().report(read_marked(path).log)
    copied = "\n".join([answer.corrected_command, *(fix.change for fix in answer.fixes)])
    for width in (40, 80, 100, 120):
        text = render("text", [Result(path.name, answer)], Options(color="never", width=width))
        lines = text.rstrip("\n").split("\n")
        rows = sum(max(1, -(-cell_len(line) // width)) for line in lines)
        long = [line for line in lines if cell_len(line) > width and line.strip(" \\") not in copied]

        # What is copied is wrapped at options only: on a narrow terminal it takes more rows.
        assert (width, True, []) == (width, rows <= Options().height or width < 60, long)


def evidence_of(text: str, width: int) -> list[str]:
    """Return the rows that show one line of evidence, in colours, without the gutter."""
    proof = (Evidence(7, "Traceback (most recent call last):"), Evidence(9, text))
    found = found_unknown().saying(evidence=proof)
    rows = render("text", [Result("x.log", found.report)], Options(color="always", width=width)).split("\n")
    return [row.partition("│")[2] for row in rows if "│" in row]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_long_path_in_the_evidence_keeps_its_end(width):
    """What a frame is known by: file, line, function."""
    path = "/opt/conda/envs/serving/lib/python3.12/site-packages/vllm/engine/arg_utils.py"
    row = evidence_of(f'File "{path}", line 12, in create', width)[-1]

    assert 'File "…/engine/arg_utils.py", line 12, in create' in row


@pytest.mark.parametrize("text", ["x" * 400, "File " + "/" + "y" * 400])
def test_a_word_that_is_longer_than_the_row_is_cut_within(text):
    """It is the proof all the same."""
    assert len(evidence_of(text, 80)[-1].strip()) > 60


def test_the_proof_is_the_brightest_line():
    """Bold from its first row on, the numbers that the answer rests on in colour; only the symptom is dim."""
    rows = [row for row in render("text", [failure()], Options(color="always", width=100)).split("\n") if "│" in row]

    assert all("\x1b[1m" in row.partition("EngineCore")[2].partition("×")[0] for row in rows[:1])
    assert "\x1b[1;31m131072\x1b[0m" in rows[1]
    assert "\x1b[1;31m5.12 GiB\x1b[0m" in rows[2]
    assert ["\x1b[2mRuntimeError" in row for row in rows] == [False, False, False, False, True]


def test_line_numbers_lead_into_the_file(tmp_path):
    """Where a terminal follows links; never in what is piped or copied."""
    log = tmp_path / "server.log"
    log.write_text("x")
    result = Result(str(log), failure().report)
    linked, plain = (render("text", [result], Options(color="always", links=links)) for links in (True, False))

    assert f"\x1b]8;;{log.as_uri()}#37\x1b\\" in linked
    assert "\x1b]8" not in plain


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        ("vllm serve m --host 0.0.0.0", ["vllm serve m --host 0.0.0.0"]),
        (
            "vllm serve model --host 0.0.0.0 --port 8080",
            ["vllm serve model \\", "    --host 0.0.0.0 \\", "    --port 8080"],
        ),
        ("run 'a --b  c' --options-of-all -k", ["run 'a --b  c' \\", "    --options-of-all -k"]),
        ("run a  and b --options-of-all --kinds", ["run a  and b --options-of-all --kinds"]),
    ],
)
def test_a_long_command_is_continued_at_its_options(command, rows):
    """As a shell takes it; what cannot be taken apart safely stays on its line."""
    assert continued(command, 30) == rows
    assert shlex.split("\n".join(continued(command, 30)).replace("\\\n", "")) == shlex.split(command)


def test_a_comment_behind_a_command_goes_to_the_reason():
    """What is copied is the command."""
    found = found_failure().advising("export A='x # y'   # in the server's shell", 3)
    found = Sample(found.verdict, Advice((found.advice.fixes[3],)))
    text = render("text", [Result("x.log", found.report)], PLAIN)

    assert "export A='x # y'\n" in text
    assert "In the server's shell." in text


def test_a_model_of_the_hubs_cache_has_its_repositorys_name():
    """The folder is named for a commit."""
    path = "/root/.cache/huggingface/hub/models--acme--Harbor-8B/snapshots/6f6073b423013f6a7d4d9f39144961bfbfbc386b"

    assert headline({"model": path}) == "Harbor-8B"


def test_a_start_shows_the_stages_it_reached_and_no_other():
    """Without colours nothing else tells them apart."""
    text = render("text", [failure()], PLAIN)

    assert "weights 22 s › ✖ profile\n" in text


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
    found = found_unknown().saying(evidence=(Evidence(7, "``````` and more"),), title="<script>*bold*")
    text = render("markdown", [Result("x.log", found.report)], Options())

    assert "````````text" in text
    assert "&lt;script&gt;\\*bold\\*" in text


def test_markdown_calls_nobody_and_makes_no_link():
    """Whatever name a log has in it."""
    found = found_unknown().saying(title="@all [a](b)")
    text = render("markdown", [Result("x.log", found.report)], Options())

    assert text.startswith("## ? @\u200ball \\[a\\](b)\n")


def test_a_change_of_several_lines_stays_in_its_block():
    """Each line within the item of the list, in a fence longer than what is in it."""
    found = found_failure().advising("one \\\n```two", 0)
    text = render("markdown", [Result("x.log", found.report)], Options())

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
