"""More lines of a log: by number, by text, masked, bounded."""

from __future__ import annotations

import json

import pytest

from tests.classifier.masking.planted import A
from tests.classifier.pack.logs import FAILURE, STACK, failing
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.report.pack.look import Look, look

LINES = failing(before=100, after=100, ranks=2)


def looked(log: list[str] = LINES, end: str = "\n", **asked: object) -> Look:
    """Return what is seen of a log of these lines."""
    return look(read_blocks((end.join(log) + end).encode()), **asked)  # type: ignore[arg-type] # what a test asks


@pytest.mark.parametrize(
    ("asked", "numbers"), [("5-9", [5, 6, 7, 8, 9]), ("7", [7]), ("214-", [214, 215]), ("900-999", [])]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_by_their_numbers(asked: str, numbers: list[int], end: str) -> None:
    found = looked(lines=asked, end=end)

    assert numbers == [line.line for line in found.lines]
    assert all(LINES[line.line - 1].endswith(line.text) for line in found.lines)


def test_lines_that_hold_a_text_whatever_its_case() -> None:
    assert [FAILURE, FAILURE] == [line.text for line in looked(find="free MEMORY on device").lines]
    assert () == looked(find="nothing holds this").lines


def test_lines_of_one_process() -> None:
    found = looked(lines="1-300", process="worker_tp1")

    assert list(STACK) == [line.text for line in found.lines]
    assert {"Worker_TP1"} == {line.process for line in found.lines}


def test_numbers_are_those_of_the_input_where_it_is_unwrapped() -> None:
    wrapped = [json.dumps({"log": line + "\n"}) for line in LINES]

    assert [line.line for line in looked(find="free memory").lines] == [
        line.line for line in looked(wrapped, find="free memory").lines
    ]


def test_what_does_not_fit_is_told() -> None:
    found = looked(lines="1-", budget=2_000)

    assert len(found.text()) <= 2_000
    assert found.next == found.lines[-1].line + 1
    assert len(LINES) == len(found.lines) + found.more


@pytest.mark.parametrize(
    "asked", [{}, {"lines": "x"}, {"lines": "9-3"}, {"lines": "0"}, {"lines": "-5"}, {"find": "a", "budget": 3}]
)
def test_what_makes_no_sense_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(InputError):
        looked(**asked)  # type: ignore[arg-type] # each a mistake


def test_secrets_are_masked_and_cannot_be_found_out_by_asking() -> None:
    lines = [f"HF_TOKEN=hf_{A}", "-----BEGIN PRIVATE KEY-----", f"{A}+/1", "-----END PRIVATE KEY-----", "end"]

    assert A not in looked(lines, lines="1-5").text()
    assert () == looked(lines, find=f"hf_{A[:4]}").lines
    assert () == looked(lines, find=A[:8]).lines


def test_an_endless_line_is_shown_around_what_was_looked_for() -> None:
    found = looked(["x " * 300_000 + "needle here " + "x " * 300_000], find="needle")

    assert "needle here" in found.lines[0].text
    assert len(found.text()) <= 14_000
