"""Which release the advice is for."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import Triage, shared
from vllm_triage.classifier.facts.release import gone_from, release_for

RELEASES = ("0.6.3", "0.8.5", "0.9.2", "0.10.2", "0.11.0", "0.33.0")


@pytest.mark.parametrize(
    ("facts", "ranges", "expected"),
    [
        ({"vllm_version": "0.8.5"}, ["<0.7"], "0.8.5"),
        ({}, [], "0.33.0"),
        ({"engine": "V0"}, [], "0.10.2"),
        ({"engine": "V1"}, [], "0.33.0"),
        ({}, ["<0.11"], "0.10.2"),
        ({}, [">=0.6,<0.9"], "0.8.5"),
        ({}, ["<0.9", "<=0.6.3"], "0.6.3"),
        ({}, ["<0.9", ">=0.11"], "0.8.5"),
        ({"vllm_version": "0.1.dev3151+g31c7178"}, [], "0.33.0"),
    ],
)
def test_release(facts: dict[str, str], ranges: list[str], expected: str) -> None:
    """The log's own goes first; then the newest that all words allow, the deciding ones before the others."""
    assert expected == release_for(facts, ranges, RELEASES)[0]


def test_a_release_that_was_worked_out_is_said() -> None:
    assert release_for({"vllm_version": "0.8.5"}, [], RELEASES)[1] == ""
    assert "0.33.0, the newest known" in release_for({}, [], RELEASES)[1]
    assert "0.10.2, the newest in which" in release_for({"engine": "V0"}, [], RELEASES)[1]


class Bound:
    """What the places in a log tell of its release."""

    nearest: tuple[str, ...] = ()

    def __init__(self, marks: int, *releases: str) -> None:
        self.marks = marks
        self.releases = releases


@pytest.mark.parametrize(
    ("bound", "facts", "expected"),
    [
        (Bound(5, "0.4.2"), {}, "0.4.2"),
        (Bound(5, "0.8.5", "0.8.6"), {}, "0.8.5"),
        (Bound(1, "0.8.5", "0.9.2"), {}, "0.9.2"),
        (Bound(1, "0.8.5", "0.11.0"), {"engine": "V0"}, "0.8.5"),
        (Bound(1, "0.11.0"), {"engine": "V0"}, "0.10.2"),
        (Bound(1), {}, "0.33.0"),
    ],
)
def test_places_in_the_log_bound_the_release(bound: Bound, facts: dict[str, str], expected: str) -> None:
    """Many marks decide, releases older than the table of options too; few narrow what else is known."""
    assert expected == release_for(facts, [], RELEASES, lambda: bound)[0]  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("ranges", "release", "expected"),
    [
        ("<0.11", "0.9.2", "0.11"),
        ("<0.11", "0.12.0", ""),
        (">=0.8", "0.9.2", ""),
        (">=0.6,<0.9", "0.8.5", "0.9"),
        ("<=0.9", "0.8.5", ""),
    ],
)
def test_words_that_are_gone(ranges: str, release: str, expected: str) -> None:
    assert expected == gone_from(ranges, release)


def test_advice_for_a_log_without_a_version_says_for_which_release_it_is() -> None:
    """And names no option that this release lacks."""
    log = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
    answer = shared().report(log)

    assert any("The log does not tell vLLM's release" in note for note in answer.notes)
    assert not any("does not tell" in note for note in Triage(vllm_version="0.8.5").report(log).notes)
    assert "--swap-space" not in {fix.option for fix in answer.fixes}
