"""Lines that were joined into one are lines again, each with the number of the one."""

from __future__ import annotations

import pytest

from tests.classifier.input.as_read import RECORD, read, texts

TRACE = [
    "Traceback (most recent call last):",
    '  File "/a/vllm/engine/core.py", line 3, in run_core',
    "    engine = make(config)",
    "             ^^^^^^^^^^^^",
    '  File "/a/vllm/engine/core.py", line 9, in <module>',
    "    raise ValueError(",
    "ValueError: No available memory for the cache blocks.",
]
RECORDS = [
    "INFO 11-02 10:00:00 [core.py:1] vLLM is using nccl==2.27.3",
    "(Worker_TP0 pid=7) WARNING 11-02 10:00:01 [core.py:2] slow",
    "INFO:     Started server process [7]",
    "ERROR 11-02 10:00:02 core.py:3] two words",
]
LINK = "The above exception was the direct cause of the following exception:"


def bare(lines: list[str]) -> list[str]:
    """Return lines without the blanks around them."""
    return [line.strip() for line in lines]


@pytest.mark.parametrize("sign", [" ", "   ", ""], ids=["blank", "blanks", "nothing"])
@pytest.mark.parametrize(
    "lines",
    [
        TRACE,
        RECORDS,
        RECORDS + TRACE + [LINK] + TRACE,
        [f"{RECORD} {line}" for line in TRACE] + RECORDS,
        [f"[rank0]: {line}" for line in TRACE],
    ],
    ids=["traceback", "records", "both", "logged traceback", "ranks"],
)
def test_joined_lines_are_split_where_lines_begin(lines: list[str], sign: str) -> None:
    """Prefixes, frames, code, exceptions and links begin lines, whatever joined them."""
    assert bare(lines) == bare(texts(sign.join(lines)))


def test_squeezed_lines_are_split_too() -> None:
    """A page without a fence shows every run of blanks as one."""
    assert bare(RECORDS + TRACE) == [
        line.replace("INFO: Started", "INFO:     Started")
        for line in bare(texts(" ".join(" ".join(RECORDS + TRACE).split())))
    ]


def test_code_is_told_from_the_frame_by_what_a_function_can_be_called() -> None:
    """One blank between the function's name and the code is enough."""
    line = (
        "Traceback (most recent call last): File \"/a.py\", line 1, in load_model return self.get(name) KeyError: 'x'"
    )

    assert bare(texts(line)) == [
        "Traceback (most recent call last):", 'File "/a.py", line 1, in load_model', "return self.get(name)", "KeyError: 'x'",
    ]  # fmt: skip


def test_details_of_a_validation_error_stand_alone() -> None:
    """As pydantic prints them."""
    line = (
        'Traceback (most recent call last):   File "/a.py", line 1, in f     check(x) pydantic_core.ValidationError: '
        "1 validation error for ModelConfig   Value error, no such model   For further information visit https://x"
    )

    assert bare(texts(line))[-3:] == [
        "pydantic_core.ValidationError: 1 validation error for ModelConfig",
        "Value error, no such model",
        "For further information visit https://x",
    ]


def test_all_parts_of_a_line_bear_its_number() -> None:
    """And the lines below it their own."""
    log = "one\n" + " ".join(TRACE) + "\nlast\n"

    assert [number for number, _ in read(log)] == [1, *[2] * len(TRACE), 3]


@pytest.mark.parametrize(
    "line",
    [
        f"{RECORD} RuntimeError: worker failed with 'ValueError: x', see INFO above and ERROR below, then the File \"/a.py\"",
        f"{RECORD} Loading of {{'level': 'INFO ', 'other': 'WARNING '}} by (pid=7) took very long, more than was expected "
        + "x" * 200,
        "ValueError: the file 'File \"/a.py\"' was not found; ERROR while loading; INFO " + "y" * 200,
    ],
)
def test_a_line_that_speaks_of_others_stays_whole(line: str) -> None:
    """Words that look like beginnings, without what makes them one."""
    assert [line, "next"] == texts(f"{line}\nnext\n")


def test_a_record_between_the_code_and_the_exception_is_no_code() -> None:
    """Two processes whose lines were joined."""
    lines = [*TRACE[:3], RECORDS[0], RECORDS[1]]

    assert bare(lines) == bare(texts(" ".join(lines)))


def test_a_request_does_not_end_a_log_that_has_lost_its_newlines() -> None:
    """What users wrote is cut off up to where the next line begins."""
    request = "INFO 11-02 10:00:05 [logger.py:39] Received request cmpl-1: prompt: 'here is a long story and now tell me', params: SamplingParams(n=1), lora_request: None."
    found = texts(" ".join([*RECORDS, request, *TRACE]))

    assert bare(TRACE) == bare(found[-len(TRACE) :])
    assert not any("tell me" in line for line in found)


def test_the_time_of_a_ci_system_begins_a_line() -> None:
    stamp = "[2026-11-02T10:00:00Z]"
    lines = [f"{stamp} {line}" for line in [*RECORDS, *TRACE]]

    assert [line.replace(stamp, "").strip() for line in texts(" ".join(lines)) if line.replace(stamp, "").strip()] == [
        *bare(RECORDS),
        *bare(TRACE),
    ]


def test_what_pytorch_says_below_an_exception_is_no_part_of_its_message() -> None:
    error = "RuntimeError: CUDA error: an illegal memory access was encountered"
    below = "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect."

    assert [error, below] == bare(texts(" ".join([*TRACE[:-1], error, below])))[-2:]


def test_a_usage_error_in_one_line_is_split() -> None:
    """What argparse prints is short, and has no prefix."""
    lines = [
        "Triton is installed, but does not include the CPU backend.",
        "usage: vllm serve [model_tag] [options]",
        "vllm serve: error: argument --dtype: invalid choice: 'int7'",
    ]

    assert lines == bare(texts(" ".join(lines)))
