"""Whether two checkouts answer the same: what ``benchmarks/same.py`` calls a difference."""

from __future__ import annotations

import sys

import pytest

from benchmarks import same

BEFORE = {"cause": "a/b", "fixes": [{"title": "one"}, {"title": "two"}], "facts": {"x": 1}}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (BEFORE, []),
        ({**BEFORE, "cause": "a/c"}, [("answer.cause", "a/b", "a/c")]),
        ({**BEFORE, "fixes": [{"title": "one"}]}, [("answer.fixes[1]", {"title": "two"}, same.MISSING)]),
        ({**BEFORE, "facts": {"y": 1}}, [("answer.facts.x", 1, same.MISSING), ("answer.facts.y", same.MISSING, 1)]),
    ],
)
def test_a_difference_is_told_by_its_place(after: object, expected: list[object]) -> None:
    assert list(same._differences(BEFORE, after)) == expected


def test_a_checkout_answers_as_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Both processes answer every input and every question."""
    assert same.main([sys.executable, "--every", "400", "--messages", "0", "--questions"]) == 0
    assert "2 inputs, 0 answered differently" in capsys.readouterr().out
