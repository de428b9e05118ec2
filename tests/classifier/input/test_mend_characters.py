"""Typography, written-out newlines and marks before lines are undone where they are damage, and only there."""

from __future__ import annotations

import pytest

from tests.classifier.input.as_read import RECORD, read, texts

TRACE = [
    "Traceback (most recent call last):",
    '  File "/a/b.py", line 3, in f',
    "    return g('x')",
    "ValueError: it's gone...",
]


@pytest.mark.parametrize(
    ("typed", "straight"),
    [
        ("File \u201c/a.py\u201d, line 3, in f", 'File "/a.py", line 3, in f'),
        ("the models\u2019s max seq len", "the models's max seq len"),
        (
            "vllm serve x \u2014max-model-len 4096 \u2013tensor-parallel-size 2",
            "vllm serve x --max-model-len 4096 --tensor-parallel-size 2",
        ),
        ("\u2018a\u2019 \u2013 \u201cb\u201d\u2026", "'a' - \"b\"..."),
        ("ERROR\u00a011-02 10:00:00 core.py:3] x", "ERROR 11-02 10:00:00 core.py:3] x"),
        ("ValueError: boom^M", "ValueError: boom"),
    ],
)
def test_what_a_word_processor_made_of_a_line_is_undone(typed: str, straight: str) -> None:
    """Quotes, dashes before options, dots, blanks, line ends."""
    assert texts(f"{typed}\nnext\n") == [straight, "next"]


@pytest.mark.parametrize(
    "log",
    [
        "INFO: \"a\" 'b' the user typed \u201chello\u201d and it\u2019s fine \u2013 really\n",
        "output: \u4e2d\u6587\u2014\u2014\u5f88\u597d\n",
    ],
)
def test_typography_beside_straight_characters_stays(log: str) -> None:
    """Who typed both meant both."""
    assert texts(log) == [log.rstrip("\n")]


@pytest.mark.parametrize(
    "text",
    [
        "\\n".join(TRACE),
        "\\r\\n".join(TRACE),
        "'" + "\\n".join(TRACE) + "\\n'",
        "detail: " + "\\\\n".join(TRACE),
        "b'" + "\\n".join(TRACE).replace('"', '\\"') + "'",
        "['" + "\\n', '".join(TRACE) + "\\n']",
    ],
    ids=["bare", "windows", "repr", "twice", "bytes", "list"],
)
def test_written_out_newlines_are_newlines(text: str) -> None:
    """As a program shows a string, or a service its answer."""
    assert [line.strip("'b[], ").removeprefix("detail: ") for line in texts(text) if len(line) > 3] == [
        line.strip() for line in TRACE
    ]


def test_their_lines_bear_the_number_of_the_one() -> None:
    """It is one line of the input."""
    assert [number for number, _ in read("one\n" + "\\n".join(TRACE) + "\ntwo\n")] == [1, 2, 2, 2, 2, 3]


def test_a_pattern_with_a_newline_stays() -> None:
    """No line of a log begins behind it."""
    log = "template: '{{ x }}\\n\\n{{ y }}' and C:\\new\\names"
    assert texts(f"{log}\nnext\n") == [log, "next"]


@pytest.mark.parametrize("sign", ["", " ", ": ", " | ", "\t", ". "])
@pytest.mark.parametrize("first", [1, 97])
def test_line_numbers_of_an_editor_go(sign: str, first: int) -> None:
    """Where they count up; what divides them from the line goes with them."""
    lines = [f"{RECORD} {line}" for line in TRACE] + TRACE
    log = "".join(f"{number:>4}{sign}{line}\n" for number, line in enumerate(lines, first))

    assert texts(f"{log}(x pid=1) 3 4 5\n")[:-1] == lines


def test_numbers_that_do_not_count_up_stay() -> None:
    """Lines may begin with figures of their own."""
    lines = ["17 requests", "5 requests", "18 requests", "4 requests", "9 requests"] + ["a b"] * 3 + ["\u00a0"]
    assert texts("\n".join(lines))[:5] == lines[:5]


def test_what_a_logged_prompt_says_is_no_line_of_the_log() -> None:
    """A traceback that somebody asks the model about stays within the line that logs the request."""
    line = (
        "INFO 11-02 10:00:00 [logger.py:43] Received request x: prompt: '?\\nTraceback (most recent call last):"
        "\\nModuleNotFoundError: No module named \\'x\\'', params: SamplingParams(n=1)"
    )
    request, *rest = texts(f"{line}\nnext\n")
    assert line.startswith(request)
    assert rest == ["next"]
