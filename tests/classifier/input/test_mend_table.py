"""Tables and laid-out records give the lines in their cells, oldest first, with the numbers of the file."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.classifier.input.as_read import RECORD, read, texts

LINES = [
    f'{RECORD} EngineCore failed, with "quotes", commas; and more',
    "Traceback (most recent call last):",
    '  File "/a/b.py", line 3, in f',
    "    return g(a, b)",
    "ValueError: No available memory",
    f"{RECORD} last",
]


def table(head: list[str], rows: list[list[str]], quoting: int = csv.QUOTE_MINIMAL, sign: str = ",") -> str:
    """Return rows as a viewer exports them."""
    out = io.StringIO()
    csv.writer(out, quoting=quoting, delimiter=sign, lineterminator="\n").writerows([head, *rows] if head else rows)  # type: ignore[arg-type]
    return out.getvalue()


def stamp(second: int) -> str:
    """Return a time."""
    return f"2026-03-04T09:14:{second:02}.123Z"


ROWS = [[stamp(at), "gpu-7", line, "error"] for at, line in enumerate(LINES)]


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_a_table_gives_the_cells_of_its_messages(quoting: int, sign: str) -> None:
    """Whatever stands between the cells, however they are quoted."""
    assert texts(table(["Time", "Host", "Message", "Severity"], ROWS, quoting, sign)) == LINES


def test_a_table_without_its_head_is_told_by_its_rows() -> None:
    """What was cut off, or never there."""
    assert texts(table([], ROWS, csv.QUOTE_ALL)) == LINES


def test_lines_within_a_cell_keep_their_numbers() -> None:
    """A traceback in one cell spans lines of the file."""
    rows = [["1", LINES[0]], ["2", "\n".join(LINES[1:5])], ["3", LINES[5]]]

    assert read(table(["ts", "message"], rows)) == list(enumerate(LINES, 2))


def test_the_newest_first_is_turned_round() -> None:
    """As most viewers export; numbers stay those of the file."""
    found = read(table(["timestamp", "host", "message", "level"], ROWS[::-1]))

    assert [line for _, line in found] == LINES
    assert [number for number, _ in found] == [7, 6, 5, 4, 3, 2]


def test_a_message_that_was_not_quoted_is_whole() -> None:
    """Its commas are taken for more cells."""
    log = f"timestamp,message,severity\n{stamp(1)},one, two, three,INFO\n{stamp(2)},four,INFO\n"

    assert texts(log) == ["one, two, three", "four"]


@pytest.mark.parametrize(
    "log",
    [
        "INFO 07-28 12:01:44 [loggers.py:118] Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 8 reqs, Waiting: 0 reqs\n"
        * 5,
        'cc1plus "a","b","message"\n"never closed\n' * 9,
        "time, line and message are words\nof a sentence, no more\n",
    ],
    ids=["statistics", "open quotes", "prose"],
)
def test_lines_with_commas_are_no_table(log: str) -> None:
    """As many commas in every line as it may be."""
    assert texts(log) == log.rstrip("\n").split("\n")


@pytest.mark.parametrize("indent", [1, 2, 4])
@pytest.mark.parametrize("newest", [False, True], ids=["oldest first", "newest first"])
def test_records_laid_out_over_lines_give_their_messages(indent: int, newest: bool) -> None:
    """`aws logs get-log-events` and `gcloud logging read` print them so."""
    events = [{"timestamp": 1700 + at, "message": line, "labels": {"a": ["b"]}} for at, line in enumerate(LINES)]

    assert texts(json.dumps({"events": events[::-1] if newest else events, "next": None}, indent=indent)) == LINES


def test_a_laid_out_message_bears_the_number_of_its_line() -> None:
    """Also where it holds several lines."""
    log = json.dumps([{"textPayload": "\n".join(LINES[:3]), "severity": "ERROR"}], indent=2)

    assert read(log) == [(3, line) for line in LINES[:3]]


def test_records_as_yaml_give_their_messages() -> None:
    """`gcloud logging read` without a format."""
    log = "".join(
        f"---\ninsertId: x{at}\nlabels:\n  app: vllm\ntextPayload: '{line}'\ntimestamp: '2026'\n"
        for at, line in enumerate(LINES)
    )

    assert texts(log) == LINES


def test_a_list_of_records_on_one_line_is_read_in_order() -> None:
    """Each message is a line of its own, all of the same number."""
    log = json.dumps([{"log": line + "\n", "stream": "stderr", "time": stamp(at)} for at, line in enumerate(LINES)])

    assert [line for line in read(log) if line[1]] == [(1, line) for line in LINES]


def test_other_json_stays() -> None:
    """A configuration is no log record."""
    log = json.dumps({"model_type": "llama", "hidden_size": 4096, "layers": [1, 2]}, indent=2) + "\n"

    assert texts(log) == log.rstrip("\n").split("\n")
