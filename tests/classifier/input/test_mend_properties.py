"""Whatever is mended: numbers stay those of the input, nothing fails, a second time changes nothing, work stays bounded."""

from __future__ import annotations

import sys
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.input.as_read import RECORD, mended, read
from tests.damage import FORMS
from vllm_triage.classifier.input.decode import Cleaner
from vllm_triage.classifier.input.mending.mend import INNER, OUTER, mend
from vllm_triage.classifier.input.numbers import Numbers
from vllm_triage.classifier.input.read import BLOCK, Chunks, read_blocks

PIECES = [
    "\n", "\n", "\n", "\r", "\r\n", " ", "    ", "\t", ",", ";", '"', '""', "'", "> ", "|", "^M", "\\n", "\\", "^^^^", "<br>",
    "<pre>", "</pre>", "<td>", "&lt;", "&amp;amp;quot;", "&#10;", "&#x110000;", "\u201c", "\u2019", "\u2014max", "\u00a0", "\u2026",
    f"{RECORD} ", "INFO:     ", "[rank0]:", "Traceback (most recent call last):", '  File "/a.py", line 3, in f', "    return x(",
    "ValueError: boom", "torch.OutOfMemoryError: CUDA out of memory.", "timestamp,message", '"a","b"', "12", "13:", "{", '"message": "x\\ny",',
    "textPayload: x", "---", "x" * 79, "words and words ", "\udc80", "\x1b[31m", '{"log":"a\\nb","time":1}', "usage: ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
COLOURLESS = st.lists(st.sampled_from([piece for piece in PIECES if "\x1b" not in piece]), max_size=60).map("".join)
"""Colours may hide that a line is a record: that is no matter of mending."""
LOG = "\n".join(
    [
        "INFO 11-02 10:00:00 [api_server.py:1839] vLLM API server version 0.11.0",
        f"{RECORD} Traceback (most recent call last):",
        f'{RECORD}   File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 700, in run_engine_core',
        f"{RECORD}     engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)",
        f"{RECORD} ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
        "INFO:     Shutting down",
    ]
)


@given(TEXTS)
def test_every_line_bears_a_number_of_the_input(text: str) -> None:
    """From its first to its last line."""
    count = len(text.split("\n"))

    assert [number for number, _ in read(text) if not 1 <= number <= count] == []


@given(TEXTS)
def test_no_lines_are_lost_on_the_way(text: str) -> None:
    """The input has as many lines as before, however many are read."""
    numbers = Numbers(0)
    newlines = 0
    for block in read_blocks(text.encode("utf-8", "surrogateescape")):
        numbers.note(block.data.count(b"\n"), block.mended)
        newlines += block.data.count(b"\n")

    assert text.count("\n") + 1 == numbers.lines(newlines + 1)


@given(COLOURLESS)
def test_what_was_mended_stays_as_it_is(text: str) -> None:
    """A second time changes nothing."""
    once = mended(text)

    assert once == mended(once)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_what_was_damaged_is_mended_at_once(form) -> None:
    """Nothing is left for a second time."""
    once = mended(form.apply(LOG, Random(1)))

    assert once == mended(once)


@given(st.binary(max_size=400))
def test_any_bytes_can_be_mended(data: bytes) -> None:
    """Without the questions that are asked first."""
    cleaner = Cleaner()
    cleaner.look(data)
    text = mend(data, cleaner)

    assert text is None or len(text.mended.numbers) == text.data.count(b"\n") + (not text.data.endswith(b"\n"))


@given(TEXTS, st.integers(1, 40))
def test_the_numbers_do_not_depend_on_how_the_input_arrives(text: str, size: int) -> None:
    """Byte by byte as well as at once."""
    data = text.encode("utf-8", "surrogateescape")
    at_once = [(block.data, block.number, block.mended) for block in read_blocks(data)]

    assert at_once == [
        (block.data, block.number, block.mended)
        for block in read_blocks(Chunks(data[start : start + size] for start in range(0, len(data), size)))
    ]


def steps(text: str) -> int:
    """Return how many lines of Python run while a text is mended by every form."""
    count = 0

    def trace(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return trace

    lines = list(enumerate(text.split("\n"), 1))
    before = sys.gettrace()  # coverage, where it is measured
    sys.settrace(trace)
    try:
        for form in (*OUTER, *INNER):
            form(lines)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "piece",
    [
        '"never closed,\n', '"a","', "INFO 11-02 10:00:00 ", 'File "', 'File "/a", line 1, in f ', "^^^^ ", "<div", "&amp;", "\\n", "\u201c",
        "(pid=", "> ", "1\n", '"message": "', "x" * 80 + "\n" + "y\n", "ValueError: ", "a.b.c.", "a, b, c\n", "[rank0]:\n", " ", "~^",
    ],
)  # fmt: skip
def test_hostile_text_takes_steps_in_proportion_to_its_size(piece: str) -> None:
    """Twice as much text, about twice as many steps."""
    small, large = (steps(piece * (size // len(piece))) for size in (8_000, 16_000))

    assert large <= 2.5 * small + 2_000


@pytest.mark.parametrize(
    "piece",
    [
        '"never closed,\n',
        "INFO 11-02 10:00:00 [",
        'File "/a',
        "a.b.c.",
        "<div ",
        "&amp;amp;",
        "(a pid=1",
        "x" * 80 + "\ny\n",
        "~^" * 9,
        " ",
    ],
)
def test_a_hostile_megabyte_is_read(piece: str) -> None:
    """No expression runs away; the test's own time limit is the judge."""
    assert read(piece * (BLOCK // len(piece)))
