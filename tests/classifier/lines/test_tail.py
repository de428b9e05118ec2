"""The end of a log is the same in whatever pieces the log comes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.lines import tail as module
from vllm_triage.classifier.lines.tail import Tail

LOGS = st.lists(
    st.sampled_from(["one", "two words", "", "  ", "a\rb", "x\r", "ERROR 10-10 10:10:10 [a.py:1] no"]), max_size=40
)


@given(LOGS, st.lists(st.integers(0, 300), max_size=5), st.integers(1, 12))
def test_lines_are_the_last_ones_with_their_numbers(lines: list[str], cuts: list[int], count: int) -> None:
    """Against peeling every line from the front; empty lines count, but are not shown."""
    data = "\n".join(lines).encode()
    end = Tail()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, stop in pairwise(places):
        end.extend(data[start:stop], 1 + data[:stop].count(b"\n"))
    expected = [(number, part) for number, line in enumerate(lines, 1) for part in line.split("\r") if part.strip()][
        -count:
    ]
    found = [(line.number, line.raw) for line in end.lines(count)]
    assert expected == found


def test_more_than_is_kept_falls_off_at_the_front() -> None:
    end = Tail()
    for number in range(1, 3001):
        end.extend(b"%060d\n" % number, number + 1)
    assert module.SIZE == len(end.data)
    assert [2999, 3000] == [line.number for line in end.lines(2)]
    line, start, stop = end.line_at(len(end.data) - 5)
    assert (3000, b"%060d" % 3000) == (line.number, end.data[start:stop])
