"""The pack of a log: what is in it, how it is numbered, what it may cost."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.classifier.pack.logs import FAILURE, STACK, failing, prefixed
from tests.everyday import examples
from vllm_triage.classifier.api import triage
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.report.pack.model import LARGEST, Pack
from vllm_triage.corpus.records import fields_of, replace

ENDS = {"LF": "\n", "CRLF": "\r\n"}


def pack_of(lines: list[str], budget: int = 14_000, end: str = "\n") -> Pack:
    """Return the pack of a log of these lines."""
    return triage(end.join(lines) + end).pack(budget)


def line_of(pack: Pack, text: str) -> int:
    """Return the number under which a pack shows the line that holds a text."""
    return next(line.line for line in pack.lines if text in line.text)


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("budget", [2_000, 14_000, 60_000])
def test_every_line_bears_its_number_in_the_file(end: str, budget: int) -> None:
    """Whatever ends the lines, and however much of the log is left out."""
    lines = failing(before=400, after=300)
    pack = pack_of(lines, budget, end)

    assert FAILURE in [line.text for line in pack.lines]
    for line in pack.lines:
        assert lines[line.line - 1].endswith(line.text.strip() or lines[line.line - 1])


def test_a_progress_bar_is_one_line_of_the_file() -> None:
    """Its states end with bare carriage returns, and a record is glued to the last of them: all bear one number."""
    bar = "\r".join(f"Loading:  {share}% Completed | {share}/100 [00:01<00:02,  1.52it/s]" for share in range(100))
    lines = ["INFO 11-02 09:14:01 [a.py:1] one", bar + "\r" + prefixed("EngineCore", 2, FAILURE), "last"]
    pack = pack_of(lines)

    assert [1, 2, 2, 3] == [line.line for line in pack.lines]
    assert "99%" in pack.lines[1].text
    assert FAILURE == pack.lines[2].text


def test_lines_of_woven_processes_keep_their_numbers_and_ranks_that_say_the_same_are_one() -> None:
    """Eight ranks print the same stack line by line: one of them is shown, with their number."""
    lines = failing(before=200, after=200, ranks=8)
    pack = pack_of(lines)
    shown = [line for line in pack.lines if line.text == FAILURE]

    assert 1 == len(shown)
    assert 8 == shown[0].count
    assert lines[shown[0].line - 1].endswith(FAILURE)


@pytest.mark.parametrize("wrap", [json.dumps, lambda text: json.dumps({"log": text + "\n", "stream": "stderr"})])
def test_numbers_are_those_of_the_input_where_it_is_unwrapped_first(wrap: object) -> None:
    """Records of containers are unwrapped before the log is read; numbers are those of the records."""
    assert callable(wrap)
    lines = failing(before=30, after=10)
    pack = pack_of([wrap(line) for line in lines])

    assert lines.index(next(line for line in lines if line.endswith(FAILURE))) + 1 == line_of(
        pack, "Free memory on device"
    )


@pytest.mark.parametrize("budget", [500, 2_000, 14_000, 60_000])
@pytest.mark.parametrize("size", [5, 300, 6_000])
def test_no_pack_is_larger_than_its_budget(budget: int, size: int) -> None:
    assert len(pack_of(failing(before=size, after=size), budget).text()) <= budget


@pytest.mark.parametrize("budget", [0, 499, LARGEST + 1])
def test_a_budget_out_of_bounds_is_refused(budget: int) -> None:
    with pytest.raises(InputError, match="budget"):
        triage(FAILURE).pack(budget)


@pytest.mark.parametrize("count", [1, 3, 8, 40])
def test_a_short_log_is_shown_whole_and_not_drowned_in_headings(count: int) -> None:
    """Never more than 1.3 times the text."""
    text = "\n".join(failing(before=count, after=count)[2:])
    pack = triage(text).pack()

    assert pack.whole
    assert len(pack.text()) <= 1.3 * len(text)


def test_the_same_log_makes_the_same_pack_byte_for_byte() -> None:
    lines = failing(before=900, after=900, ranks=4)

    assert pack_of(lines).text() == pack_of(lines).text()
    assert pack_of(lines).to_dict() == pack_of(lines).to_dict()


def test_the_innermost_frame_stands_with_its_code_even_in_a_small_pack() -> None:
    texts = [line.text for line in pack_of(failing(before=500, after=500, ranks=4), 2_000).lines]

    assert list(STACK[3:]) == texts[texts.index(STACK[3]) : texts.index(STACK[3]) + 3]


def test_what_is_left_out_is_marked_with_how_much_of_what() -> None:
    """The gaps and the lines together are the log."""
    lines = failing(before=600, after=600)
    pack = pack_of(lines, 2_000)
    shown = sum((line.last or line.line) - line.line + 1 for line in pack.lines)

    assert len(lines) == shown + sum(gap.lines for gap in pack.gaps)
    assert any(gap.kinds.get("INFO", 0) > 100 for gap in pack.gaps)


def test_a_warning_that_came_often_before_is_counted() -> None:
    warning = [prefixed("EngineCore_DP0", 2, f"Slow step: {number} ms", "WARNING") for number in range(17)]
    mixed = [line for pair in zip(warning, failing(before=17, after=0)[2:19], strict=True) for line in pair]
    pack = pack_of([*mixed, *failing(before=300, after=300)])

    assert [17] == [line.count for line in pack.lines if "Slow step" in line.text]


def test_an_endless_line_is_cut_around_what_tells() -> None:
    text = "word " * 40_000 + FAILURE + " word" * 40_000
    pack = triage("INFO 11-02 09:14:01 [a.py:1] one\n" + text + "\nlast\n").pack(2_000)

    assert "Free memory on device cuda:0 (16.01/93.0 GiB)" in " ".join(
        line.text for line in pack.lines if line.line == 2
    )


def test_statistics_before_the_end_are_a_series() -> None:
    """Throughput, requests that run and wait, share of the KV cache."""
    stats = [
        f"INFO 11-02 09:{number:02}:01 [loggers.py:248] Engine 000: Avg prompt throughput: {number}.0 tokens/s, Avg generation "
        f"throughput: 5.0 tokens/s, Running: {number} reqs, Waiting: {number * 2} reqs, GPU KV cache usage: {number}.5%, Prefix cache hit rate: 0.0%"
        for number in range(10, 40)
    ]
    pack = pack_of([*stats, *failing(before=300)])
    series = next(part.text for part in pack.told if part.part == "series")

    assert "line 30: 39 prompt and 5 generated tokens/s, 39 running, 78 waiting, KV cache 39.5 %" == series[-1]


def test_what_rules_propose_is_said_to_be_unchecked_and_can_be_left_out() -> None:
    report = triage("\n".join(failing(before=300, after=300)))
    given, without = report.pack(), report.pack(candidates=False)

    assert report.cause == given.candidates[0].cause
    assert "unchecked" in given.text()
    assert () == without.candidates == without.withheld
    assert report.cause not in without.text()
    assert without.candidates == given.without_candidates().candidates


def test_arguments_in_force_and_release_stand_above_the_lines() -> None:
    told = {part.part: " ".join(part.text) for part in pack_of(failing(before=300)).told}

    assert "max_model_len=4096" in told["arguments"]
    assert "vllm_version=0.13.0" in told["release"]


def test_a_report_from_json_has_a_pack_of_the_lines_that_it_shows() -> None:
    report = triage("\n".join(failing(before=300, after=300)))
    pack = Report.from_json(report.to_json()).pack()

    assert {item.line for item in report.evidence} <= {line.line for line in pack.lines}
    assert report.facts["arguments"]
    assert any(part.part == "arguments" for part in pack.told)


def test_the_log_does_not_leave_with_the_report() -> None:
    """Neither pickled, nor in its representation, nor in its JSON: what it keeps is not masked yet."""
    report = triage("\n".join([*failing(), "the word is xylophonic"]))

    assert "xylophonic" in report.pack().text()
    assert b"xylophonic" not in pickle.dumps(report)
    assert "xylophonic" not in repr(report) + report.to_json()
    assert report == pickle.loads(pickle.dumps(report))


def test_a_prompt_asks_for_lines_actions_and_doubt() -> None:
    prompt = triage("\n".join(failing())).pack().prompt()

    assert FAILURE in prompt
    for words in (
        "numbers of the lines that prove it",
        "up to three",
        "what the next log shows",
        "do not tell the cause",
    ):
        assert words in prompt


@settings(max_examples=examples(60))
@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=300), max_size=60),
    st.sampled_from([500, 2_000, 14_000]),
)
def test_any_text_has_a_pack(lines: list[str], budget: int) -> None:
    text = "x\n" + "\n".join(lines)
    pack = triage(text).pack(budget)

    assert len(pack.text()) <= max(budget, len(text) + 40)
    assert Pack(**{own.name: getattr(pack, own.name) for own in fields_of(Pack)}) == pack


def test_a_log_without_text_has_a_pack_too() -> None:
    """A report knows its lines even where nothing of the log was kept."""
    assert "" != triage("hello\n").pack(500).text()


@pytest.mark.parametrize("budget", [500, 2_000, 14_000])
def test_a_large_pack_gives_smaller_ones(budget: int) -> None:
    """What a history keeps is as good as the log, for every budget below."""
    lines = failing(before=300, after=300, ranks=3)
    report = triage("\n".join(lines))
    again = replace(report, kept=report.pack(LARGEST)).pack(budget)
    shown = sum((line.last or line.line) - line.line + 1 for line in again.lines)

    assert len(again.text()) <= budget
    assert [line.worth for line in report.pack(budget).lines[:1]]
    assert FAILURE[:80] in again.text()
    assert len(lines) == shown + sum(gap.lines for gap in again.gaps)
    assert sorted(line.line for line in again.lines) == [line.line for line in again.lines]
