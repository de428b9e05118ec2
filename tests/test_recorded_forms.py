"""The forms in which a recorded log is read: what is added, and which line is which afterwards."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recorded_forms import FORMS, LAST, Line, joined, numbered

LOG = b"one\ntwo\nthree"
OTHER = [
    Line(1, 0, "INFO:     Application startup complete."),
    Line(2, 10, "answer"),
    Line(3, 1500, "statistics"),
    Line(4, 1600, "INFO:     Shutting down"),
]
LINES = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=20), max_size=250)


def test_lines_are_numbered_and_have_their_arrival_time():
    """The last line was cut off before its end: it came no earlier than the one before."""
    assert numbered(LOG, [5, 9]) == [Line(1, 5, "one"), Line(2, 9, "two"), Line(3, 9, "three")]
    assert numbered(b"", []) == []


@pytest.mark.parametrize(
    ("form", "first"),
    [
        ("docker", '{"log": "one\\n", "stream": "stderr", "time": "2026-11-02T09:14:03.109882000Z"}'),
        ("compose", "vllm-1  | one"),
        ("kubernetes", "2026-11-02T09:14:03.109882113Z stderr F one"),
        ("journald", "Nov 02 09:14:03 gpu-a vllm[4127]: one"),
    ],
)
def test_wrappers_put_their_own_words_in_front(form, first):
    """The stamps are those of the recording."""
    assert first == FORMS[form](numbered(LOG, [5, 9]), [])[0].text


@given(LINES, st.sampled_from(sorted(FORMS)))
def test_no_form_loses_or_moves_a_line(texts, form):
    """Our lines stand in their order with their numbers; only the cut one lacks the first of them."""
    lines = [Line(number, number * 40, text) for number, text in enumerate(texts, 1)]
    read = FORMS[form](lines, OTHER)
    numbers = [line.number for line in read if line.number]

    assert numbers == [line.number for line in lines][-LAST if form == "last 200 lines" else 0 :]
    for line in read:
        if line.number:
            text = json.loads(line.text)["log"].removesuffix("\n") if form == "docker" else line.text
            assert text.endswith(texts[line.number - 1])


def test_the_neighbour_serves_for_as_long_as_the_log_runs():
    """What it says at work is repeated; its start and its stop are not in the log."""
    lines = numbered(b"a\nb\n", [0, 4000])

    assert joined(FORMS["interleaved"](lines, OTHER)).split("\n")[:-1] == [
        "vllm-a-1  | a",
        "vllm-b-1  | answer",
        "vllm-b-1  | statistics",
        "vllm-b-1  | answer",
        "vllm-b-1  | statistics",
        "vllm-b-1  | answer",
        "vllm-a-1  | b",
        "vllm-b-1  | statistics",
    ]


def test_servers_that_start_together_are_merged_by_arrival():
    """All of the other server's lines are there, its stop too."""
    lines = numbered(b"a\nb\n", [1, 1550])

    assert [line.number for line in FORMS["started together"](lines, OTHER)] == [0, 1, 0, 0, 2, 0]
