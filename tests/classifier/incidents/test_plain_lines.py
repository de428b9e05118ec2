"""Lines that add nothing are told one by one and together, with the same answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.incidents.plain_lines import run_of, say_nothing, says_nothing

LINES = [b"request 7 was refused", b"ValueError: x", b"a ValueError: x", b"rank0: Oops: x", b"pid 7 Oops: x", b"--- Logging error ---", b"", b"Fatal Python", b"see x.py", "é".encode()]  # fmt: skip


@given(lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=4), level=st.sampled_from(["", "INFO", "ERROR"]))
def test_together_as_one_by_one(lines: list[bytes], level: str) -> None:
    """All must be such lines."""
    assert all(says_nothing(line, level) for line in lines) == say_nothing(lines, level)


def test_a_process_may_be_named_where_a_line_begins_with_a_parenthesis() -> None:
    """Such a line is told apart by who reads it alone; among others it counts as one that says something."""
    assert says_nothing(b"(Worker pid=7) went", "INFO")
    assert not say_nothing([b"one", b"(Worker pid=7) went"], "INFO")


def test_a_run_ends_where_a_line_begins_otherwise_or_the_bytes_end() -> None:
    """What follows is not looked at."""
    data = b"x\np a\np b\nq c\np d\n"
    assert [b"a", b"b"] == run_of(data, 2, b"p ", 99)
    assert [b"a"] == run_of(data, 2, b"p ", 6)
    assert [] == run_of(data, 2, b"p ", 3) == run_of(data, 10, b"p ", 99)
    assert [b"d"] == run_of(data, 14, b"p ", 99)
