"""The releases that a log fits, in words; and how sure they are."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.facts import fingerprint
from vllm_triage.classifier.facts.fingerprint import ReleaseRange


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (ReleaseRange((), 0, 0, 0.0), "not told: no line says where in vLLM it was logged"),
        (ReleaseRange(("0.8.4",), 1, 1, 0.5), "0.8.4 (by 1 mark)"),
        (ReleaseRange(("0.8.4", "0.8.5"), 7, 7, 0.9), "0.8.4 or 0.8.5 (by 7 marks)"),
        (ReleaseRange(("0.8.3", "0.8.4", "0.8.5"), 7, 6, 0.9), "0.8.3 to 0.8.5 (by 6 of 7 marks)"),
        (ReleaseRange((), 7, 3, 0.0), "none fits (by 3 of 7 marks): a fork, or a build between releases"),
        (
            ReleaseRange((), 7, 4, 0.0, ("0.8.4",)),
            "none fits, nearest 0.8.4 (by 4 of 7 marks): a fork, or a build between releases",
        ),
    ],
)
def test_a_range_in_words(found: ReleaseRange, words: str) -> None:
    """Its ends, and by how many marks."""
    assert str(found) == words
    assert (found.first, found.last) == ((found.releases or ("",))[0], (found.releases or ("",))[-1])


@pytest.mark.parametrize(
    ("fitting", "marks", "releases", "confidence", "nearest"),
    [
        (1, 1, 1, 0.5, 0), (2, 2, 1, 0.75, 0), (7, 8, 1, 0.868, 0), (3, 4, 1, 0.656, 0), (2, 3, 0, 0.0, 1), (17, 20, 1, 0.85, 0), (16, 20, 0, 0.0, 1), (10, 20, 0, 0.0, 1), (9, 20, 0, 0.0, 0),
        (1, 2, 0, 0.0, 0),
    ],
)  # fmt: skip
def test_how_many_marks_must_fit(fitting: int, marks: int, releases: int, confidence: float, nearest: int) -> None:
    """Most of them, or all but one of four; half of them tell the nearest."""
    # Of two releases the older one has so many of the marks, the newer none.
    found = fingerprint._bounded([1] * fitting + [0] * (marks - fitting), ["0.8.4", "0.8.5"])
    assert (len(found.releases), found.confidence, len(found.nearest)) == (releases, confidence, nearest)
    assert (found.marks, found.fitting) == (marks, fitting)
